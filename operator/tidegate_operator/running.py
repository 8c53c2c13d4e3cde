"""One operator: the watches, the leader's Lease, the workers, and the end of them all.

Rules:
- Everything runs on one loop. Whoever does not lead watches, and acts on nothing.
- Nobody acts before everything that there is has been told of.
- A clean end: acts end first, then the Lease is given back, then the watches end. What ends by
  itself ends the process, and says why: its pod is started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

from tidegate.ops.serving import Address, serve
from tidegate_operator.apply import Applier
from tidegate_operator.cache import Cache
from tidegate_operator.edges import Edges, Notes, NotLeadingError
from tidegate_operator.group_pages import PATH
from tidegate_operator.health import OperatorHealth, OperatorMetrics, Vitals
from tidegate_operator.hubs import Hubs
from tidegate_operator.kinds import CONFIG_MAP, CONSUMER_GROUP, LEASE, SECRET, Document, Kind
from tidegate_operator.kube_errors import Conflict, KubeError, NotThere
from tidegate_operator.kube_events import Herald
from tidegate_operator.leader import Leader, LeaseTaken, LeaseUnreachable
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import Failure, GroupKey, Steps
from tidegate_operator.objects import Api, Watch
from tidegate_operator.reconcile import reconcile
from tidegate_operator.secrets import KnownSecrets, SecretReader
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.telling import tell
from tidegate_operator.untold import Untold
from tidegate_operator.unwatched import Unwatched
from tidegate_operator.watching import Watches
from tidegate_operator.workers import Round, Workers

_log = logging.getLogger("tidegate.operator")

_TRY_AGAIN_S = 2.0
_TIDY_EVERY_S = 60.0


def awake_or_asleep() -> float:
    """Seconds that only go forward, also while the machine sleeps, where its system counts those:
    who has slept through the end of a Lease knows it when it wakes up."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class EndedError(Exception):
    """A part of the operator has ended that never ends by itself."""


class KubeLeases:
    """The leader's Lease, in the cluster."""

    def __init__(self, kube: Api, settings: OperatorSettings) -> None:
        self._kube = kube
        self._place = (settings.leader_namespace, settings.leader_name)

    async def read(self) -> Document | None:
        try:
            return await self._kube.find(LEASE, *self._place)
        except KubeError as problem:
            raise LeaseUnreachable(str(problem)) from problem

    async def write(self, lease: Document) -> Document:
        try:
            if "resourceVersion" in lease["metadata"]:
                return await self._kube.replace(lease)
            return await self._kube.create(lease)
        except (Conflict, NotThere) as problem:
            raise LeaseTaken(str(problem)) from problem
        except KubeError as problem:
            raise LeaseUnreachable(str(problem)) from problem


