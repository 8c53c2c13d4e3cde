"""The port between what reads a partition and what is done with its events.

Rules:
- A PartitionHandler lives from one opening of a reader to its end; the next opening has a new one.
- What is told as an Outcome is handled for good, or put aside as a dead letter: nothing before its
  position is read again, unless the process ends before a checkpoint is written.
- Position and state of an Outcome belong together: the state holds what came up to that position
  and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tidegate.delivery.letters import DeadLetter
from tidegate.model import PartitionId, Position
from tidegate.ports import SourceEvent

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Opening:
    """A partition that is ours to read: from behind a position, with the state there."""

    partition: PartitionId
    position: Position
    epoch: int
    state: bytes | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a partition is handled, and the state there."""

    position: Position
    enqueued_at: float | None = None
    state: bytes | None = None
    # A checkpoint shall be written now rather than when its time comes.
    is_due: bool = False


class Close(StrEnum):
    """Why a partition is read no more: what `on_close` is told."""

    GIVEN = "given"  # a hand-over, or the end of the process; all that was handled is checkpointed
    DROPPED = "dropped"  # the lease is lost or in doubt, or a rewind is carried out
    STOLEN = "stolen"  # the source gave the partition to a higher epoch
    FAILED = "failed"  # the source could not be read


class HungError(Exception):
    """The handler was told to stop and does not come back: the partition is given away.

    `on_return` takes what shall be called once it comes back after all.
    """

    def __init__(self, message: str, on_return: Callable[[Callable[[], None]], None]) -> None:
        super().__init__(message)
        self.on_return = on_return


class PartitionHandler(Protocol):
    """What is done with the events of one partition."""

    @property
    def wake_at(self) -> float:
        """When `handle` is to be called again, with no events if there are none; or NEVER."""

    async def open(self) -> None:
        """Before the first event."""

    async def handle(self, events: Sequence[SourceEvent]) -> None:
        """Takes events, which may be none; tells Outcomes. Raises HungError."""

    def finish(self) -> None:
        """Ends what is begun and begins nothing more: `handle` returns as soon as it can."""

    def checkpointed(self, position: Position) -> None:
        """A checkpoint stands."""

    async def close(self, reason: Close) -> None:
        """After the last event. Outcomes told here still count where the reason is `given`."""


class DeadLetterError(Exception):
    """A dead letter could not be written, read or removed now; the message says why."""


class DeadLetters(Protocol):
    """Where events are put aside."""

    async def put(self, letter: DeadLetter) -> str:
        """Writes a letter, once or again; gives where it is. Raises DeadLetterError."""

    async def close(self) -> None: ...


Tell = Callable[[Outcome], None]
NewHandler = Callable[[Opening, Tell], PartitionHandler]
Handle = Callable[[PartitionId, Sequence[SourceEvent]], Awaitable[None]]


class _EachBatch:
    """Hands over what the source gives, as it gives it."""

    wake_at = NEVER

    def __init__(self, handle: Handle, opening: Opening, tell: Tell) -> None:
        self._handle = handle
        self._opening = opening
        self._tell = tell

    async def open(self) -> None:
        pass

    async def handle(self, events: Sequence[SourceEvent]) -> None:
        if events:
            last = events[-1]
            await self._handle(self._opening.partition, events)
            self._tell(Outcome(last.position, last.enqueued_at, self._opening.state))

    def finish(self) -> None:
        pass

    def checkpointed(self, position: Position) -> None:
        pass

    async def close(self, reason: Close) -> None:
        pass


def each_batch(handle: Handle) -> NewHandler:
    """Handlers that call one function with whatever the source gives; a state stays as it is."""

    def new_handler(opening: Opening, tell: Tell) -> PartitionHandler:
        return _EachBatch(handle, opening, tell)

    return new_handler
