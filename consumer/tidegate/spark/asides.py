"""Puts one event aside: reads it again, writes it as a dead letter, and passes it.

Rules:
- Its partition is not given away meanwhile, as during a batch.
- A letter that cannot be written is written again, for ever: nothing is dropped.
- An event that is gone by then, because retention took it, is passed without a letter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

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
from tidegate.spark.held import HeldPartition
from tidegate.spark.positions import Turn
from tidegate.spark.searching import Suspect
from tidegate.spark.telling import Telling
from tidegate.spark.tools import Tools
from tidegate.spark.turns import BatchError

_READ_S = 20.0


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
            event = await self._until_written(held, suspect, turn)
            if held.turn is turn:
                if event is not None:
                    held.advance(event.position, event.enqueued_at, held.state)
                self._telling.over(held)
                self._passed(suspect, held.position)
        except StolenError as error:
            self._stolen(held.partition, held.epoch, error.level)
        finally:
            held.batch_over()

    async def _until_written(
        self, held: HeldPartition, suspect: Suspect, turn: Turn
    ) -> SourceEvent | None:
        """The event, once its letter is written; None where it is gone. Raises StolenError."""
        tries, policy = 0, self._tools.policy
        error = PipelineError(suspect.error)
        failure = Failure(error, suspect.failures, held.holder.name, self._tools.wall())
        while True:
            try:
                event = await self._read(turn)
                if event is not None:
                    await self._write(
                        held, letter_of(turn.partition, cast(WholeEvent, event), failure)
                    )
                return event
            except (DeadLetterError, SourceError) as problem:
                tries += 1
                said = f"event {turn.to} cannot be put aside: {problem}. It is tried again."
                self._telling.report(held, "dead-letter-failed", said)
                await asyncio.sleep(policy.backoff.pause_s(tries, self._tools.dice()))

    async def _write(self, held: HeldPartition, letter: DeadLetter) -> None:
        where = await self._letters.put(letter)
        self.count += 1
        self._telling.put_aside(held, 1, where, f"{letter.id}: {letter.error}")

    async def _read(self, turn: Turn) -> SourceEvent | None:
        """The event of a turn of one. Raises SourceError and StolenError."""
        hub = self._tools.hub
        reader = hub.reader(turn.partition, turn.after, turn.epoch)
        try:
            async with asyncio.timeout(_READ_S):
                await reader.open()
                while True:
                    events = await reader.receive()
                    if events:
                        is_it = events[0].position.sequence <= turn.to
                        return events[0] if is_it else None
                    end = await hub.end(turn.partition)
                    if end.begins_at is not None and end.begins_at > turn.to:
                        return None
        except TimeoutError as error:
            raise SourceError(f"it did not come within {_READ_S:g} s") from error
        finally:
            await reader.close()
