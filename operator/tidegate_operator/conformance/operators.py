"""The operator's own Deployment, where a run may touch it: taken away, doubled, its leader deleted.

Rules: as many as there were before are asked for again at the end, also when it is broken off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tidegate_operator.conformance.hands import Hands
from tidegate_operator.conformance.hits import within
from tidegate_operator.conformance.looking import Looking
from tidegate_operator.conformance.options import Operator, Options
from tidegate_operator.conformance.states import facts_of
from tidegate_operator.kinds import DEPLOYMENT, LEASE, POD, Document

_LOOK_S = 0.5
_READY_S = 60.0


class Operators:
    """See the module. All raise KubeError, and TimeoutError where it takes too long."""

    def __init__(self, hands: Hands, options: Options, looking: Looking) -> None:
        self._kube = hands.kube
        self._hands = hands
        self._operator = options.operator
        self._looking = looking

    @property
    def _its(self) -> Operator:
        assert self._operator is not None, "the plan has it only where it was named"
        return self._operator

    @contextlib.asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        async with self._sized(0):
            await self._until_pods(0)
            yield
        await self._until_pods(1)

    @contextlib.asynccontextmanager
    async def doubled(self) -> AsyncIterator[str]:
        """Who leads."""
        async with self._sized(2):
            await self._until_pods(2)
            yield await self._leader("")

    async def change_leader(self, leader: str) -> None:
        """Deletes the pod of the one that leads, and waits until another one does."""
        pods = [pod["metadata"]["name"] for pod in await self._pods()]
        its = [name for name in pods if leader.startswith(name)]
        for name in its:
            await self._hands.delete_pod(self._its.namespace, name)
        await self._leader(leader)

    @contextlib.asynccontextmanager
    async def _sized(self, replicas: int) -> AsyncIterator[None]:
        its = self._its
        found = await self._kube.get(DEPLOYMENT, its.namespace, its.name)
        before = int(found["spec"].get("replicas", 1))
        try:
            await self._scale(replicas)
            yield
        finally:
            await self._scale(before)

    async def _scale(self, replicas: int) -> None:
        its = self._its
        change = {"spec": {"replicas": replicas}}
        await self._kube.patch(DEPLOYMENT, its.namespace, its.name, change)

    async def _pods(self) -> list[Document]:
        its = self._its
        found = await self._kube.get(DEPLOYMENT, its.namespace, its.name)
        labels = ",".join(
            f"{key}={value}" for key, value in found["spec"]["selector"]["matchLabels"].items()
        )
        return await self._kube.list(POD, its.namespace, labels=labels)

    async def _until_pods(self, count: int) -> None:
        """So many that are ready and stay, and none that leaves where there are to be none."""
        what = f"there were not {count} operators" if count else "there still was an operator"
        async with within(_READY_S, what):
            while True:
                pods = await self._pods()
                ready = [pod for pod in pods if facts_of(pod)[1] and not facts_of(pod)[2]]
                if len(ready) >= count if count else not pods:
                    return
                await asyncio.sleep(_LOOK_S)

    async def _leader(self, other_than: str) -> str:
        its = self._its
        async with within(_READY_S, "no other operator led" if other_than else "no operator led"):
            while True:
                lease = await self._kube.find(LEASE, its.namespace, its.name) or {}
                holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
                if holder and holder != other_than:
                    return holder
                await asyncio.sleep(_LOOK_S)
