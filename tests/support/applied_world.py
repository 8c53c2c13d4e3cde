"""A group in a cluster in memory, a clock, and an operator that can be started anew."""

from __future__ import annotations

from typing import Any

from support.kube_objects import KubeObjects
from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.apply import Applier, Outcome
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.kinds import CONFIG_MAP, DEPLOYMENT, Document, Kind, ObjectName
from tidegate_operator.model import GroupKey

KEY = GroupKey("homes", "activity")
RECHECK_S = 60.0


class World:
    """See the module."""

    def __init__(self) -> None:
        self.kube = KubeObjects()
        self.now = 1000.0
        self.wanted: dict[str, Any] = {}
        self.uid = "group-1"
        self.start()

    def start(self) -> None:
        self.applier = Applier(self.kube, lambda: self.now, lambda: 0.5, recheck_s=RECHECK_S)
        self._made: tuple[Document, ...] = ()
        self._of: dict[str, Any] | None = None

    def manifests(self) -> tuple[Document, ...]:
        if self._of != self.wanted:
            wanted = RenderInput(KEY, self.uid, "kind: ConsumerGroup\n", "image", **self.wanted)
            self._made, self._of = engine_of(EngineKind.PYTHON).manifests(wanted), dict(self.wanted)
        return self._made

    async def apply(self, replicas: int = 3) -> Outcome:
        """With a watch of the Deployment that lags behind nothing."""
        self.kube.asked.clear()
        name = ObjectName(DEPLOYMENT, "homes", "activity")
        return await self.applier.apply(
            KEY,
            self.uid,
            self.manifests(),
            names=engine_of(EngineKind.PYTHON).names(KEY),
            replicas=replicas,
            seen={name: self.kube.objects.get(name)},
        )

    def name(self, kind: Kind) -> ObjectName:
        return ObjectName(kind, "homes", "activity-group" if kind == CONFIG_MAP else "activity")

    def live(self, kind: Kind) -> Document:
        return self.kube.objects[self.name(kind)]
