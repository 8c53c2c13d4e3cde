"""Partitions that a member of ours owns and Spark reads: ordinary readers, as far as Runtime sees.

HeldSource is the source of all our members. What it says of partitions and starts is the hub's; its
readers attach to nothing, because the workers of executors do. HeldPartition is what stands for the
handler: it is granted a turn, and is told how far that was read and what its state is then.

Rules:
- All of it is on the office's loop: granting a turn and giving a partition away cannot cross.
- A partition is given away between batches: asked to finish, it takes no new turn and waits for the
  one under way, whose outcome is told first. Dropped or stolen, nothing of the turn is told.
- A batch that takes too long is a handler that hangs: its partitions are left to others, and come
  back once it has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tidegate.delivery.policy import Policy
from tidegate.handling import NEVER, Close, HungError, Opening, Outcome, Tell
from tidegate.model import MemberName, PartitionEnd, PartitionId, Position, Rewind
from tidegate.ops.observer import Observer
from tidegate.ports import Source, SourceEvent, StolenError
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.spark.positions import Turn
from tidegate.spark.turns import Place

# A reader gives a sign of life this often, as one of a quiet partition does.
_SIGN_EVERY_S = 1.0


class HeldReader:
    """Reads nothing. Ends where the hub gave the partition to a higher epoch."""

    def __init__(self, source: HeldSource, partition: PartitionId, epoch: int) -> None:
        self.epoch = epoch
        self._source = source
        self._partition = partition
        self._stolen: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        self._source.readers[self._partition] = self

    async def receive(self) -> Sequence[SourceEvent]:
        """None, again and again. Raises StolenError."""
        await asyncio.wait([self._stolen], timeout=_SIGN_EVERY_S)
        if self._stolen.done():
            raise StolenError(
                f"partition {self._partition}: the hub gave it to a higher epoch than "
                f"{self.epoch} while a worker read it",
                self._stolen.result(),
            )
        return ()

    async def close(self) -> None:
        if self._source.readers.get(self._partition) is self:
            del self._source.readers[self._partition]

    def steal(self, level: int | None) -> None:
        """The hub refused a worker."""
        if not self._stolen.done():
            self._stolen.set_result(level)

    @property
    def known_end(self) -> PartitionEnd | None:
        return self._source.ends.get(self._partition)


class HeldSource:
    """See the module. `ends` is what the hub said last; the hub is closed by who made it."""

    def __init__(self, hub: Source, ends: Mapping[PartitionId, PartitionEnd]) -> None:
        self._hub = hub
        self.ends = ends
        # Of partitions that come and go: how, and when a look at them is worth its price.
        self.lineage: Lineage = getattr(hub, "lineage", FLAT)
        self.hurry: asyncio.Event = getattr(hub, "hurry", asyncio.Event())
        self.readers: dict[PartitionId, HeldReader] = {}

    async def partitions(self) -> tuple[PartitionId, ...]:
        return await self._hub.partitions()

    async def check_unread(self, partition: PartitionId) -> None:
        await self._hub.check_unread(partition)

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        return await self._hub.resolve_start(partition, rewind)

    def reader(self, partition: PartitionId, position: Position, epoch: int) -> HeldReader:  # noqa: ARG002
        return HeldReader(self, partition, epoch)

    async def close(self) -> None:
        """Nothing: each member closes its source, and this one is all members'."""

    def steal(self, partition: PartitionId, epoch: int, level: int | None) -> bool:
        """A worker was refused under this epoch. False where that is an old story."""
        reader = self.readers.get(partition)
        if reader is None or reader.epoch != epoch:
            return False
        reader.steal(level)
        return True


@dataclass(frozen=True, slots=True)
class Holder:
    """The member that holds a partition, and who listens to it."""

    name: MemberName
    observer: Observer


class HeldPartition:
    """See the module. One from each opening of a reader to its end."""

    def __init__(
        self,
        opening: Opening,
        tell: Tell,
        holder: Holder,
        held: dict[PartitionId, HeldPartition],
        policy: Policy,
        clock: Callable[[], float],
    ) -> None:
        self.partition = opening.partition
        self.epoch = opening.epoch
        self.position = opening.position
        self.state = opening.state
        # The position of the last checkpoint that is known to stand.
        self.stands = opening.position
        self.holder = holder
        self._tell = tell
        self._held = held
        self._limit_s = policy.timeout_s
        self._budget = policy.checkpoint.duplicate_budget
        # As with Python's handlers: with a budget, a checkpoint is asked for at half of it.
        half = None if self._budget is None else max(self._budget // 2, 1)
        self._due_every = policy.checkpoint.every_events or half
        self._since_due = 0
        self._clock = clock
        self.turn: Turn | None = None
        self._begun_at = 0.0
        self._ended = asyncio.Event()
        self.is_finishing = False
        self._is_hung = False
        self._returned: list[Callable[[], None]] = []

    # --- the handler's port

    @property
    def wake_at(self) -> float:
        """At once while a turn is under way: then `handle` waits for it, with signs of life."""
        return NEVER if self.turn is None else 0.0

    async def open(self) -> None:
        # No await from here until receiving begins: it is held as soon as it can be granted.
        self._held[self.partition] = self

    async def handle(self, events: Sequence[SourceEvent]) -> None:  # noqa: ARG002
        """Waits for the end of the turn under way. Raises HungError."""
        while self.turn is not None:
            try:
                async with asyncio.timeout(self._begun_at + self._limit_s - self._clock()):
                    await self._ended.wait()
            except TimeoutError:
                self._is_hung = True
                raise HungError(
                    f"the batch that reads it did not end within {self._limit_s:g} s. Give the "
                    "batch less (spec.spark.maxEvents) or longer (spec.delivery.timeoutSeconds).",
                    self._on_return,
                ) from None

    def finish(self) -> None:
        self.is_finishing = True

    def checkpointed(self, position: Position) -> None:
        self.stands = position

    async def close(self, reason: Close) -> None:  # noqa: ARG002
        # `handle` has waited where it is given away: then no turn is under way.
        self.void()
        if self._held.get(self.partition) is self:
            del self._held[self.partition]

    # --- the office

    @property
    def place(self) -> Place:
        room = None
        if self._budget is not None:
            room = max(self._budget - (self.position.sequence - self.stands.sequence), 0)
        is_free = self.turn is None and not self.is_finishing
        return Place(self.partition, self.epoch, self.position, self.holder.name, is_free, room)

    def grant(self, turn: Turn) -> None:
        """A turn of it is under way."""
        self.turn, self._begun_at = turn, self._clock()
        self._ended.clear()

    def advance(self, position: Position, enqueued_at: float | None, state: bytes | None) -> None:
        """All up to a position is handled, and the state there is this. For what is ours still."""
        self.void()
        if position == self.position and state == self.state:
            return
        self._since_due += max(position.sequence - self.position.sequence, 0)
        is_due = self._due_every is not None and self._since_due >= self._due_every
        self._since_due = 0 if is_due else self._since_due
        self.position, self.state = position, state
        self._tell(Outcome(position, enqueued_at, state, is_due))

    def void(self) -> None:
        """The turn under way, if there is one, is over."""
        self.turn = None
        self._ended.set()

    def batch_over(self) -> None:
        """The batch of the turn that it was granted has ended, however."""
        self.void()
        returned, self._returned = self._returned, []
        self._is_hung = False
        for each in returned:
            each()

    def _on_return(self, call: Callable[[], None]) -> None:
        if self._is_hung:
            self._returned.append(call)
        else:
            # After it was told that it hangs.
            asyncio.get_running_loop().call_soon(call)
