"""What runs the members of a group, as it stands: one view of it for every engine. Pure.

Rules: an engine has a Deployment. With `python` its pods are the members. With `spark` it has one
pod, the driver, while executors are wanted, and the driver's StatefulSet says how many there are;
before there is one the driver is told. What is decided is how many members there are to be; which
objects that is written to is said here, each with the resourceVersion that was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.executors import SetFacts
from tidegate_operator.kinds import DEPLOYMENT, STATEFUL_SET, Document, Kind
from tidegate_operator.model import Failure, GroupKey, PodFacts, SparkFacts, WorkloadFacts


@dataclass(frozen=True, slots=True)
class Write:
    """Replicas that are to be written."""

    kind: Kind
    name: str
    replicas: int
    resource_version: str


@dataclass(frozen=True, slots=True)
class Workload:
    """What stands, in members. `deployment` and `standing` are what says how many there are."""

    key: GroupKey
    engine: EngineKind
    deployment: Document | None
    facts: WorkloadFacts | None
    pods: tuple[PodFacts, ...] = ()
    failures: tuple[Failure, ...] = ()
    spark: SparkFacts | None = None
    standing: SetFacts | None = None

    def writes(self, members: int) -> tuple[Write, ...]:
        """What is to be written so that there are so many."""
        if self.deployment is None:
            return ()
        found = []
        count = pods_for(self.engine, members)
        metadata = self.deployment["metadata"]
        if count != self.deployment["spec"].get("replicas", 1):
            version = metadata["resourceVersion"]
            found.append(Write(DEPLOYMENT, self.key.name, count, version))
        if self.standing is not None and members and members != self.standing.replicas:
            at = self.standing
            found.append(Write(STATEFUL_SET, at.name, members, at.resource_version))
        return tuple(found)


def pods_for(engine: EngineKind, members: int) -> int:
    """How many pods the Deployment has for so many members."""
    return members if engine is EngineKind.PYTHON else min(members, 1)