class Operator:
    """See the module. `control` is a connection for the Lease and the comparisons alone, so that
    they never wait for the groups' requests. `watch` tells of what is there and what changes."""

    def __init__(
        self,
        settings: OperatorSettings,
        kube: Api,
        control: Api,
        hidden: KnownSecrets,
        watch: Watch,
    ) -> None:
        self.settings = settings
        self._control = control
        self._watch_all = watch
        self.cache = Cache()
        dice, now, wall = random.random, awake_or_asleep, time.time
        self.leader = Leader(KubeLeases(control, settings), settings, now, wall, dice)
        self.workers = Workers(self._round, settings, now, dice, expected=(KubeError,))
        self.watches = Watches(control, self.cache, settings, now, self.hear)
        applier = Applier(kube, now, dice, recheck_s=settings.drift_every_s)
        untold = Untold()
        self._unwatched = Unwatched(control, settings, applier, self.workers.wake)
        self._edges = Edges(
            settings=settings,
            kube=kube,
            cache=self.cache,
            secrets=SecretReader(kube, settings, hidden, wall),
            ledgers=Ledgers(settings, wall, dice, self.workers.wake),
            hubs=Hubs(settings, wall, self.workers.wake),
            applier=applier,
            herald=Herald(kube, wall, settings.identity, untold),
            is_leading=lambda: self.leader.is_leading,
            now=wall,
            dice=dice,
            untold=untold,
        )
        self._notes: dict[GroupKey, Notes] = {}
        vitals = Vitals(settings, self.cache, self.watches, self.leader, self.workers, now, untold)
        self.health = OperatorHealth(vitals)
        self._metrics, self._groups = OperatorMetrics(vitals), vitals.groups

    def hear(self, kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
        """Something was told of an object."""
        for key in self.cache.hear(kind, document, is_gone=is_gone):
            self.workers.wake(key)

    async def run(self, listen: Address | None, stop: asyncio.Event) -> None:
        """Until it is told to stop. Raises EndedError, or what a part of it ended with."""
        async with AsyncExitStack() as stack:
            if listen is not None:
                pages = {PATH: self._groups.answer}
                endpoints = await serve(listen, self._metrics, self.health, awake_or_asleep, pages)
                stack.push_async_callback(endpoints.close)
                _log.info("metrics, health and groups at %s", endpoints.url)
            stack.push_async_callback(self._edges.ledgers.close)
            stack.push_async_callback(self._edges.hubs.close)
            stopping = asyncio.create_task(stop.wait(), name="stop")
            parts = [
                asyncio.create_task(self._watch(), name="watches"),
                asyncio.create_task(self.watches.run(), name="comparing"),
                asyncio.create_task(self.leader.run(self._lead), name="leader"),
            ]
            await asyncio.wait([stopping, *parts], return_when=asyncio.FIRST_COMPLETED)
            self.health.is_stopping = True
            ended = [part for part in parts if part.done()]
            for task in (*reversed(parts), stopping):
                task.cancel()
                await asyncio.wait([task])
        if not stop.is_set():
            for part in ended:
                part.result()
            raise EndedError("the watches of the Kubernetes API have ended")

    async def _watch(self) -> None:
        await self._until_kind_is_there()
        await self._watch_all(self.settings, self.hear)

    async def _until_kind_is_there(self) -> None:
        """Whoever watches may look once which kinds there are, when it starts."""
        said = ""
        namespace = next(iter(self.settings.namespaces), None)
        while True:
            try:
                await self._control.list(CONSUMER_GROUP, namespace, metadata_only=True)
                return
            except KubeError as problem:
                self.health.waits_for = str(problem)
                if str(problem) != said:
                    _log.error("%s", problem)
                said = str(problem)
            await asyncio.sleep(_TRY_AGAIN_S)

    async def _lead(self) -> None:
        """As long as this operator leads."""
        await self.watches.complete.wait()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tidy(), name="tidying")
                tasks.create_task(self._unwatched.run(), name="comparing what is not watched")
                await self.workers.run(self.cache.groups)
        finally:
            # Also of groups that are deleted while another operator leads.
            for key in list(self._notes):
                self._forget(key)
            self._edges.turns.forget()

    async def _round(self, key: GroupKey) -> Round:
        notes = self._notes_of(key)
        try:
            ended = await reconcile(self._edges, key, notes)
        except NotLeadingError:
            return Round(self.settings.closest_s)
        except KubeError:
            raise
        except Exception as problem:
            await self._tell_defect(notes, problem)
            raise
        if ended.is_over:
            self._forget(key)
        is_settled = ended.again_s == Steps().again_s
        return replace(ended, again_s=self.settings.settled_tick_s) if is_settled else ended

    def _notes_of(self, key: GroupKey) -> Notes:
        """What is remembered of this group, and not of one that had its name before."""
        notes = self._notes.get(key)
        document = self.cache.known(key).document
        if notes is not None and document is not None:
            if notes.read[0] not in ("", document["metadata"]["uid"]):
                self._forget(key)
        return self._notes.setdefault(key, Notes())

    async def _tell_defect(self, notes: Notes, problem: Exception) -> None:
        """A round that fails by a defect of ours is a condition of its group, too."""
        if notes.seen is None:
            return
        failure = Failure(
            "OperatorFailed",
            f"the operator failed in looking at this group ({type(problem).__name__}: {problem}). "
            "Its consumers go on. See the operator's log; it tries again.",
            notes.troubles.setdefault("OperatorFailed", self._edges.now()),
        )
        seen = notes.seen
        failures = (*seen.observation.failures, failure)
        observation = replace(seen.observation, failures=failures)
        # Whoever no longer leads says nothing; the defect itself is what the round ends with.
        with contextlib.suppress(NotLeadingError):
            await tell(self._edges, observation, seen, Steps(), notes)

    def _forget(self, key: GroupKey) -> None:
        self._notes.pop(key, None)
        self._edges.untold.forget(key)
        self._edges.ledgers.forget(key)
        self._edges.hubs.forget(key)
        self._edges.applier.forget(key)

    async def _tidy(self) -> None:
        """Secrets that no group names any more are forgotten, and accounts let go of."""
        while True:
            await asyncio.sleep(_TIDY_EVERY_S)
            named: set[tuple[Kind, str, str]] = set()
            for key, notes in self._notes.items():
                if notes.spec is not None:
                    named |= {(SECRET, key.namespace, name) for name in notes.secrets}
                    if notes.spec.handler.config_map is not None:
                        named.add((CONFIG_MAP, key.namespace, notes.spec.handler.config_map))
            self._edges.secrets.keep_only(frozenset(named))
            await self._edges.ledgers.tidy()
