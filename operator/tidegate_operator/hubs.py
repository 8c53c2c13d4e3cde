"""What the sources themselves say of their partitions, for groups whose members cannot say it.

Rules:
- Asked rarely: at the start, each `ends_every_s` while no member lives or a partition has no
  reader, else now and then for partitions that were added. One connection, all questions on it at
  once, and it is closed.
- If members live and cannot read a partition, its source is asked as that of a sleeping group.
- A group that has no pods until an event comes sleeps: its source is asked each `asleep_every_s`,
  all that time on one connection. Its round is woken where something has come.
- Groups that read one hub, and are let in with the same credentials, ask it once for all of them:
  where its partitions end has nothing to do with who reads them.
- In the background and few at a time: a hub that does not answer holds up nobody.
- A partition whose question failed is None, and only it. Why a hub cannot be asked is a Failure.
- The operator's own identity goes to no host that is not allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, cast

from tidegate.commands.wiring import Setup, open_source
from tidegate.model import Listing, PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate.settings import SettingsError
from tidegate.sources.choose import EndingSource
from tidegate_operator.identity import IdentityRefusedError, check
from tidegate_operator.model import Ends, Failure, GroupKey
from tidegate_operator.secrets import lacking_file
from tidegate_operator.settings import OperatorSettings

_AT_ONCE = 16
# How often a source is asked while members live: partitions may be added to it.
_SELDOM_S = 600.0
# How often a source that is asked all the time is asked which partitions it has.
_LISTED_S = 60.0
# As a hub and a container say it.
_NOT_THERE = ("amqp:not-found", "is not there (404")

# All that decides what is asked, and how one is let in.
_Place = tuple[object, ...]


def failure_of(problem: SourceError | SettingsError, since: float) -> Failure:
    """Why a hub could not be asked, for a condition."""
    if isinstance(problem, IdentityRefusedError):
        return Failure(problem.reason, str(problem), since)
    if isinstance(problem, SettingsError):
        return Failure("SettingsInvalid", str(problem), since)
    if not problem.is_fatal:
        return Failure("HubUnreachable", str(problem), since)
    is_unknown = any(words in str(problem) for words in _NOT_THERE)
    reason = "HubUnknown" if is_unknown else "HubDenied"
    return Failure(reason, str(problem), since)


async def ends_of(source: EndingSource, partitions: Sequence[PartitionId]) -> Ends:
    """One round of questions."""

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
    """One source, and the newest that it said."""

    setup: Setup
    ends: Ends | None = None
    failure: Failure | None = None
    asked_at: float = float("-inf")
    asking: asyncio.Task[None] | None = None
    # Whose source it is; of them, who waits for its answer, and who sleeps.
    groups: set[GroupKey] = field(default_factory=set)
    waiting: set[GroupKey] = field(default_factory=set)
    asleep: set[GroupKey] = field(default_factory=set)
    # The ledger as it was seen last.
    listing: Listing | None = None

    def places(self) -> dict[PartitionId, int | None]:
        """Where each partition ended, as it was said last."""
        said = self.ends.partitions.items() if self.ends is not None else ()
        return {partition: end.sequence if end is not None else None for partition, end in said}

    def without(self, key: GroupKey) -> None:
        for keys in (self.groups, self.waiting, self.asleep):
            keys.discard(key)


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
        self._shelves: dict[_Place, _Shelf] = {}
        self._places: dict[GroupKey, _Place] = {}

    def look(
        self,
        key: GroupKey,
        setup: Setup,
        *,
        is_anybody_alive: bool,
        is_asleep: bool = False,
        listing: Listing | None = None,
        unread_since: float | None = None,
        is_missed: bool = False,
    ) -> tuple[Ends | None, Failure | None]:
        """The newest that the source said, which is asked again if it is time.

        The listing says where a group stands in a container, behind which that is asked.
        `unread_since` is the time at which a partition lost its reader: an older answer does not
        count for it. `is_missed` means that a member should read it now.
        """
        shelf = self._shelf(key, setup)
        shelf.listing = listing or shelf.listing
        every_s = _SELDOM_S if is_anybody_alive else self._settings.ends_every_s
        if shelf.failure is not None or unread_since is not None:
            every_s = self._settings.ends_every_s
        if (is_asleep and not is_anybody_alive) or is_missed:
            shelf.asleep.add(key)
        else:
            shelf.asleep.discard(key)
        # An answer out of the future is one before the clock was set back.
        is_due = not 0.0 <= self._now() - shelf.asked_at < every_s
        is_due |= unread_since is not None and shelf.asked_at < unread_since
        if is_due:
            shelf.waiting.add(key)
        if shelf.asking is None and (is_due or key in shelf.asleep):
            shelf.asking = asyncio.create_task(self._ask(shelf), name=f"ends for {key}")
        return shelf.ends, shelf.failure

    def forget(self, key: GroupKey) -> None:
        place = self._places.pop(key, None)
        shelf = self._shelves.get(place) if place is not None else None
        if place is None or shelf is None:
            return
        shelf.without(key)
        if not shelf.groups:
            del self._shelves[place]
            if shelf.asking is not None:
                shelf.asking.cancel()

    async def close(self) -> None:
        asking = [shelf.asking for shelf in self._shelves.values() if shelf.asking is not None]
        for key in list(self._places):
            self.forget(key)
        await asyncio.gather(*asking, return_exceptions=True)

    def _shelf(self, key: GroupKey, setup: Setup) -> _Shelf:
        """That of this group's source."""
        place = _place_of(setup)
        before = self._places.get(key)
        if before != place:
            known = self._shelves.get(before) if before is not None else None
            self.forget(key)
            self._places[key] = place
            if place not in self._shelves:
                # Other credentials make no other partitions.
                self._shelves[place] = _Shelf(setup, ends=known.ends if known else None)
            self._shelves[place].groups.add(key)
        return self._shelves[place]

    async def _ask(self, shelf: _Shelf) -> None:
        """Once, or for as long as a group sleeps."""
        try:
            await self._try(shelf)
            while shelf.asleep:
                await asyncio.sleep(2 * self._settings.asleep_every_s)
                await self._try(shelf)
        finally:
            shelf.asking = None

    async def _try(self, shelf: _Shelf) -> None:
        """Over one connection."""
        try:
            self._check(shelf.setup)
            async with AsyncExitStack() as stack:
                source = await open_source(shelf.setup, stack, lambda _: None)
                stack.push_async_callback(source.close)
                await self._watch(shelf, source)
        except (SourceError, SettingsError) as problem:
            before = shelf.failure
            shelf.failure = failure_of(problem, before.since if before else self._now())
            self._noted(shelf, is_new=shelf.failure != before)

    def _check(self, setup: Setup) -> None:
        """Whether the operator may ask, and can. Raises SettingsError and SourceError."""
        hosts, source = self._settings.identity_hosts, setup.group.spec.source
        if source.cosmos is not None:
            if source.cosmos.endpoint is not None and not setup.account_key:
                check("spec.source.cosmos.endpoint", source.cosmos.endpoint, hosts.cosmos)
            return
        spec = source.hubs
        if spec.namespace is not None:
            check("spec.source.eventHubs.namespace", spec.namespace, hosts.hubs)
        lacking = lacking_file(spec.ca_file, "spec.source.eventHubs.caFile")
        if lacking:
            # The members may well have it: only the operator cannot ask.
            raise SourceError(lacking)

    async def _watch(self, shelf: _Shelf, source: EndingSource) -> None:
        """Asks, and asks again as long as a group sleeps. Raises SourceError."""
        partitions: tuple[PartitionId, ...] = ()
        list_at = float("-inf")
        while True:
            before, was_well = shelf.places(), shelf.failure is None
            async with self._room:
                if not 0.0 <= list_at - self._now() <= _LISTED_S:
                    partitions, list_at = await source.partitions(), self._now() + _LISTED_S
                ends = await _ends(shelf, source, partitions)
                if not any(ends.partitions.values()):
                    # Whether it is the hub that does not answer, and why.
                    await source.partitions()
                shelf.ends = ends
            shelf.failure = None
            self._noted(shelf, is_new=not was_well or shelf.places() != before)
            if not shelf.asleep:
                return
            await asyncio.sleep(self._settings.asleep_every_s)
            if not shelf.asleep:
                return

    def _noted(self, shelf: _Shelf, *, is_new: bool) -> None:
        """An answer is there, whatever it is. What is new is for those who sleep, too."""
        shelf.asked_at = self._now()
        waiting, shelf.waiting = shelf.waiting, set()
        for key in sorted(waiting | shelf.asleep if is_new else waiting):
            self._changed(key)


async def _ends(shelf: _Shelf, source: EndingSource, partitions: tuple[PartitionId, ...]) -> Ends:
    spec = shelf.setup.group.spec.source.cosmos
    if spec is None:
        return await ends_of(source, partitions)
    # Imported here: only who has such a group pays for the SDK.
    from tidegate_operator.containers import ends_of_container  # noqa: PLC0415

    return await ends_of_container(cast(Any, source), partitions, shelf.listing, spec.start)


def _place_of(setup: Setup) -> _Place:
    if setup.group.spec.source.cosmos is not None:
        # What waits is counted behind a group's own checkpoints.
        return (setup.names.prefix, setup.address, setup.account_key, setup.group.spec.source)
    spec = setup.group.spec.source.hubs
    return (
        setup.address, spec.hub, spec.namespace, spec.transport, spec.web_sockets, spec.ca_file,
    )  # fmt: skip
