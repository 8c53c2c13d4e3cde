"""Clusters of kind: made whole or not at all, listed, and removed with all that is theirs.

Rules: a cluster's kubeconfig gets its name last, so one that has it is complete; what was broken
off is removed and made anew. kind's own network daemon is in its published nodes alone: nodes of
our own get what it would write, a network for each node's pods and a route to every other's.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engine import Engine
from images import AZURITE, HUB, TIDEGATE
from machine import answer, wait
from steps import Size, StopError, run, step, write_stamp
from store import HERE, Store

LABEL = "io.x-k8s.kind.cluster"
NETWORK = "kind"
TIMEOUT = "--timeout=180s"
# Pods that fail while their API server starts are begun again ever later.
ANSWER_SECONDS = 300.0
POLICIES_FILE = HERE / "policies" / "daemonset.yaml"
POLICIES_DAEMON = ("daemonset/network-policies", "--namespace", "kube-system")
CNI_FILE = "/etc/cni/net.d/10-tidegate.conflist"


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs to work with, and the node image: kind's own choice where that is None."""

    kind: Path
    kubectl: Path
    node_image: str | None


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster by its name."""

    name: str
    engine: Engine
    store: Store

    @property
    def kubeconfig(self) -> Path:
        return self.store.root / "clusters" / f"{self.name}.kubeconfig"

    def nodes(self) -> list[str]:
        """The containers that are its nodes, whether they run or not."""
        return self.engine.listed(
            "ps", "--all", "--filter", f"label={LABEL}={self.name}", "--format", "{{.Names}}"
        )

    def is_whole(self) -> bool:
        running = self.engine.listed(
            "ps", "--filter", f"label={LABEL}={self.name}", "--format", "{{.Names}}"
        )
        return self.kubeconfig.exists() and bool(running) and set(running) == set(self.nodes())

    def create(self, tools: Tools, nodes: int) -> None:
        """Make it, unless it is there; then it answers, and pods on it find each other by name."""
        if self.is_whole():
            self._connect_again(tools)
            return
        self.remove()
        self.kubeconfig.parent.mkdir(exist_ok=True)
        draft = self.kubeconfig.with_suffix(".draft")
        config = draft.with_suffix(".config")
        config.write_text(kind_config(nodes, own_network=tools.node_image is not None))
        command: list[str | Path] = [
            tools.kind, "create", "cluster", "--name", self.name, "--config", config,
            "--kubeconfig", draft,
        ]  # fmt: skip
        if tools.node_image is not None:
            command += ["--image", tools.node_image]
        with step(f"the cluster {self.name} of {nodes} nodes", Size(0, 0), []):
            run(command, self._log("create"), cwd=HERE, env=self.engine.environment)
            self._wait_until_it_answers(tools, draft)
            if tools.node_image is not None:
                self._connect_nodes(tools, draft)
            self._wait_until_ready(tools, draft)
        config.unlink()
        draft.rename(self.kubeconfig)

    def load(self, tools: Tools, images: Sequence[str] = (TIDEGATE, HUB, AZURITE)) -> None:
        """Put the images on its nodes; those that are there already are left alone."""
        stamp = self.kubeconfig.with_suffix(".loaded")
        there = json.loads(stamp.read_text(encoding="utf-8")) if stamp.exists() else {}
        ids = self.engine.listed("image", "inspect", "--format", "{{.Id}}", *images)
        wanted = dict(zip(images, ids, strict=True))
        missing = [name for name in images if there.get(name) != wanted[name]]
        if not missing:
            return
        command: list[str | Path] = [tools.kind, "load", "docker-image", "--name", self.name]
        with step(f"{', '.join(missing)} on {self.name}", Size(0, 0), []):
            run([*command, *missing], self._log("load"), cwd=HERE, env=self.engine.environment)
        write_stamp(stamp, json.dumps(there | wanted))

    def enforce_policies(self, tools: Tools, wanted: bool) -> None:
        """NetworkPolicies hold from now on, or no more: nodes of our own know nothing of them."""
        if not wanted:
            self._kubectl(tools, self.kubeconfig, "delete", "--ignore-not-found", "--filename",
                          str(POLICIES_FILE))  # fmt: skip
            return
        with step(f"what enforces NetworkPolicies on {self.name}", Size(0, 0), []):
            for arguments in (
                ("apply", "--filename", str(POLICIES_FILE)),
                ("rollout", "restart", *POLICIES_DAEMON),  # it may be another program than before
                ("rollout", "status", *POLICIES_DAEMON, TIMEOUT),
            ):
                self._kubectl(tools, self.kubeconfig, *arguments)

    def remove(self) -> None:
        """Take away its nodes with their disks; with the last cluster, their network too."""
        nodes = self.nodes()
        if nodes:
            with step(f"removing the cluster {self.name}", Size(0, 0), []):
                self.engine.do("remove.log", "rm", "--force", "--volumes", *nodes)
        for file in self.kubeconfig.parent.glob(f"{self.name}.*"):
            file.unlink()
        if not self.engine.listed("ps", "--all", "--quiet", "--filter", f"label={LABEL}"):
            if NETWORK in self.engine.listed("network", "ls", "--format", "{{.Name}}"):
                self.engine.do("network.log", "network", "rm", NETWORK)

    def _log(self, what: str) -> Path:
        return self.store.logs / f"{self.name}-{what}.log"

    def _kubectl(self, tools: Tools, kubeconfig: Path, *arguments: str) -> None:
        command: list[str | Path] = [tools.kubectl, "--kubeconfig", kubeconfig, *arguments]
        run(command, self._log("kubectl"), cwd=HERE)

    def _connect_again(self, tools: Tools) -> None:
        """A node that was started again has lost its routes, and says nothing of it."""
        self._wait_until_it_answers(tools, self.kubeconfig)
        if tools.node_image is not None:
            self._connect_nodes(tools, self.kubeconfig)
        self._wait_until_ready(tools, self.kubeconfig)

    def _wait_until_it_answers(self, tools: Tools, kubeconfig: Path) -> None:
        # An API server that has just begun refuses what it has not read the rights of yet: it
        # says itself when it is ready.
        command = [tools.kubectl, "--kubeconfig", kubeconfig, "get", "--raw", "/readyz"]
        asked = partial(subprocess.run, command, capture_output=True, text=True, check=False)
        wait(lambda: asked().returncode == 0, ANSWER_SECONDS)
        told = asked()
        if told.returncode:
            raise StopError(
                f"The cluster {self.name} does not answer after {ANSWER_SECONDS:.0f} s: "
                f"{told.stderr.strip()}\nRemove it with `make cluster-down`, then run the same "
                "command again: a new one is made."
            )

    def _connect_nodes(self, tools: Tools, kubeconfig: Path) -> None:
        given = "--for=jsonpath={.spec.podCIDR}"  # by a controller, a moment after a node is there
        self._kubectl(tools, kubeconfig, "wait", given, "node", "--all", TIMEOUT)
        asked: list[str | Path] = [
            tools.kubectl, "--kubeconfig", kubeconfig, "get", "nodes", "--output", "json",
        ]  # fmt: skip
        told = answer(asked, cwd=HERE)
        networks = pod_networks(json.loads(told))
        for node in networks:
            for command in node_commands(node, networks):
                self.engine.do(f"{self.name}-network.log", "exec", node, "sh", "-ec", command)

    def _wait_until_ready(self, tools: Tools, kubeconfig: Path) -> None:
        self._kubectl(tools, kubeconfig, "wait", "--for=condition=Ready", "node", "--all", TIMEOUT)
        for namespace, deployment in (
            ("kube-system", "coredns"),
            ("local-path-storage", "local-path-provisioner"),
        ):
            self._kubectl(
                tools, kubeconfig, "--namespace", namespace, "rollout", "status",
                f"deployment/{deployment}", TIMEOUT,
            )  # fmt: skip
        # What was ready before a node was started again is told as ready until its kubelet looks.
        nodes_began = max(
            self.engine.listed("inspect", "--format", "{{.State.StartedAt}}", *self.nodes())
        )
        wait(lambda: not self._late(tools, kubeconfig, nodes_began), ANSWER_SECONDS)
        late = self._late(tools, kubeconfig, nodes_began)
        if late:
            raise StopError(
                f"These pods of the cluster {self.name} are not ready after {ANSWER_SECONDS:.0f} "
                f"s: {', '.join(late)}\nRemove it with `make cluster-down`, then run the same "
                "command again: a new one is made."
            )

    def _late(self, tools: Tools, kubeconfig: Path, nodes_began: str) -> list[str]:
        command: list[str | Path] = [
            tools.kubectl, "--kubeconfig", kubeconfig, "--namespace", "kube-system",
            "get", "pods", "--output", "json",
        ]  # fmt: skip
        return late_pods(json.loads(answer(command, cwd=HERE)), nodes_began)


def late_pods(pods: dict[str, Any], nodes_began: str) -> list[str]:
    """The pods that are not ready, or are said to be by what ran before their node began."""
    late = []
    for pod in pods["items"]:
        told = pod["status"].get("containerStatuses", ())
        begun = [each.get("state", {}).get("running", {}).get("startedAt", "") for each in told]
        # Both are written alike down to the second; what comes after it is not.
        is_new = bool(begun) and min(begun)[:19] >= nodes_began[:19]
        if not (is_new and all(each["ready"] for each in told)):
            late.append(str(pod["metadata"]["name"]))
    return late


def cluster_names(store: Store) -> list[str]:
    """The clusters that were made from this store, complete or not."""
    return sorted({path.name.partition(".")[0] for path in (store.root / "clusters").glob("*.*")})


def kind_config(nodes: int, own_network: bool) -> str:
    """What kind is to make: a node with the control plane, the others without."""
    roles = ["control-plane"] + ["worker"] * (nodes - 1)
    config = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": {"disableDefaultCNI": own_network},
        "nodes": [{"role": role} for role in roles],
    }
    return json.dumps(config)


def pod_networks(nodes: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """For each node, its address and the network of its pods, of what kubectl says of the nodes."""
    found = {}
    for node in nodes["items"]:
        addresses = node["status"]["addresses"]
        address = next(one["address"] for one in addresses if one["type"] == "InternalIP")
        found[str(node["metadata"]["name"])] = (str(address), str(node["spec"]["podCIDR"]))
    return found


def node_commands(node: str, networks: dict[str, tuple[str, str]]) -> list[str]:
    """What one node is told: how its pods get addresses, and the way to the pods of the others."""
    _, own = networks[node]
    addresses = {"type": "host-local", "dataDir": "/run/cni-addresses",
                 "ranges": [[{"subnet": own}]], "routes": [{"dst": "0.0.0.0/0"}]}  # fmt: skip
    # `ptp` gives each pod a link of its own, so that what pods of one node send each other passes
    # the node's rules for Services too.
    plugins = [
        {"type": "ptp", "ipMasq": False, "ipam": addresses},
        {"type": "portmap", "capabilities": {"portMappings": True}},
    ]
    config = json.dumps({"cniVersion": "0.3.1", "name": "tidegate", "plugins": plugins})
    routes = [
        f"ip route replace {network} via {address}"
        for other, (address, network) in networks.items()
        if other != node
    ]
    return [*routes, f"mkdir -p /etc/cni/net.d && echo '{config}' > {CNI_FILE}"]
