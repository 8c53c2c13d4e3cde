"""Learns how far our partitions have come, and has the member announce figures and loads.

Rules:
- What the source says with its events costs no call and is taken first, twice a second: what comes
  all at once is to be told before it has waited for long. A partition of which it
  has said nothing for 5 s is asked for by itself, and each once a minute for where it begins, so
  that what retention takes is noticed.
- What cannot be asked is not told, and holds up no other partition: its reader says why.
- What is announced is in the ledger and in the group's status, for many to see: without secrets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from tidegate.member.messages import Report
from tidegate.model import PartitionEnd, PartitionId
from tidegate.ops.board import Board, Place
from tidegate.ops.costs import Costs
from tidegate.ops.meter import Meter
from tidegate.ops.observer import EndKnown, Observer, UnitsSpent
from tidegate.ports import SourceError
from tidegate.runtime import Runtime
from tidegate.sources.choose import EndingSource

END_EVERY_S = 5.0
BEGIN_EVERY_S = 60.0
_LOOK_S = 0.5


def is_to_ask(place: Place, asked_at: float, now: float) -> bool:
    """Whether a call is worth its price: `asked_at` is when the last one was made."""
    if not place.is_ours:
        return False
    if asked_at < place.opened_at:
        return True
    is_old = place.end is None or now - place.end_at >= END_EVERY_S
    return now - asked_at >= (END_EVERY_S if is_old else BEGIN_EVERY_S)


def end_fact(partition: PartitionId, end: PartitionEnd, now: float, wall: float) -> EndKnown:
    """`now` and `wall` are one moment: facts are told by the monotonic clock."""
    at = min(now - (wall - end.known_at), now)
    return EndKnown(at, partition, end.sequence, end.enqueued_at, end.begins_at)


class Losses:
    """Reports of what retention took: each loss once."""

    def __init__(self) -> None:
        self._said: dict[PartitionId, int] = {}

    def reports(self, places: Mapping[PartitionId, Place]) -> list[Report]:
        return [
            self._report(partition, place)
            for partition, place in places.items()
            if place.lost is not None and self._said.get(partition) != place.lost.begins_at
        ]

    def _report(self, partition: PartitionId, place: Place) -> Report:
        assert place.lost is not None
        first, begins_at = place.lost.first, place.lost.begins_at
        self._said[partition] = begins_at
        return Report(
            "events-lost",
            partition,
            f"events {first} to {begins_at - 1} are gone: retention has passed them before they "
            f"were handled. Reading goes on at {begins_at}. Add members, make the handler faster, "
            "or keep events longer.",
        )


class Ends:
    """Tells the observer where our partitions end."""

    def __init__(
        self,
        source: EndingSource,
        runtime: Runtime,
        board: Board,
        observer: Observer,
        report: Callable[[Report], None],
    ) -> None:
        self._source = source
        self._runtime = runtime
        self._board = board
        self._observer = observer
        self._report = report
        self._asked_at: dict[PartitionId, float] = {}
        self._said_freely: dict[PartitionId, PartitionEnd] = {}
        self._losses = Losses()

    async def tell(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for partition, end in self._runtime.known_ends().items():
                    if self._said_freely.get(partition) != end:
                        self._said_freely[partition] = end
                        self._hear(partition, end)
                now = time.monotonic()
                for partition, place in list(self._board.places.items()):
                    if is_to_ask(place, self._asked_at.get(partition, float("-inf")), now):
                        self._asked_at[partition] = now
                        tasks.create_task(self._ask(partition))
                for report in self._losses.reports(self._board.places):
                    self._report(report)
                await asyncio.sleep(_LOOK_S)

    async def _ask(self, partition: PartitionId) -> None:
        try:
            end = await self._source.end(partition)
        except SourceError:
            return
        self._hear(partition, end)

    def _hear(self, partition: PartitionId, end: PartitionEnd) -> None:
        self._observer.hear(end_fact(partition, end, time.monotonic(), time.time()))


async def tell_units(observer: Observer, spent: Mapping[str, Callable[[], float]]) -> None:
    """For ever: what Cosmos DB has cost since it was told last, by what it was spent on."""
    told = dict.fromkeys(spent, 0.0)
    while True:
        await asyncio.sleep(_LOOK_S)
        for on, of in spent.items():
            now = of()
            if now > told[on]:
                observer.hear(UnitsSpent(on, now - told[on]))
                told[on] = now


async def tell_figures(
    runtime: Runtime, board: Board, meter: Meter, every_s: float, hide: Callable[[str], str]
) -> None:
    """For ever, and every so often the loads: the member decides what is worth an announcement.

    `hide` takes secrets out of what is told; user code may have put them there.
    """
    costs, weigh_at = Costs(board.name), time.monotonic() + every_s
    while True:
        await asyncio.sleep(_LOOK_S)
        now = time.monotonic()
        figures = MappingProxyType(meter.figures(now, time.time()))
        unread, trouble = meter.unread(now)
        circuits = meter.open_circuits()
        runtime.measured(figures, meter.stuck(), unread, hide(trouble), circuits)
        if now < weigh_at:
            continue
        weigh_at = now + every_s
        loads = costs.loads(meter.works(now), board.listing, now)
        if loads:
            runtime.weighed(loads)
