"""The images: Debian to build on, the project's own, Azurite, and the node of a cluster.

Rules: all are built on one base. It is Debian's published image where that can be had, and then
kind's published node is used too; otherwise both are made from Debian's packages, and the node has
the Kubernetes that was compiled. No image has the tag `latest`, which a cluster would try to pull.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import Engine
from machine import answer, require_packages
from programs import KUBERNETES, Programs
from sources import CODENAME, build_secrets, mirror, sources_of_machine
from steps import MB, Size, StopError, require_space, run, say, step
from store import HERE, ROOT, Store, contents, digest

PUBLISHED_BASE = f"debian:{CODENAME}-slim"
OWN_BASE = f"tidegate.local/debian:{CODENAME}-1"  # the number changes with what make_base does
TIDEGATE = "tidegate.local/tidegate:dev"
HUB = "tidegate.local/hub:dev"
AZURITE = "tidegate.local/azurite:dev"
SPARK = "tidegate.local/spark:dev"
POLICIES = "tidegate.local/policies:dev"
AZURITE_MODULES = ROOT / ".tools" / "azurite" / "node_modules"
MOST_MB = {TIDEGATE: 200, SPARK: 900}
# What a container of the Spark image has to be able to do anywhere: a JVM, a session, a job.
FIRST_JOB = """
import os, pandas, pyarrow.json, pyarrow.parquet
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.range(100).selectExpr("sum(id)").toArrow().to_pydict() == {"sum(id)": [4950]}
"""
# What an image on a node can do without: texts that nobody reads there, and fetched packages.
LEFT_OUT = ("usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man",
            "var/cache/apt", "var/cache/debconf", "var/lib/apt/lists", "var/log")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Base:
    """What the images are built on, and whether it was published by Debian."""

    name: str
    is_published: bool


def ensure_base(engine: Engine, store: Store) -> Base:
    """The base that is here, else the one that can be pulled, else one made of packages."""
    if engine.has_image(OWN_BASE):
        return Base(OWN_BASE, is_published=False)
    if engine.has_image(PUBLISHED_BASE):
        return Base(PUBLISHED_BASE, is_published=True)
    say(f"-> {PUBLISHED_BASE} from a registry")
    if engine.ask("pull", "--quiet", PUBLISHED_BASE).returncode == 0:
        return Base(PUBLISHED_BASE, is_published=True)
    say("   no image can be pulled here, so everything is built from packages")
    _make_base(engine, store)
    return Base(OWN_BASE, is_published=False)


def _make_base(engine: Engine, store: Store) -> None:
    found_at = mirror(sources_of_machine())
    require_packages(
        {"debootstrap": "debootstrap"}, Size(1, 1), "Making the base image", store.logs
    )
    folder = store.root / "drafts" / "debian"
    size = Size(fetch_mb=40, disk_mb=300)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    require_space(folder, size)
    with step("Debian's base, of packages (about 40 s)", size, []):
        root, archive = folder / "root", folder / "root.tar"
        command: list[str | Path] = ["debootstrap", "--variant=minbase", CODENAME, root, found_at]
        run(command, store.logs / "debootstrap.log", cwd=folder)
        (root / "etc/apt/sources.list").unlink()
        for left_out in LEFT_OUT:
            for path in (root / left_out).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        command = ["tar", "-C", root, "--numeric-owner", "--exclude=./dev/*", "-cf", archive, "."]
        run(command, store.logs / "tar.log", cwd=folder)
        engine.do("import.log", "import", "--change", 'CMD ["bash"]', archive, OWN_BASE)
    shutil.rmtree(folder)


def build_image(
    engine: Engine,
    base: Base,
    what: str,
    size: Size,
    name: str,
    folder: Path,
    arguments: Sequence[str],
) -> None:
    """Build an image from a folder; the sources of packages are known only while it is built."""
    network = ["--network", "host"] if engine.is_ours else []
    log = f"{name.rpartition('/')[2].partition(':')[0]}-image.log"
    with build_secrets(with_apt=not base.is_published) as secrets, step(what, size, []):
        engine.do(
            log, "build", *network, *secrets, "--build-arg", f"BASE={base.name}",
            "--tag", name, *arguments, folder,
        )  # fmt: skip


def build_project_images(engine: Engine, base: Base) -> None:
    """The project's image, the same as a hub, and Azurite. Says what they weigh."""
    if not AZURITE_MODULES.exists():
        raise StopError("Azurite is not installed: run `make cluster`, which installs it first.")
    build_image(
        engine,
        base,
        "the image of the consumer and the operator",
        Size(60, 500),
        TIDEGATE,
        ROOT,
        (),
    )
    build_image(engine, base, "the image of the hub", Size(0, 0), HUB, ROOT, ("--target", "hub"))
    build_image(
        engine, base, "the image of Azurite", Size(30, 220), AZURITE, AZURITE_MODULES,
        ("--file", str(HERE / "azurite" / "Dockerfile")),
    )  # fmt: skip
    for name in (TIDEGATE, HUB, AZURITE):
        _say_size(engine, name)
    took = _try(engine, TIDEGATE, "tidegate", "--help")
    say(f"   a container of it starts, says what it can do and is gone in {took:.1f} s")


