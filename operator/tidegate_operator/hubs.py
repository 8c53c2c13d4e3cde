"""What the sources themselves say of their partitions, for groups whose members cannot say it.

Rules:
- Asked rarely: at the start, while no member lives each `ends_every_s`, else now and then for
  partitions that were added. One connection, all questions on it at once, and it is closed.
- A group that has no pods until an event comes sleeps: its source is asked each `asleep_every_s`,
  all that time on one connection. Its round is woken where something has come.
- In the background and few at a time: a hub that does not answer holds up nobody.
- A partition whose question failed is None, and only it. Why a hub cannot be asked is a Failure.
- The operator's own identity goes to no host that is not allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from tidegate.commands.wiring import Setup, open_source
from tidegate.model import PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate.settings import SettingsError
from tidegate.sources.choose import EndingSource
from tidegate_operator.identity import IdentityRefusedError, check
from tidegate_operator.model import Ends, Failure, GroupKey
from tidegate_operator.secrets import lacking_file
from tidegate_operator.settings import OperatorSettings

_AT_ONCE = 4
# How often a source is asked while members live: partitions may be added to it.
_SELDOM_S = 600.0
_NOT_THERE = "amqp:not-found"


def failure_of(problem: SourceError | SettingsError, since: float) -> Failure:
    """Why a hub could not be asked, for a condition."""
    if isinstance(problem, IdentityRefusedError):
        return Failure(problem.reason, str(problem), since)
    if isinstance(problem, SettingsError):
        return Failure("SettingsInvalid", str(problem), since)
    if not problem.is_fatal:
        return Failure("HubUnreachable", str(problem), since)
    reason = "HubUnknown" if _NOT_THERE in str(problem) else "HubDenied"
    return Failure(reason, str(problem), since)


async def ends_of(source: EndingSource) -> Ends:
    """One round of questions. Raises SourceError where the hub itself does not answer."""
    partitions = await source.partitions()

    async def end(partition: PartitionId) -> PartitionEnd | None:
        try:
            return await source.end(partition)
        except SourceError:
            return None

    ends = dict(zip(partitions, await asyncio.gather(*map(end, partitions)), strict=True))
    begins = {
        partition: end.begins_at
        for partition, end in ends.items()
        if end is not None and end.begins_at is not None
    }
    return Ends(ends, begins)


@dataclass(slots=True)
class _Shelf:
    """One group's source, and the newest that it said."""

    setup: Setup
    ends: Ends | None = None
    failure: Failure | None = None
    asked_at: float = float("-inf")
    asking: asyncio.Task[None] | None = None
    is_asleep: bool = False

    def places(self) -> dict[PartitionId, int | None]:
        """Where each partition ended, as it was said last."""
        said = self.ends.partitions.items() if self.ends is not None else ()
        return {partition: end.sequence if end is not None else None for partition, end in said}


class Hubs:
    """See the module. `now` is the clock of Observation; `changed` wakes a group."""

    def __init__(
        self,
        settings: OperatorSettings,
        now: Callable[[], float],
        changed: Callable[[GroupKey], None],
    ) -> None:
        self._settings = settings
        self._now = now
        self._changed = changed
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._shelves: dict[GroupKey, _Shelf] = {}

    def look(
        self, key: GroupKey, setup: Setup, *, is_anybody_alive: bool, is_asleep: bool = False
    ) -> tuple[Ends | None, Failure | None]:
        """The newest that the source said, which is asked again if it is time."""
        shelf = self._shelves.get(key)
        if shelf is None or shelf.setup.address != setup.address:
            self.forget(key)
            shelf = self._shelves[key] = _Shelf(setup, ends=shelf.ends if shelf else None)
        shelf.setup = setup
        every_s = _SELDOM_S if is_anybody_alive else self._settings.ends_every_s
        if shelf.failure is not None:
            every_s = self._settings.ends_every_s
        shelf.is_asleep = is_asleep and not is_anybody_alive
        if shelf.is_asleep:
            every_s = min(every_s, 2 * self._settings.asleep_every_s)
        # An answer out of the future is one before the clock was set back.
        if shelf.asking is None and not 0.0 <= self._now() - shelf.asked_at < every_s:
            shelf.asking = asyncio.create_task(self._ask(key, shelf), name=f"ends of {key}")
        return shelf.ends, shelf.failure

    def forget(self, key: GroupKey) -> None:
        shelf = self._shelves.pop(key, None)
        if shelf is not None and shelf.asking is not None:
            shelf.asking.cancel()

    async def close(self) -> None:
        asking = [shelf.asking for shelf in self._shelves.values() if shelf.asking is not None]
        for key in list(self._shelves):
            self.forget(key)
        await asyncio.gather(*asking, return_exceptions=True)

    async def _ask(self, key: GroupKey, shelf: _Shelf) -> None:
        spec = shelf.setup.group.spec.source.event_hubs
        try:
            if spec.namespace is not None:
                hosts = self._settings.identity_hosts.hubs
                check("spec.source.eventHubs.namespace", spec.namespace, hosts)
            lacking = lacking_file(spec.ca_file, "spec.source.eventHubs.caFile")
            if lacking:
                # The members may well have it: only the operator cannot ask.
                raise SourceError(lacking)
            async with AsyncExitStack() as stack:
                source = await open_source(shelf.setup, stack, lambda _: None)
                stack.push_async_callback(source.close)
                await self._note(shelf, source)
                while shelf.is_asleep:
                    await self._watch_for_one(key, shelf, source)
        except (SourceError, SettingsError) as problem:
            since = shelf.failure.since if shelf.failure is not None else self._now()
            shelf.failure = failure_of(problem, since)
        finally:
            shelf.asked_at = self._now()
            shelf.asking = None
        self._changed(key)

    async def _note(self, shelf: _Shelf, source: EndingSource) -> None:
        async with self._room:
            shelf.ends = await ends_of(source)
        shelf.failure = None

    async def _watch_for_one(self, key: GroupKey, shelf: _Shelf, source: EndingSource) -> None:
        """Asks once more after a while, if the group then still sleeps."""
        before = shelf.places()
        await asyncio.sleep(self._settings.asleep_every_s)
        if shelf.is_asleep:
            await self._note(shelf, source)
            if shelf.places() != before:
                self._changed(key)
