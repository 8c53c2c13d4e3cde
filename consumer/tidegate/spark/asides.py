"""Puts one event aside: reads it again, writes it as a dead letter, and passes it.

Rules:
- Its partition is not given away meanwhile, as during a batch.
- A letter that cannot be written is written again, for ever: nothing is dropped.
- An event that is gone by then, because retention took it, is passed without a letter.
- Of a change feed it is one LSN: the changes of one transaction each have a letter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, cast

from tidegate.delivery.letters import (
    DeadLetter,
    Failure,
    LetterError,
    WholeEvent,
    decode_letter,
    letter_of,
)
from tidegate.handling import DeadLetterError, DeadLetters
from tidegate.model import PartitionId, Position
from tidegate.ports import SourceError, SourceEvent, StolenError
from tidegate.spark.feed_fetching import stretch_of
from tidegate.spark.held import HeldPartition
from tidegate.spark.positions import Turn
from tidegate.spark.searching import Suspect
from tidegate.spark.telling import Telling
from tidegate.spark.tools import Tools
from tidegate.spark.turns import BatchError

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

_READ_S = 20.0


class _Read(NamedTuple):
    """What was read of a turn of one, and the position behind it; None where it does not move."""

    events: tuple[SourceEvent, ...]
    position: Position | None
    enqueued_at: float | None


class PipelineError(Exception):
    """What the pipeline said of events that it could not handle."""


class Asides:
    """See the module. `passed` is told where a partition stands after its suspect, `stolen` of a
    partition that the hub gave to a higher epoch than this one."""

    def __init__(
        self,
        tools: Tools,
        letters: DeadLetters,
        telling: Telling,
        passed: Callable[[Suspect, Position], None],
        stolen: Callable[[PartitionId, int, int | None], None],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.count = 0
        self._tools = tools
        self._letters = letters
        self._telling = telling
        self._passed = passed
        self._stolen = stolen
        self._tasks = tasks
        self._under_way: set[asyncio.Task[None]] = set()

    def begin(self, held: HeldPartition, suspect: Suspect) -> None:
        """Puts the one event of a suspect aside, however long that takes."""
        turn = replace(suspect.turns[0], epoch=held.epoch, after=held.position)
        held.grant(turn)
        task = self._tasks.create_task(self._pass_by(held, suspect, turn))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def end(self) -> None:
        """What is not put aside by now is left to the next owner."""
        for task in self._under_way:
            task.cancel()

    async def put(self, letter: str, held: Mapping[PartitionId, HeldPartition]) -> None:
        """Writes the letter of a worker. Raises BatchError and DeadLetterError."""
        try:
            made = decode_letter(letter.encode(errors="replace"))
        except LetterError as error:
            raise BatchError(str(error)) from None
        holder = held.get(made.partition)
        if holder is None:
            raise BatchError(f"partition {made.partition} is not held here any more")
        await self._write(holder, replace(made, member=holder.holder.name))

    async def _pass_by(self, held: HeldPartition, suspect: Suspect, turn: Turn) -> None:
        try:
            read = await self._until_written(held, suspect, turn)
            if held.turn is turn:
                if read.position is not None:
                    held.advance(read.position, read.enqueued_at, held.state)
                self._telling.over(held)
                self._passed(suspect, held.position)
        except StolenError as error:
            self._stolen(held.partition, held.epoch, error.level)
        finally:
            held.batch_over()

    async def _until_written(self, held: HeldPartition, suspect: Suspect, turn: Turn) -> _Read:
        """What there was, once its letters are written. Raises StolenError."""
        tries, policy = 0, self._tools.policy
        error = PipelineError(suspect.error)
        failure = Failure.of(error, suspect.failures, held.holder.name, self._tools.wall())
        while True:
            try:
                read = await self._read(turn)
                for event in read.events:
                    letter = letter_of(turn.partition, cast(WholeEvent, event), failure)
                    await self._write(held, letter)
                return read
            except (DeadLetterError, SourceError) as problem:
                tries += 1
                said = f"event {turn.to} cannot be put aside: {problem}. It is tried again."
                self._telling.report(held, "dead-letter-failed", said)
                await asyncio.sleep(policy.backoff.pause_s(tries, self._tools.dice()))

    async def _write(self, held: HeldPartition, letter: DeadLetter) -> None:
        where = await self._letters.put(letter)
        self.count += 1
        self._telling.put_aside(held, 1, where, f"{letter.id}: {letter.error}")

    async def _read(self, turn: Turn) -> _Read:
        """What a turn of one has. Raises SourceError and StolenError."""
        try:
            async with asyncio.timeout(_READ_S):
                if turn.ends:
                    return await self._read_changes(turn)
                event = await self._read_event(turn)
        except TimeoutError as error:
            raise SourceError(f"it did not come within {_READ_S:g} s") from error
        if event is None:
            return _Read((), None, None)
        return _Read((event,), event.position, event.enqueued_at)

    async def _read_event(self, turn: Turn) -> SourceEvent | None:
        """The event; None where it is gone. Raises SourceError and StolenError."""
        hub = self._tools.source
        reader = hub.reader(turn.partition, turn.after, turn.epoch)
        try:
            await reader.open()
            while True:
                events = await reader.receive()
                if events:
                    is_it = events[0].position.sequence <= turn.to
                    return events[0] if is_it else None
                end = await hub.end(turn.partition)
                if end.begins_at is not None and end.begins_at > turn.to:
                    return None
        finally:
            await reader.close()

    async def _read_changes(self, turn: Turn) -> _Read:
        """All changes of one LSN: those of one transaction, or none where it was written again.

        Raises SourceError.
        """
        stretch = await stretch_of(cast("CosmosSource", self._tools.source), turn)
        found: list[SourceEvent] = []
        while not stretch.is_over:
            found += await stretch.next()
        at = found[-1].enqueued_at if found else None
        return _Read(tuple(found), stretch.place.position, at)