def build_spark_image(engine: Engine, base: Base) -> None:
    """The image of drivers and executors. Says what it weighs."""
    build_image(
        engine, base, "the image of Spark", Size(650, 2500), SPARK, ROOT, ("--target", "spark")
    )
    _say_size(engine, SPARK)
    took = _try(engine, SPARK, "python", "-c", FIRST_JOB)
    say(f"   a container of it starts, runs a job of Spark and is gone in {took:.1f} s")


def build_policies_image(engine: Engine, base: Base, store: Store, program: Path) -> None:
    """What enforces NetworkPolicies on nodes of our own."""
    drafts = store.root / "drafts"
    drafts.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=drafts) as context:
        for file in (program / "kube-network-policies", HERE / "policies" / "enforce"):
            shutil.copy(file, context)
        build_image(
            engine, base, "the image of what enforces NetworkPolicies", Size(10, 200), POLICIES,
            Path(context), ("--file", str(HERE / "policies" / "Dockerfile")),
        )  # fmt: skip


def _say_size(engine: Engine, name: str) -> None:
    size, most = size_mb(engine, name), MOST_MB.get(name)
    say(f"   {name}: {size:.0f} MB")
    if most is not None and size > most:
        raise StopError(f"{name} is larger than {most} MB: see what was added to it.")


def _try(engine: Engine, name: str, *words: str) -> float:
    """The seconds that a container of it takes, on a root file system that it cannot write to."""
    begun = time.monotonic()
    engine.do("start.log", "run", "--rm", "--read-only", "--tmpfs", "/tmp:exec",
              "--network", "none", name, *words)  # fmt: skip
    return time.monotonic() - begun


def size_mb(engine: Engine, name: str) -> float:
    told = engine.ask("image", "inspect", "--format", "{{.Size}}", name).stdout
    return int(told) / MB


def ensure_node(engine: Engine, base: Base, store: Store, programs: Programs) -> str:
    """The name of a node image of our own, which kind can make clusters of."""
    made_from = contents(HERE / "node"), programs.kube.name, programs.kind.name, base.name
    name = f"tidegate.local/node:v{KUBERNETES}-{digest(*made_from)}"
    if engine.has_image(name):
        return name
    drafts = store.root / "drafts"
    drafts.mkdir(exist_ok=True)
    require_space(drafts, Size(200, 3000))
    with tempfile.TemporaryDirectory(dir=drafts) as context:
        folder = Path(context)
        for program in ("kube", "coredns", "local-path-provisioner"):
            shutil.copy(programs.kube / program, folder)
        shutil.copy(HERE / "node" / "runc", folder)
        shutil.copytree(programs.kind / "root", folder / "root")
        pause = _pack_cluster_images(engine, base, folder, programs)
        build_image(
            engine, base, "the node of a cluster", Size(90, 1500), name, folder,
            (*_of_node("node"), "--build-arg", f"KUBERNETES={KUBERNETES}",
             "--build-arg", f"PAUSE={pause}"),
        )  # fmt: skip
    return name


def _of_node(target: str) -> tuple[str, ...]:
    return ("--file", str(HERE / "node" / "Dockerfile"), "--target", target)


def _pack_cluster_images(engine: Engine, base: Base, folder: Path, programs: Programs) -> str:
    """Write what runs in a cluster to images.tar, by the names that it is looked for; pause's."""
    kube, pause = "tidegate.local/kube:build", "tidegate.local/pause:build"
    build_image(
        engine, base, "what runs in a cluster", Size(10, 350), kube, folder, _of_node("kube")
    )
    build_image(engine, base, "what holds a pod open", Size(0, 0), pause, folder, _of_node("pause"))
    listing = f"config images list --kubernetes-version v{KUBERNETES}".split()
    wanted = answer([programs.kube / "kubeadm", *listing], cwd=folder).split()
    wanted += (programs.kind / "storage-images").read_text(encoding="utf-8").split()
    (name_of_pause,) = [name for name in wanted if "/pause:" in name]
    for name in wanted:
        engine.do("tag.log", "tag", pause if name == name_of_pause else kube, name)
    with step("an archive of it", Size(0, 600), []):
        engine.do("save.log", "save", "--output", folder / "images.tar", *wanted)
    engine.do("untag.log", "image", "rm", *wanted, kube, pause)
    return name_of_pause
