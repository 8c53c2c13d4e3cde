"""Executors of Spark as a cluster would show them: for a driver that is a process of this machine.

The driver starts its executors itself, one worker process each, as many as a file says. What the
operator looks at in a cluster (the driver's note, the StatefulSet that Spark makes, a pod for each
executor) is written here from what the driver's own file says, and the StatefulSet's replicas go
back into the driver's.

Rules: nothing is decided here. A new executor takes the lowest place that is free, as a pod of a
StatefulSet does; what a life of the driver had goes with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.spark.standing import ANNOTATION
from tidegate_operator.engines.inputs import GROUP_LABEL, ROLE_LABEL
from tidegate_operator.executors import set_name
from tidegate_operator.facts import APPLICATION_LABEL, NUMBER_LABEL
from tidegate_operator.kinds import POD, STATEFUL_SET, Document, ObjectName
from tidegate_operator.local.deployments import owner
from tidegate_operator.local.store import Store
from tidegate_operator.pod_nouns import Role
from tidegate_operator.wording import time_text

_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class DriverFiles:
    """By which a driver and what runs it know of each other."""

    # What the driver says of itself.
    note: Path
    # How many executors it is to have.
    count: Path
    # As many as there are where it begins for the first time.
    first: int

    def wanted(self) -> int:
        """How many it begins with: as many as its last life was to have."""
        try:
            return int(self.count.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return self.first


class Executors:
    """Those of one life of a driver, which is about to begin."""

    def __init__(
        self, store: Store, driver: ObjectName, files: DriverFiles, wall: Callable[[], float]
    ) -> None:
        self._store = store
        self._wall = wall
        self._driver = driver
        self._note, self._count = files.note, files.count
        self._begins_with = files.wanted()
        self._told = ""
        # Of each executor, by its number: its pod.
        self._pods: dict[str, ObjectName] = {}
        files.note.unlink(missing_ok=True)
        files.count.write_text(f"{self._begins_with}\n", encoding="utf-8")

    async def follow(self, node: str) -> None:
        """Until it is cancelled."""
        try:
            while True:
                self.look(node)
                await asyncio.sleep(_LOOK_S)
        finally:
            self._forget(self._pods)

    def look(self, node: str) -> None:
        """Once: what the driver says is shown, and what the operator wants is passed on."""
        driver = self._store.find(self._driver)
        try:
            said = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        application = str(said.get("applicationId") or "")
        if driver is None or not application:
            return
        self._tell(said)
        standing = self._set(driver, application)
        numbers = [str(each) for each in said.pop("numbers", ())]
        gone = {number: pod for number, pod in self._pods.items() if number not in numbers}
        self._forget(gone)
        for number in numbers:
            if number not in self._pods:
                self._add(standing, application, number, node)
        wanted = f"{standing['spec']['replicas']}\n"
        if self._count.read_text(encoding="utf-8") != wanted:
            self._count.write_text(wanted, encoding="utf-8")

    def _tell(self, said: Mapping[str, Any]) -> None:
        """The note, as the driver would write it on its pod."""
        rest = {key: value for key, value in said.items() if key != "numbers"}
        text = json.dumps(rest, ensure_ascii=False)
        if text != self._told:
            self._store.patch(self._driver, {"metadata": {"annotations": {ANNOTATION: text}}})
            self._told = text

    def _set(self, driver: Document, application: str) -> Document:
        name = ObjectName(STATEFUL_SET, self._driver.namespace, set_name(application))
        found = self._store.find(name)
        if found is not None:
            return found
        return self._store.create(
            {
                "apiVersion": STATEFUL_SET.api_version,
                "kind": STATEFUL_SET.name,
                "metadata": {
                    "name": name.name,
                    "namespace": name.namespace,
                    "ownerReferences": [owner(driver)],
                },
                "spec": {
                    "replicas": self._begins_with,
                    "selector": {"matchLabels": {APPLICATION_LABEL: application}},
                },
            }
        )

    def _add(self, standing: Document, application: str, number: str, node: str) -> None:
        metadata = standing["metadata"]
        taken = {pod.name for pod in self._pods.values()}
        place = next(at for at in range(len(taken) + 1) if f"{metadata['name']}-{at}" not in taken)
        name = ObjectName(POD, metadata["namespace"], f"{metadata['name']}-{place}")
        driver = self._store.get(self._driver)
        labels = {
            GROUP_LABEL: driver["metadata"]["labels"][GROUP_LABEL],
            ROLE_LABEL: str(Role.EXECUTOR),
            APPLICATION_LABEL: application,
            NUMBER_LABEL: number,
        }
        self._store.create(
            {
                "apiVersion": POD.api_version,
                "kind": POD.name,
                "metadata": {
                    "name": name.name,
                    "namespace": name.namespace,
                    "labels": labels,
                    "ownerReferences": [owner(standing)],
                },
                "spec": {"containers": [{"name": str(Role.EXECUTOR)}], "nodeName": node},
                "status": _running(time_text(self._wall())),
            }
        )
        self._pods[number] = name

    def _forget(self, pods: Mapping[str, ObjectName]) -> None:
        for number, name in list(pods.items()):
            found = self._store.find(name)
            if found is not None:
                self._store.end_pod(name, found["metadata"]["uid"])
            del self._pods[number]


def _running(since: str) -> Document:
    """An executor has a number once it has joined its driver."""
    return {
        "phase": "Running",
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True"},
        ],
        "containerStatuses": [
            {
                "name": str(Role.EXECUTOR),
                "ready": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": since}},
            }
        ],
    }
