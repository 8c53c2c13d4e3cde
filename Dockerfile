# Tidegate's images: the consumer, the operator and, for tests and first tries, the hub; and, as a
# target of its own, the consumer with Spark.
#
#   docker build --tag tidegate .                  on Debian's own image
#   docker build --build-arg BASE=my/debian:12 .   on any other with Debian 12 in it
#   docker build --target spark --tag spark .      drivers and executors of the engine `spark`
#
# They run as nobody in particular, on a root file system that nothing writes to, and have neither
# pip nor a compiler. Secrets say where packages come from where that is not the public place;
# they are there while a step runs, and in no layer: `apt-sources` is a sources.list, `apt-settings`
# an apt.conf, `pip` a pip.conf and `ca` the certificates that pip trusts.
ARG BASE=debian:bookworm-slim
# The version of the package, which the labels tell: written by scripts/release.py.
ARG VERSION=0.1.0

FROM ${BASE} AS python
RUN --mount=type=secret,id=apt-sources,target=/etc/apt/sources.list \
    --mount=type=secret,id=apt-settings,target=/etc/apt/apt.conf.d/90-machine \
    --mount=type=tmpfs,target=/var/lib/apt/lists --mount=type=tmpfs,target=/var/cache/apt \
    --mount=type=tmpfs,target=/var/log \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install --yes \
    --no-install-recommends ca-certificates libpython3-stdlib python3-minimal tini \
    && rm -rf /var/cache/debconf/*-old /var/lib/dpkg/*-old

FROM python AS builder
RUN --mount=type=secret,id=apt-sources,target=/etc/apt/sources.list \
    --mount=type=secret,id=apt-settings,target=/etc/apt/apt.conf.d/90-machine \
    apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install --yes \
    --no-install-recommends python3-venv
RUN python3 -m venv /builder && python3 -m venv --without-pip /opt/tidegate
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1
# What builds wheels has hashes too. With a build's isolation pip would fetch its own choice of it, so
# no build here is isolated.
COPY requirements/build.lock /requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    /builder/bin/pip install --no-deps --only-binary :all: --require-hashes \
    --requirement /requirements/build.lock

FROM builder AS build
COPY requirements/operator.lock /requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    /builder/bin/pip --python /opt/tidegate/bin/python install --no-deps --only-binary :all: \
    --require-hashes --requirement /requirements/operator.lock \
    && cd /opt/tidegate/lib/python3*/site-packages/kubernetes \
    && rm -r aio && find client/api client/models -type f ! -name '__init__*' -delete
# Of the Kubernetes client that leaves what the operator uses: 110 MB of it are generated code for
# each kind and call, read only when it is asked for.
COPY pyproject.toml README.md LICENSE NOTICE /source/
COPY consumer /source/consumer
COPY operator /source/operator
RUN /builder/bin/pip wheel --no-build-isolation --no-deps --no-index --wheel-dir /wheel /source \
    && /builder/bin/pip --python /opt/tidegate/bin/python install --no-deps --no-index /wheel/*.whl

FROM python AS tidegate
COPY --from=build /opt/tidegate /opt/tidegate
COPY cluster/image/start /usr/local/bin/start
ENV PATH=/opt/tidegate/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["tini", "--", "start"]
CMD ["help"]
ARG VERSION
ARG REVISION=
LABEL org.opencontainers.image.title="tidegate" org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION" org.opencontainers.image.revision="$REVISION"

# pyspark alone comes as an archive, of files that only have to be copied: its wheel is made here.
FROM builder AS spark-build
COPY requirements/spark.lock /requirements/
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=secret,id=ca \
    sed -n '/^pyspark==/,/[^\\]$/p' /requirements/spark.lock > /requirements/pyspark.lock \
    && sed '/^pyspark==/,/[^\\]$/d' /requirements/spark.lock > /requirements/wheels.lock \
    && /builder/bin/pip wheel --no-build-isolation --use-pep517 --no-deps --no-binary :all: \
    --require-hashes --config-settings --build-option=--compression=stored \
    --requirement /requirements/pyspark.lock --wheel-dir /pyspark \
    && /builder/bin/pip --python /opt/tidegate/bin/python install --no-deps --only-binary :all: \
    --require-hashes --requirement /requirements/wheels.lock \
    && /builder/bin/pip --python /opt/tidegate/bin/python install --no-deps --no-index \
    /pyspark/*.whl && rm -r /pyspark
# What runs stays: the list of jars says of each why it does not. Arrow's Flight, tests, headers and
# examples are used by nothing here; nor is a second copy of pyspark, in a zip.
COPY cluster/image/prune_jars.py cluster/image/jars-left-out /source/
RUN cd /opt/tidegate/lib/python3*/site-packages \
    && python3 /source/prune_jars.py pyspark/jars /source/jars-left-out \
    && rm -r pyspark/bin/*.cmd pyspark/examples pyspark/python \
    pyarrow/tests pyarrow/include pyarrow/src pyarrow/*flight* pandas/tests \
    && find . -type f -path '*/tests/*test_*' -delete \
    && mkdir pyspark/conf && ln -s "$PWD/pyspark" /opt/spark
COPY --from=build /wheel /wheel
RUN /builder/bin/pip --python /opt/tidegate/bin/python install --no-deps --no-index /wheel/*.whl

FROM python AS java
RUN --mount=type=secret,id=apt-sources,target=/etc/apt/sources.list \
    --mount=type=secret,id=apt-settings,target=/etc/apt/apt.conf.d/90-machine \
    --mount=type=tmpfs,target=/var/lib/apt/lists --mount=type=tmpfs,target=/var/cache/apt \
    --mount=type=tmpfs,target=/var/log --mount=type=tmpfs,target=/usr/share/doc \
    --mount=type=tmpfs,target=/usr/share/man \
    mkdir /usr/share/man/man1 && apt-get -q update && DEBIAN_FRONTEND=noninteractive \
    apt-get -q install --yes --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/cache/debconf/*-old /var/lib/dpkg/*-old \
    # What a compiler reads, and an archive of classes for heaps above 32 GB: these start a little
    # later without it.
    && cd /usr/lib/jvm && ln -s java-17-openjdk-* java-17 \
    && rm java-17/lib/ct.sym java-17/lib/server/classes_nocoops.jsa

FROM java AS spark
# Without a name and a home for the user, Hadoop and Ivy do not start.
RUN echo 'tidegate:x:65532:65532:tidegate:/tmp:/usr/sbin/nologin' >> /etc/passwd \
    && echo 'tidegate:x:65532:' >> /etc/group
COPY cluster/image/decom.sh /opt/decom.sh
COPY --from=spark-build /opt /opt
ENV JAVA_HOME=/usr/lib/jvm/java-17 SPARK_HOME=/opt/spark PYSPARK_PYTHON=/opt/tidegate/bin/python \
    PATH=/opt/tidegate/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
ENTRYPOINT ["tini", "--", "/opt/tidegate/bin/python", "-I", "-m", "tidegate.spark.entry"]
CMD ["help"]
ARG VERSION
ARG REVISION=
LABEL org.opencontainers.image.title="tidegate-spark" org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="$VERSION" org.opencontainers.image.revision="$REVISION"

FROM tidegate AS hub
EXPOSE 5672 5300
CMD ["hub", "--host", "0.0.0.0", "--admin-host", "0.0.0.0", "--admin-port", "5300"]

FROM tidegate
