"""Settings of Spark that are not the user's, because something of ours depends on them. Pure.

Rules: each has its reason and, where the same can be said in another way, that way. A group file
that sets one of them is refused with these words, and the operator refuses it with the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_MASTER = "the engine decides where executors run"
_COUNT = (
    "how many executors there are is decided from the lag: write spec.scaling or spec.replicas, "
    "or, without a cluster, --executors"
)
_REACH = "executors find their driver by what the engine sets"
_IMAGE = "write spec.image"
_TEMPLATE = "write spec.spark.driver.template or spec.spark.executor.template"
_PACKAGES = "write spec.spark.deps.packages"
_FILES = "write spec.spark.deps.files"
_TWICE = "events of a partition are read by one task, and a second one would take it from the first"
_GIVEN = "partitions are handed over before an executor ends, which needs Spark to let it finish"
_PROGRESS = "how far a group is stands in its ledger, and in no checkpoint of Spark"
_PYTHON = "workers run with the Python of their driver"
_SERVED = "the pages and figures of the driver are where its Service looks for them"
_OPTIONS = "write spark.driver.extraJavaOptions or spark.executor.extraJavaOptions"
_FIRST = "a group begins with the first executor that is there"
_KNOWN = "Spark's processes know one another by a secret of this driver alone"
_ACCOUNT = "the operator makes the accounts and their roles: write spec.serviceAccountName"

# By the whole name.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "spark.app.name": "it is the name of the group",
        "spark.blockManager.port": _REACH,
        "spark.cores.max": _COUNT,
        "spark.deploy.maxExecutorRetries": "lost executors are replaced for as long as they are "
        "wanted",
        "spark.driver.bindAddress": _REACH,
        "spark.driver.blockManager.port": _REACH,
        "spark.driver.cores": "write spec.spark.driver.cores",
        "spark.driver.defaultJavaOptions": _OPTIONS,
        "spark.driver.host": _REACH,
        "spark.driver.memory": "write spec.spark.driver.memory",
        "spark.driver.memoryOverhead": "write spec.spark.driver.memoryOverhead",
        "spark.driver.port": _REACH,
        "spark.executor.cores": "write spec.spark.executor.cores",
        "spark.executor.defaultJavaOptions": _OPTIONS,
        "spark.executor.instances": _COUNT,
        "spark.executor.memory": "write spec.spark.executor.memory",
        "spark.executor.memoryOverhead": "write spec.spark.executor.memoryOverhead",
        "spark.executorEnv.PYSPARK_PYTHON": _PYTHON,
        "spark.files": _FILES,
        "spark.jars.packages": _PACKAGES,
        "spark.kubernetes.authenticate": _ACCOUNT,
        "spark.network.crypto.enabled": _KNOWN,
        "spark.kubernetes.container.image": _IMAGE,
        "spark.kubernetes.container.image.pullPolicy": _TEMPLATE,
        "spark.kubernetes.executor.container.image": _IMAGE,
        "spark.kubernetes.executor.deleteOnTermination": "executors end with their driver",
        "spark.kubernetes.executor.disableConfigMap": "the driver may make none: mount your own by "
        "spec.spark.executor.template",
        "spark.kubernetes.executor.podNamePrefix": "executors are found by their names",
        "spark.kubernetes.executor.podTemplateContainerName": _TEMPLATE,
        "spark.kubernetes.executor.podTemplateFile": _TEMPLATE,
        "spark.kubernetes.namespace": "executors run in the namespace of the group",
        "spark.local.dir": "temporary files end with their driver: in a cluster, mount a volume by "
        "a template",
        "spark.master": _MASTER,
        "spark.pyspark.driver.python": _PYTHON,
        "spark.pyspark.python": _PYTHON,
        "spark.python.use.daemon": _PYTHON,
        "spark.python.worker.reuse": "a worker keeps its connections to the hub from one batch to "
        "the next",
        "spark.scheduler.minRegisteredResourcesRatio": _FIRST,
        "spark.speculation": _TWICE,
        "spark.sql.execution.arrow.pyspark.enabled": "slices are fetched by Arrow",
        "spark.sql.streaming.checkpointLocation": _PROGRESS,
        "spark.sql.streaming.noDataMicroBatches.enabled": "a batch without events has no position",
        "spark.submit.deployMode": _MASTER,
        "spark.submit.pyFiles": _FILES,
        "spark.ui.enabled": _SERVED,
        "spark.ui.port": _SERVED,
        "spark.ui.prometheus.enabled": _SERVED,
    }
)

# By how the name begins.
_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "spark.authenticate": _KNOWN,
        "spark.decommission.": _GIVEN,
        "spark.dynamicAllocation.": _COUNT,
        "spark.kubernetes.allocation.": _COUNT,
        "spark.kubernetes.authenticate.": _ACCOUNT,
        "spark.kubernetes.driver.": "the operator makes the driver: write spec.spark.driver",
        "spark.kubernetes.executor.annotation.": _TEMPLATE,
        "spark.kubernetes.executor.scheduler.": _TEMPLATE,
        "spark.kubernetes.executor.volumes.hostPath.": _TEMPLATE,
        "spark.kubernetes.executor.volumes.nfs.": _TEMPLATE,
        "spark.speculation.": _TWICE,
        "spark.storage.decommission.": _GIVEN,
        "spark.worker.": "without a cluster the engine starts the workers",
    }
)


def why_owned(key: str) -> str | None:
    """Why a setting is not the user's; None where it is."""
    if key in _NAMES:
        return _NAMES[key]
    return next((why for prefix, why in _PREFIXES.items() if key.startswith(prefix)), None)


def refusal(key: str) -> str | None:
    """What is wrong with a key of `sparkConf`, for people; None where it can be set."""
    if not key.startswith("spark."):
        return f"'{key}' is no setting of Spark: they begin with 'spark.'"
    why = why_owned(key)
    return None if why is None else f"'{key}' is not yours to set: {why}"


def by_reason() -> dict[str, list[str]]:
    """All of them, those with the same reason together; one that ends with a star is a prefix."""
    found: dict[str, list[str]] = {}
    for key, why in (*_NAMES.items(), *((f"{each}*", why) for each, why in _PREFIXES.items())):
        found.setdefault(why, []).append(key)
    return {why: sorted(keys) for why, keys in sorted(found.items())}


def as_markdown() -> str:
    """The list that `docs/settings.md` shows."""
    lines = [
        f"- {', '.join(f'`{key}`' for key in keys)}: {why}." for why, keys in by_reason().items()
    ]
    return "\n".join(sorted(lines))
