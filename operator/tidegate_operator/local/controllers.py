"""The controllers of Deployments and ReplicaSets: they do what `deployments` says, when it changes.

Rules: nothing is decided here. A step that changes something is followed by another look, until
nothing is left to do; who was quicker is looked at anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from tidegate_operator.facts import REVISION_NUMBER, controller_of
from tidegate_operator.kinds import DEPLOYMENT, POD, REPLICA_SET, Document, Kind, ObjectName
from tidegate_operator.local.deployments import next_of, pod_changes, pod_document
from tidegate_operator.local.store import Store

NODE = "this-machine"
_OURS = (DEPLOYMENT, POD, REPLICA_SET)
# Without those that look like others, and without vowels, as Kubernetes has it.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Controllers:
    """See the module. `choose` takes so many letters of a text, by chance."""

    def __init__(self, store: Store, choose: Callable[[str, int], str]) -> None:
        self._store = store
        self._choose = choose
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        self._changed.set()
        end = self._store.listen(self._hear)
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                self.step()
        finally:
            end()

    def _hear(self, kind: Kind, _document: Mapping[str, Any], _is_gone: bool) -> None:
        if kind in _OURS:
            self._changed.set()

    def step(self) -> None:
        """Once for everything that is there."""
        pods = self._store.list(POD)
        for deployment in self._store.list(DEPLOYMENT):
            self._deployment(deployment, pods)
        for replica_set in self._store.list(REPLICA_SET):
            self._replica_set(replica_set, pods)

    def _deployment(self, deployment: Document, pods: list[Document]) -> None:
        metadata = deployment["metadata"]
        namespace, name = (
            metadata["namespace"],
            ObjectName(DEPLOYMENT, metadata["namespace"], metadata["name"]),
        )
        mine = [
            each
            for each in self._store.list(REPLICA_SET, namespace)
            if controller_of(each) == metadata["uid"]
        ]
        found = next_of(deployment, mine, pods)
        if found.make is not None:
            self._store.create(found.make)
        for each, size in found.sizes.items():
            changes = {"spec": {"replicas": size}}
            self._store.patch(ObjectName(REPLICA_SET, namespace, each), changes)
        for each in found.remove:
            self._store.delete(ObjectName(REPLICA_SET, namespace, each))
        if found.revision:
            noted = {"metadata": {"annotations": {REVISION_NUMBER: found.revision}}}
            self._store.patch(name, noted)
        if found.status:
            self._store.write_status(name, found.status)

    def _replica_set(self, replica_set: Document, pods: list[Document]) -> None:
        metadata = replica_set["metadata"]
        changes = pod_changes(replica_set, pods)
        for _ in range(changes.make):
            name = f"{metadata['name']}-{self._choose(_LETTERS, 5)}"
            self._store.create(pod_document(replica_set, name, NODE))
        for each in changes.delete:
            self._store.delete(ObjectName(POD, metadata["namespace"], each))
