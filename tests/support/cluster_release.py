"""The chart, installed on the cluster with hub and storage: what all tests of the operator share.

Rules: one release for a whole run, in a namespace of its own where only restricted pods may run,
which is all that its operator watches. Groups have names of their own, and are deleted by whoever
made them. What the operator said is shown where a test fails.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.cluster_api import ClusterApi
from support.cluster_kubectl import Kubectl
from support.cluster_manifests import AZURITE, HUB, SPARK, TIDEGATE
from support.cluster_ways import steady_way
from support.helm_chart import CHART, Helm

NAME = "tidegate"
SECRET = "tidegate-embedded"
OPERATOR = f"{NAME}-operator"
PLURAL = "consumergroups"
KIND = "consumergroups.tidegate.dev"
# Each for one group: two with one consumer group would take their readers from one another.
HUBS = ["telemetry:16", "counted:12", "rolled:16",
    "sized:8", "computed:16", "spark:6", "tried:6", *(f"{name}:4" for name in (
    "words", "edited", "well", "image", "found", "removed", "letters", "first", "no-import",
    "failing", "hungry", "aside", "tells", "raises", "leaky",
    "prints", "opens"))]  # fmt: skip
_READY_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Release:
    """An installed release, its namespace and ways to look into it."""

    helm: Helm
    inside: Kubectl
    api: ClusterApi

    @property
    def namespace(self) -> str:
        return self.inside.namespace

    def change(self, verb: str, *arguments: str, chart: Path = CHART, **values: Any) -> str:
        """`helm install` or `helm upgrade`, with these values beside those of every test."""
        ran = self.helm.tried(
            verb, NAME, str(chart), "--namespace", self.namespace, "--values", "-", *arguments,
            stdin=json.dumps(values_for(self.namespace) | values),
        )  # fmt: skip
        assert ran.returncode == 0, f"helm {verb}: {ran.stderr}{ran.stdout}"
        return ran.stdout

    def uninstall(self) -> None:
        ran = self.helm.tried("uninstall", NAME, "--namespace", self.namespace)
        assert ran.returncode == 0, ran.stderr

    def until_ready(self) -> None:
        """Until all of its Deployments are."""
        found = self.api.list("deployments", f"app.kubernetes.io/instance={NAME}")
        names = [each["metadata"]["name"] for each in found]
        self.inside.wait_until_ready(*names, seconds=_READY_SECONDS)

    def operators(self) -> list[str]:
        """The pods of the operator that run."""
        found = self.api.list("pods", "app.kubernetes.io/name=tidegate-operator")
        there = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return [pod["metadata"]["name"] for pod in there if pod["status"].get("phase") == "Running"]

    def leader(self) -> str:
        """The operator that acts, as POD_LIFE; '' where none does."""
        lease = self.api.get("leases", OPERATOR) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    def log(self) -> list[str]:
        """What the operators said, line by line."""
        return [
            line for pod in self.operators() for line in self.inside.log(f"pod/{pod}").splitlines()
        ]

    def send(self, hub: str, events: int) -> None:
        """So many readings of sensors, spread over the hub's partitions."""
        self.inside.said(
            "exec", "deployment/tidegate-hub", "--", "tidegate", "send", "--hub", hub,
            "--homes", "10", "--count", str(events),
        )  # fmt: skip

    def secret(self, key: str) -> str:
        """How hub or storage are reached within the cluster."""
        form = f"go-template={{{{.data.{key} | base64decode}}}}"
        return self.inside.said("get", "secret", SECRET, "--output", form).strip()

    @contextlib.contextmanager
    def storage(self) -> Iterator[str]:
        """The storage's connection string for this machine."""
        with steady_way(self.inside, "service/tidegate-azurite", 10000) as port:
            before, _, rest = self.secret("storage").partition("BlobEndpoint=http://")
            account = rest.partition("/")[2]
            yield f"{before}BlobEndpoint=http://127.0.0.1:{port}/{account}"


def values_for(namespace: str) -> dict[str, Any]:
    """The values of every test: the images of this run, and hubs of their own for groups."""
    repository, _, tag = TIDEGATE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "sparkImage": SPARK,
        "watch": {"namespaces": [namespace]},
        "embedded": True,
        "embeddedHub": {"image": HUB, "hubs": HUBS},
        "embeddedStorage": {"image": AZURITE},
    }


@contextlib.contextmanager
def a_release(
    helm: Helm, cluster: Kubectl, chart: Path = CHART, **values: Any
) -> Iterator[Release]:
    """Installed with hub and storage, and ready; gone afterwards, but for the kind."""
    with cluster.new_namespace("operated") as inside:
        api = ClusterApi(cluster.kubeconfig, inside.namespace)
        release = Release(helm, inside, api)
        try:
            # Helm brings the kind where it is not there, and never changes one that is.
            if cluster.tried("get", "crd", KIND).returncode == 0:
                apply_kind(cluster, chart)
            release.change("install", chart=chart, **values)
            release.until_ready()
            yield release
        finally:
            # While the operator is there to let them go.
            inside.tried("delete", KIND, "--all", "--wait", "--timeout=50s")
            helm.tried("uninstall", NAME, "--namespace", inside.namespace)
            api.close()


def apply_kind(cluster: Kubectl, chart: Path = CHART) -> None:
    """The kind as a chart has it, in place of the one that is there."""
    crds = str(chart / "crds")
    cluster.said("apply", "--server-side", "--force-conflicts", "--filename", crds)


def event_hubs(hub: str, **more: Any) -> Mapping[str, Any]:
    """The source of a group that reads a hub of the release from its beginning."""
    secret = {"secret": SECRET, "key": "events"}
    return {"eventHubs": {"hub": hub, "connectionString": secret, "start": "earliest", **more}}


def ledger(container: str, **more: Any) -> Mapping[str, Any]:
    secret = {"secret": SECRET, "key": "storage"}
    return {"container": container, "create": True, "connectionString": secret, **more}
