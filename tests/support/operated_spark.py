"""A group on Spark in a cluster in memory, with what Kubernetes and Spark do of themselves.

Rules: as in `operated_world`. Nothing happens by itself: a test says when a driver begins, when its
executors are counted, when members hand over. Leases of those that live are renewed each round.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

from support.operated_world import KEY, NAME, SETTINGS, WORKLOAD, OperatedWorld
from tidegate.model import LeaseState, Listing, Owner, Presence
from tidegate.ports import (
    Acquire,
    Announce,
    CreateOwnership,
    Join,
    List,
    Release,
    Renew,
    RenewPresence,
    WriteOwnership,
)
from tidegate_operator.executors import set_name
from tidegate_operator.facts import REVISION_NUMBER
from tidegate_operator.kinds import (
    CONFIG_MAP,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.wording import time_text
from tidegate_operator.workers import Round

# The partitions of the groups that have executors.
OWNED = [str(number) for number in range(4)]
LABELS = {"tidegate.dev/group": KEY.name}


class SparkWorld(OperatedWorld):
    """See the module."""

    def __init__(self, **spec: Any) -> None:
        super().__init__()
        assert SETTINGS.spark_image
        self._numbers = itertools.count(1)
        self._living: dict[str, str] = {}
        self._owned: dict[str, tuple[str, str]] = {}
        self.put_secret()
        self.create(engine="spark", **{"scaling": {"min": 0, "max": 8}, **spec})
        self.settle()

    def round(self, after_s: float = 1.0) -> Round:
        for name, lease in self._living.items():
            self.ledger.memory.perform_at(RenewPresence(name, lease), self.now + after_s)
        for partition, (lease, etag) in self._owned.items():
            self.ledger.memory.perform_at(Renew(partition, lease, etag), self.now + after_s)
        return super().round(after_s)

    # --- Kubernetes and Spark

    def begin_driver(
        self, name: str = "driver-1", *, revision: str = "r1", application: str = "app-1"
    ) -> None:
        """Its pod runs, and Spark has made as many executors as the driver was told."""
        assert self.deployment is not None
        number = revision.removeprefix("r")
        self._put(
            REPLICA_SET,
            f"{KEY.name}-{revision}",
            owner=self.deployment["metadata"]["uid"],
            labels={"pod-template-hash": revision},
            annotations={REVISION_NUMBER: number},
        )
        self.kube.edit(WORKLOAD, {"metadata": {"annotations": {REVISION_NUMBER: number}}})
        self._put(
            POD, name, owner=self.uid(REPLICA_SET, f"{KEY.name}-{revision}"),
            labels={"pod-template-hash": revision, "tidegate.dev/role": "driver"},
        )  # fmt: skip
        self.run_container(name, "driver")
        self.begin_application(name, application)

    def begin_application(self, driver: str, application: str) -> None:
        self.say(driver, applicationId=application, phase="running")
        selector = {"matchLabels": {"spark-app-selector": application}}
        self._put(
            STATEFUL_SET, set_name(application), owner=self.uid(POD, driver), labels=None,
            spec={"replicas": self.told_executors(), "selector": selector},
        )  # fmt: skip
        self.make_executors(application)

    def make_executors(self, application: str) -> None:
        """As the StatefulSet's controller does."""
        owner = ObjectName(STATEFUL_SET, KEY.namespace, set_name(application))
        wanted = self.kube.objects[owner]["spec"]["replicas"]
        for place in itertools.count():
            name = f"{owner.name}-{place}"
            there = ObjectName(POD, KEY.namespace, name)
            if place >= wanted and there not in self.kube.objects:
                return
            if place >= wanted:
                self.kube.take(there)
            elif there not in self.kube.objects:
                labels = {
                    "tidegate.dev/role": "executor", "spark-app-selector": application,
                    "spark-exec-id": "EXECID",
                }  # fmt: skip
                self._put(
                    POD,
                    name,
                    owner=self.uid(STATEFUL_SET, owner.name),
                    labels=labels,
                    controller=owner.name,
                )

    def count_executors(self, driver: str, application: str) -> list[str]:
        """They run, the driver gives each a number, and its member joins. The members' names."""
        found = []
        for name in sorted(self.kube.objects):
            labels = self.kube.objects[name]["metadata"].get("labels") or {}
            if name.kind != POD or labels.get("spark-app-selector") != application:
                continue
            if labels["spark-exec-id"] == "EXECID":
                number = str(next(self._numbers))
                self.kube.edit(name, {"metadata": {"labels": {"spark-exec-id": number}}})
                self.run_container(name.name, "executor")
                self.join(f"{driver}-x{number}", driver)
            labels = self.kube.objects[name]["metadata"]["labels"]
            found.append(f"{driver}-x{labels['spark-exec-id']}")
        return found

    def run_container(self, pod: str, container: str, *, restarts: int = 0) -> None:
        """Anew, where it has run before."""
        running = {"state": {"running": {"startedAt": time_text(self.now)}}}
        status = {"name": container, "restartCount": restarts, **running}
        if restarts:
            status["lastState"] = {"terminated": self._ended}
        self._status(
            pod,
            {
                "phase": "Running",
                "containerStatuses": [status],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        )

    def end_container(self, pod: str, container: str, message: str = "", code: int = 1) -> None:
        """It waits to be begun again; nobody renews what a driver has held."""
        gone = [each for each in self._living if each.startswith(f"{pod}-x")]
        for member in gone:
            del self._living[member]
        if gone:
            self._owned.clear()
        self._ended = {
            "startedAt": time_text(self.now - 100), "finishedAt": time_text(self.now),
            "exitCode": code, "message": message,
        }  # fmt: skip
        waiting = {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting"}
        status = {
            "name": container, "restartCount": 1,
            "state": {"waiting": waiting}, "lastState": {"terminated": self._ended},
        }  # fmt: skip
        self._status(
            pod,
            {
                "phase": "Running",
                "containerStatuses": [status],
                "conditions": [{"type": "Ready", "status": "False"}],
            },
        )

    def say(self, driver: str, **said: Any) -> None:
        """The driver writes its note."""
        note = {"startedAt": self.now, "phase": "starting", "failure": "", **said}
        annotations = {"tidegate.dev/spark": json.dumps(note)}
        name = ObjectName(POD, KEY.namespace, driver)
        self.kube.edit(name, {"metadata": {"annotations": annotations}})

    def take_driver(self, name: str, application: str) -> None:
        """The pod is gone, and what it owns with it."""
        for there in list(self.kube.objects):
            if there.name == name or there.name.startswith(set_name(application)):
                self.kube.take(there)
        for member in [each for each in self._living if each.startswith(f"{name}-x")]:
            self.leave(member)

    # --- members

    def join(self, member: str, driver: str) -> None:
        memory, lease = self.ledger.memory, f"lease-{member}"
        memory.perform_at(Join(member, lease), self.now)
        presence = Presence(member, "", LeaseState.LEASED, "life", pod_uid=self.uid(POD, driver),
                            started_at=self.now)  # fmt: skip
        memory.perform_at(Announce(presence, lease), self.now)
        self._living[member] = lease

    def is_stuck(self, *partitions: str) -> str:
        """The first member says that it fails there, and gives its name."""
        member, lease = next(iter(self._living.items()))
        listing = self.ledger.memory.perform_at(List(), self.now)
        assert isinstance(listing, Listing)
        presence = replace(listing.members[member], stuck=frozenset(partitions))
        self.ledger.memory.perform_at(Announce(presence, lease), self.now)
        return member

    def leave(self, member: str) -> None:
        del self._living[member]
        self.now += 16.0  # its lease runs out

    def own(self, partition: str, member: str) -> None:
        memory = self.ledger.memory
        listing = memory.perform_at(List(), self.now)
        assert isinstance(listing, Listing)
        if partition in self._owned:
            lease, etag = self._owned.pop(partition)
            memory.perform_at(Release(partition, lease, etag), self.now)
        elif partition not in listing.ownerships:
            memory.perform_at(CreateOwnership(partition), self.now)
        listing = memory.perform_at(List(), self.now)
        assert isinstance(listing, Listing)
        row, taken = listing.ownerships[partition], f"of-{partition}-{member}"
        memory.perform_at(Acquire(partition, taken, row.etag), self.now)
        owner = Owner(member, "life")
        write = WriteOwnership(partition, taken, row.etag, owner, row.epoch + 1, "n")
        self._owned[partition] = taken, str(memory.perform_at(write, self.now))

    # --- what is there

    def uid(self, kind: Kind, name: str) -> str:
        return str(self.kube.objects[ObjectName(kind, KEY.namespace, name)]["metadata"]["uid"])

    def told_executors(self) -> int:
        name = ObjectName(CONFIG_MAP, KEY.namespace, f"{KEY.name}-group")
        return int(self.kube.objects[name]["data"]["tidegate-executors"])

    def drivers(self) -> int:
        assert self.deployment is not None
        return int(self.deployment["spec"]["replicas"])

    def replicas(self, application: str = "app-1") -> int | None:
        found = self.kube.objects.get(
            ObjectName(STATEFUL_SET, KEY.namespace, set_name(application))
        )
        return None if found is None else int(found["spec"]["replicas"])

    def scale(self, replicas: int) -> None:
        self.kube.edit(NAME, {"spec": {"replicas": replicas}})

    def _put(
        self, kind: Kind, name: str, *, owner: str, labels: dict[str, str] | None,
        controller: str = "any", **rest: Any,
    ) -> None:  # fmt: skip
        there = ObjectName(kind, KEY.namespace, name)
        if there in self.kube.objects:
            return
        owned_by = {"kind": "any", "name": controller, "uid": owner, "controller": True}
        metadata: Document = {
            "namespace": KEY.namespace, "name": name, "creationTimestamp": time_text(self.now),
            "ownerReferences": [owned_by],
        }  # fmt: skip
        if labels is not None:
            metadata["labels"] = {**LABELS, **labels}
        if "annotations" in rest:
            metadata["annotations"] = rest.pop("annotations")
        document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata}
        self.kube.put({**document, **rest})

    def _status(self, pod: str, status: Document) -> None:
        name = ObjectName(POD, KEY.namespace, pod)
        self.kube.edit(name, {"status": status, "spec": {"nodeName": "n"}})
