"""Clusters for development and tests: `python3 cluster/manage.py up|down|test|programs`.

`up` makes a cluster with the project's images on it and says how to use it; `down` removes it, and
with the last one the Docker engine that was started for it; `test` runs the cluster suite on the
cluster that KUBECONFIG names, or on one of kind: if that was not there before, it is removed after.
`--spark` puts the image of Spark on the cluster too, which takes minutes to build the first time.
`--previous` puts the version before this one on it, from its commit, for the test of upgrades.
`--policies` puts what enforces NetworkPolicies on it, where its nodes are our own and do not.
`programs` compiles what bare control planes are made of, where `up` had no need to. What else is
said to `test` is for pytest: `manage.py test tests/cluster -k consumer`.
Everything is kept for the next time in TIDEGATE_CACHE (~/.cache/tidegate).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

import engine as engines
from images import (
    AZURITE,
    HUB,
    POLICIES,
    SPARK,
    TIDEGATE,
    Base,
    build_policies_image,
    build_project_images,
    build_spark_image,
    ensure_base,
    ensure_node,
)
from kind_cluster import Cluster, Tools, cluster_names
from previous import IMAGE as PREVIOUS
from previous import SPARK_IMAGE as PREVIOUS_SPARK
from previous import Previous, build_previous_images, ensure_previous
from programs import build_policies, build_programs, fetch_helm, kube_folder
from steps import StopError, exit_code_of, one_at_a_time, say
from store import ROOT, Store, the_store

DEFAULT_NAME = "tidegate"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a cluster is to have beside the project's own images."""

    spark: bool = False
    policies: bool = False
    previous: Previous | None = None

    def images(self) -> tuple[str, ...]:
        """All that are put on its nodes."""
        return (
            TIDEGATE, HUB, AZURITE,
            *([SPARK] if self.spark else []),
            *([POLICIES] if self.policies else []),
            *([PREVIOUS, PREVIOUS_SPARK] if self.previous is not None else []),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ready:
    """A cluster that stands, with what it takes to work with it."""

    cluster: Cluster
    tools: Tools
    wanted: Wanted
    was_there: bool


def _build_images(engine: engines.Engine, store: Store, base: Base, wanted: Wanted) -> None:
    build_project_images(engine, base)
    if wanted.spark:
        build_spark_image(engine, base)
    if wanted.policies:
        build_policies_image(engine, base, store, build_policies(store))
    if wanted.previous is not None:
        build_previous_images(engine, base, wanted.previous)


def tools_for(engine: engines.Engine, store: Store, base: Base) -> Tools:
    """The programs and the node's image are built where none can be had."""
    if base.is_published:
        kind, kubectl = shutil.which("kind"), shutil.which("kubectl")
        if kind is None or kubectl is None:
            raise StopError("kind and kubectl are not both on the PATH: install them first.")
        if shutil.which("helm") is None:
            fetch_helm(store)
        return Tools(Path(kind), Path(kubectl), node_image=None)
    programs = build_programs(store)
    node = ensure_node(engine, base, store, programs)
    return Tools(programs.kind / "kind", programs.kube / "kubectl", node)


def up(store: Store, name: str, nodes: int, wanted: Wanted) -> Ready:
    with one_at_a_time(store.root / "lock"):
        engine = engines.ensure_engine(store)
        base = ensure_base(engine, store)
        if base.is_published:  # as are the nodes then, which enforce policies themselves
            wanted = replace(wanted, policies=False)
        _build_images(engine, store, base, wanted)
        tools = tools_for(engine, store, base)
        cluster = Cluster(name, engine, store)
        was_there = cluster.is_whole()
        cluster.create(tools, nodes)
        cluster.load(tools, wanted.images())
        if not base.is_published:
            cluster.enforce_policies(tools, wanted.policies)
        _link_programs(store, tools)
    return Ready(cluster, tools, wanted, was_there)


def _link_programs(store: Store, tools: Tools) -> None:
    """Programs that were built, in one folder for the PATH."""
    folder = store.root / "bin"
    folder.mkdir(exist_ok=True)
    helms = sorted((store.root / "kept").glob("helm-*/helm"))
    for program in (tools.kind, tools.kubectl, *helms[-1:]):
        link = folder / program.name
        link.unlink(missing_ok=True)
        link.symlink_to(program)


def how_to_use(ready: Ready) -> str:
    cluster = ready.cluster
    lines = [
        f"The cluster {cluster.name} is ready; images on it: {', '.join(ready.wanted.images())}",
        f"  export KUBECONFIG={cluster.kubeconfig}",
        f"  export PATH={cluster.store.root / 'bin'}:$PATH",
    ]
    if cluster.engine.is_ours:
        lines.append(f"  export DOCKER_HOST={cluster.engine.environment['DOCKER_HOST']}")
    lines += ["  kubectl get pods --all-namespaces", "`make cluster-down` removes it."]
    return "\n".join(lines)


def down(store: Store, names: list[str]) -> None:
    with one_at_a_time(store.root / "lock"):
        engine = engines.find_engine(store)
        if engine is not None:
            for name in names:
                Cluster(name, engine, store).remove()
            if cluster_names(store):
                say(f"still there: {', '.join(cluster_names(store))}")
                return
        left = engines.stop_engine(store)
    if left:
        raise StopError("This is still there and should not be:\n  " + "\n  ".join(left))
    say("No cluster and nothing of one is left but what is kept for the next: " + str(store.root))


def test(store: Store, name: str, nodes: int, wanted: Wanted, arguments: list[str]) -> int:
    named = os.environ.get("KUBECONFIG")
    if named:
        kubectl = shutil.which("kubectl", path=f"{store.root / 'bin'}:{os.environ['PATH']}")
        if kubectl is None:
            raise StopError("kubectl is not on the PATH: install it, or run `make cluster` once.")
        say(f"-> the cluster of {named}")
        return _run_suite(store, {"TIDEGATE_KUBECTL": kubectl, **_of(wanted.previous)}, arguments)
    ready = up(store, name, nodes, wanted)
    environment = {
        **_of(wanted.previous),
        **ready.cluster.engine.environment,
        "KUBECONFIG": str(ready.cluster.kubeconfig),
        "TIDEGATE_CLUSTERS": str(ready.cluster.kubeconfig.parent),
        "TIDEGATE_KUBECTL": str(ready.tools.kubectl),
    }
    try:
        return _run_suite(store, environment, arguments)
    finally:
        if not ready.was_there:
            down(store, [name])


def _of(previous: Previous | None) -> dict[str, str]:
    """How tests find the version before; a cluster of the user's has its images by other names."""
    if previous is None:
        return {}
    return {
        "TIDEGATE_PREVIOUS": str(previous.tree),
        **{
            variable: os.environ.get(variable, image)
            for variable, image in (
                ("TIDEGATE_PREVIOUS_IMAGE", PREVIOUS),
                ("TIDEGATE_PREVIOUS_SPARK_IMAGE", PREVIOUS_SPARK),
            )
        },
    }


def _run_suite(store: Store, environment: dict[str, str], arguments: list[str]) -> int:
    if kube_folder(store).exists():
        environment["TIDEGATE_KUBE"] = str(kube_folder(store))
    helm = shutil.which("helm", path=f"{store.root / 'bin'}:{os.environ['PATH']}")
    if helm is not None:
        environment["TIDEGATE_HELM"] = helm
    command: list[str | Path] = [
        ROOT / ".venv" / "bin" / "python",
        "-m",
        "pytest",
        *arguments,
    ]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, check=False
    ).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="cluster/manage.py", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("command", choices=("up", "down", "test", "programs"))
    parser.add_argument("--name", default=DEFAULT_NAME, help="which cluster (%(default)s)")
    parser.add_argument("--nodes", type=int, default=2, help="how many nodes (%(default)s)")
    parser.add_argument("--spark", action="store_true", help="with the image of Spark")
    parser.add_argument("--previous", action="store_true", help="with the version before this one")
    parser.add_argument("--policies", action="store_true", help="with NetworkPolicies enforced")
    known, for_pytest = parser.parse_known_args()
    status = 0

    def work() -> None:
        nonlocal status
        store = the_store()
        wanted = Wanted(known.spark, known.policies)
        if known.command == "up":
            say(how_to_use(up(store, known.name, known.nodes, wanted)))
        elif known.command == "down":
            down(store, [known.name])
        elif known.command == "programs":
            build_programs(store)
        else:
            if known.previous:
                wanted = replace(wanted, previous=ensure_previous(store))
            status = test(store, known.name, known.nodes, wanted, for_pytest)

    return exit_code_of(work) or status


if __name__ == "__main__":
    sys.exit(main())
