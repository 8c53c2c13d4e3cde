"""Spark without Spark: a planner and workers, played by the client of the desk and a real reader.

    async with played_spark(group, environment) as spark:
        spark.office.follow(["1"])
        await spark.until_held(4)
        await spark.batch()              # plan, begin, read, report, done
        spark.handled                    # what was in batches that were done: partition -> numbers

Rules: what is read of a turn counts as handled only when its batch was told to be done.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.wait import wait_until_async
from tidegate.commands import wiring
from tidegate.model import PartitionId
from tidegate.ops.observer import Fact, Observer, Reported
from tidegate.ports import StolenError
from tidegate.sources.cosmos.change import Change
from tidegate.sources.eventhubs import NativeSource
from tidegate.sources.native.event import Event
from tidegate.spark.desk_client import DeskClient, Offset
from tidegate.spark.feed_fetching import stretch_of
from tidegate.spark.office import Office
from tidegate.spark.positions import Batch, Turn, TurnRead, batch_from
from tidegate.spark.source_place import place_of

Numbers = dict[PartitionId, list[int]]


class Heard(Observer):
    """Keeps all facts."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def hear(self, fact: Fact) -> None:
        self.facts.append(fact)

    def reports(self, kind: str) -> list[str]:
        return [
            f"{fact.report.partition}: {fact.report.message}"
            for fact in list(self.facts)
            if isinstance(fact, Reported) and fact.report.kind == kind
        ]


@dataclass
class PlayedSpark:
    """See the module. Made by `played_spark`."""

    office: Office
    heard: Heard
    desk: DeskClient
    source: Any
    handled: dict[PartitionId, list[int]] = field(default_factory=lambda: defaultdict(list))
    read: Numbers = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)

    # --- the planner

    async def plan(self, **limits: Any) -> Offset | None:
        planned = await asyncio.to_thread(lambda: self.desk.plan(**limits))
        return planned.offset

    async def begin(self, offset: Mapping[str, Any]) -> Batch:
        batch = batch_from(await asyncio.to_thread(self.desk.begin, offset))
        self.read = {}
        self.batches.append(batch)
        return batch

    async def next_batch(self, **limits: Any) -> Batch | None:
        """The next batch, begun; None where there is nothing to read now."""
        offset = await self.plan(**limits)
        return None if offset is None else await self.begin(offset)

    # --- the workers

    async def read_all(self, batch: Batch) -> None:
        for turn in batch.turns.values():
            await self.read_turn(batch, turn)

    async def read_turn(self, batch: Batch, turn: Turn) -> bool:
        """Reads a turn and reports it; False where the hub refused it."""
        begun_at = time.monotonic()
        events: list[Event] = []
        reader = self.source.reader(turn.partition, turn.after, turn.epoch)
        try:
            await reader.open()
            async with asyncio.timeout(60):
                while not events or events[-1].position.sequence < turn.to:
                    came = await reader.receive()
                    events += came
                    if not came and await self.is_gone(turn):
                        break
        except StolenError as error:
            await asyncio.to_thread(
                self.desk.stolen, batch.number, turn.partition, turn.epoch, error.level
            )
            return False
        finally:
            await reader.close()
        events = [event for event in events if event.position.sequence <= turn.to]
        self.read[turn.partition] = [json.loads(event.content)["n"] for event in events]
        first = events[0].position.sequence if events else turn.after.sequence + 1
        last = events[-1].position if events else turn.after
        read = TurnRead(
            batch.number,
            turn.partition,
            turn.epoch,
            last.offset,
            last.sequence,
            events[-1].enqueued_at if events else None,
            len(events),
            sum(event.size for event in events),
            time.monotonic() - begun_at,
            first - turn.after.sequence - 1,
        )
        await asyncio.to_thread(self.desk.report, read)
        return True

    async def is_gone(self, turn: Turn) -> bool:
        """Whether retention has taken all of a turn."""
        return ((await self.source.end(turn.partition)).begins_at or 0) > turn.to

    # --- the driver

    async def done(
        self, batch: Batch, states: Mapping[PartitionId, bytes | None] | None = None
    ) -> None:
        still = await self.call(self.office.turns)
        await asyncio.to_thread(self.office.done, batch.number, states)
        for partition, numbers in self.read.items():
            if partition in still:
                self.handled[partition] += numbers

    async def failed(self, batch: Batch, error: str = "no", **more: Any) -> None:
        await asyncio.to_thread(lambda: self.office.failed(batch.number, error, **more))

    async def batch(
        self, fails: Callable[[PartitionId, int], bool] | None = None, **limits: Any
    ) -> Batch | None:
        """One batch from beginning to end; it fails where it has an event that `fails`."""
        batch = await self.next_batch(**limits)
        if batch is None:
            return None
        await self.read_all(batch)
        bad = [(p, n) for p, numbers in self.read.items() for n in numbers if fails and fails(p, n)]
        if bad:
            await self.failed(batch, f"ValueError: {bad[0]} is bad")
        else:
            await self.done(batch)
        return batch

    async def until_handled(self, count: int, **options: Any) -> None:
        """Batch after batch, until so many events are handled."""
        async with asyncio.timeout(120):
            while sum(map(len, self.handled.values())) < count:
                if await self.batch(**options) is None:
                    await asyncio.sleep(0.05)

    # --- what is seen

    async def call(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(ask, *arguments)

    def held(self) -> dict[str, int]:
        """How many partitions each member holds."""
        return dict(self.office.figures().held)

    async def until_held(self, *counts: int, seconds: float = 60) -> None:
        """Until members hold so many partitions, in any order."""
        wanted = sorted(counts)
        await wait_until_async(
            lambda: sorted(self.held().values()) == wanted,
            seconds,
            f"members to hold {wanted}",
            detail=lambda: (self.held(), self.office.figures()),
        )

    def counts(self) -> Counter[tuple[PartitionId, int]]:
        """How often each event was handled."""
        return Counter((p, number) for p, numbers in self.handled.items() for number in numbers)


class PlayedOnContainer(PlayedSpark):
    """The same, on a container."""

    async def read_turn(self, batch: Batch, turn: Turn) -> bool:
        stretch = await stretch_of(self.source, turn)
        changes: list[Change] = []
        async with asyncio.timeout(60):
            while not stretch.is_over:
                changes += await stretch.next()
        self.read[turn.partition] = [change["n"] for change in changes]
        at = stretch.place.position
        read = TurnRead(
            batch.number,
            turn.partition,
            turn.epoch,
            at.offset,
            at.sequence,
            changes[-1].enqueued_at if changes else None,
            len(changes),
            sum(change.size for change in changes),
            units=1.5,
        )
        await asyncio.to_thread(self.desk.report, read)
        return True


@contextlib.asynccontextmanager
async def played_spark(
    file: Path, environment: Mapping[str, str], *, name: str = "driver", scratch: Path | None = None
) -> AsyncIterator[PlayedSpark]:
    """An office without members, and what asks it."""
    setup = wiring.set_up(file, environment)
    heard = Heard()
    office = Office(setup, name, observer=heard, scratch=scratch)
    await asyncio.to_thread(office.start)
    place = place_of(setup)
    source = place.source()
    try:
        with DeskClient(office.address, office.token) as desk:
            kind = PlayedSpark if isinstance(source, NativeSource) else PlayedOnContainer
            yield kind(office, heard, desk, source)
    finally:
        await source.close()
        await asyncio.to_thread(office.stop, 5.0)
