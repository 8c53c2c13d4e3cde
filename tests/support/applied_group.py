"""A ConsumerGroup on a bare control plane, and an operator that applies its manifests.

Rules: the ConsumerGroup is there, for what has no owner is collected. The clock of the operator is
the test's; that of the API server is not.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from typing import Any

from support.cluster_groups import example
from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.apply import Applier, Outcome
from tidegate_operator.engines import RenderInput, SecretMount, engine_of
from tidegate_operator.kinds import (
    CONFIG_MAP,
    CONSUMER_GROUP,
    DEPLOYMENT,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.kube import Kube
from tidegate_operator.model import GroupKey

SOON = 30.0
RECHECK_S = 60.0


@dataclass(slots=True)
class Group:
    """A ConsumerGroup that stands, and an operator that applies what it wants."""

    inside: Kubectl
    kube: Kube
    key: GroupKey
    uid: str
    wanted: RenderInput
    now: float = 0.0
    # Whether a watch tells of the Deployment.
    is_watched: bool = True
    applier: Applier = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.applier = Applier(
            self.kube, lambda: self.now, random.Random(1).random, recheck_s=RECHECK_S
        )

    async def apply(self, replicas: int = 2) -> Outcome:
        name = self.name(DEPLOYMENT)
        seen: dict[ObjectName, Document | None] = {}
        if self.is_watched:
            seen[name] = await self.kube.find(DEPLOYMENT, name.namespace, name.name)
        return await self.applier.apply(
            self.key,
            self.uid,
            engine_of(EngineKind.PYTHON).manifests(self.wanted),
            names=engine_of(EngineKind.PYTHON).names(self.key),
            replicas=replicas,
            seen=seen,
        )

    def want(self, **changes: Any) -> None:
        self.wanted = dataclasses.replace(self.wanted, **changes)

    def name(self, kind: Kind) -> ObjectName:
        name = f"{self.key.name}-group" if kind == CONFIG_MAP else self.key.name
        return ObjectName(kind, self.key.namespace, name)

    def live(self, kind: Kind) -> Document:
        found: Document = self.inside.read(kind.resource, self.name(kind).name)
        return found

    def versions(self) -> dict[str, str]:
        """Of all that is ours; what controllers write of a status counts too, so only when calm."""
        kinds = "serviceaccounts,configmaps,services,poddisruptionbudgets"
        items = self.inside.read(kinds, "-l", f"tidegate.dev/group={self.key.name}")["items"]
        found = {item["kind"]: item["metadata"]["resourceVersion"] for item in items}
        return {kind: found[kind] for kind in ("ServiceAccount", "ConfigMap", "Service")} | {
            "Deployment": str(self.live(DEPLOYMENT)["metadata"]["generation"])
        }

    def pods(self) -> list[Document]:
        found: list[Document] = self.inside.read("pods")["items"]
        return found

    async def until_pods(self, count: int) -> None:
        wait_until(lambda: len(self.pods()) == count, SOON, f"{count} pods", self.told)

    def told(self) -> str:
        return self.inside.tried("describe", "deployments,replicasets").stdout[-3000:]


def applied_group(inside: Kubectl, kube: Kube) -> Group:
    """A group whose ConsumerGroup stands, with a Secret, a ConfigMap and a template of its own."""
    key = GroupKey(inside.namespace, "activity")
    document = example("consumergroup.yaml")
    document["metadata"] = {"name": key.name, "namespace": key.namespace}
    inside.apply(document)
    uid = inside.read(CONSUMER_GROUP.resource, key.name)["metadata"]["uid"]
    wanted = RenderInput(
        key,
        uid,
        "kind: ConsumerGroup\n",
        "none.example/tidegate:1",
        secrets=(SecretMount("hub.secret", frozenset({"events"}), "1"),),
        handler_config_map="code",
        handler_hash="1",
        template={
            "metadata": {"labels": {"azure.workload.identity/use": "true"}},
            "spec": {
                "containers": [
                    {
                        "name": "consumer",
                        # The API server writes this as 1Gi.
                        "resources": {"limits": {"memory": "1024Mi"}},
                        "env": [{"name": "LEVEL", "value": "1"}],
                    }
                ]
            },
        },
    )
    return Group(inside, kube, key, uid, wanted)
