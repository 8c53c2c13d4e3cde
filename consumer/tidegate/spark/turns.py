"""Which batch is read next, and what became of it. Pure: times and dice are passed in.

    batch = turns.plan(places, ends, limit, now)      # promises nothing
    batch = turns.begin(batch, places)                # its turns are under way
    turns.report(read)                                # a worker, for each turn, once or again
    reads = turns.done(batch.number, still)           # or turns.failed(...)

Rules:
- One batch at a time. What was planned and not begun binds nobody; what was begun and neither done
  nor failed when the next one begins is given up: nothing of it counts.
- A turn is begun only where its partition is held, free, and stands where the turn begins. So a
  batch that Spark kept from an earlier life is read where that is right, and left out elsewhere.
- A batch is done only if every turn of it that is still ours was read to its end.
- Turns that failed are tried again by themselves (searching.py), in turn with everything else.
- While the circuit breaker of a partition is open, nothing of it is put aside: the event that
  failed is tried again once in each interval. A partition that is not held any more has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from tidegate.delivery.breaker import Breaker
from tidegate.delivery.policy import Policy
from tidegate.model import MemberName, PartitionEnd, PartitionId, Position
from tidegate.spark import searching
from tidegate.spark.admission import Limit, Sizes, admit
from tidegate.spark.feed_bounds import range_ends
from tidegate.spark.positions import Batch, NotAnOffsetError, Turn, TurnRead, batch_of
from tidegate.spark.searching import Fault, Suspect


class BatchError(Exception):
    """What is said of a batch cannot be; the message says why, and what to do."""


class UnreadError(BatchError):
    """A batch was said to be done, and some of it was not read."""


@dataclass(frozen=True, slots=True)
class Place:
    """A partition that is held: where it stands, and whether a turn of it may begin."""

    partition: PartitionId
    epoch: int
    position: Position
    member: MemberName = ""
    is_free: bool = True
    # How many events more may be handled before a checkpoint has to stand; None: any number.
    room: int | None = None


@dataclass(slots=True)
class UnderWay:
    """A batch that was begun."""

    batch: Batch
    offered: Batch
    suspect: Suspect | None
    reads: dict[PartitionId, TurnRead] = field(default_factory=dict)


Places = Mapping[PartitionId, Place]


class Turns:
    """See the module."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.sizes = Sizes()
        self.under_way: UnderWay | None = None
        self.suspects: tuple[Suspect, ...] = ()
        self._number = 0
        self._done = 0
        self._planned: tuple[Batch, Suspect | None] | None = None
        self._was_suspect = False
        self._breakers: dict[PartitionId, Breaker] = {}

    # --- planning

    def plan(
        self,
        places: Places,
        ends: Mapping[PartitionId, PartitionEnd],
        limit: Limit,
        now: float,
        until: Mapping[PartitionId, int] | None = None,
    ) -> Batch | None:
        """The next batch; None where there is nothing to read now."""
        self._prune(places)
        due = None if self._was_suspect else self._due(places, now)
        turns = () if due is not None else self._fresh(places, ends, limit, until)
        if not turns and due is None:
            due = self._due(places, now)
        if due is not None:
            turns = tuple(_moved(turn, places[turn.partition]) for turn in due.turns)
        if not turns:
            return None
        self._number += 1
        batch = batch_of(turns, self._number)
        self._planned = (batch, due)
        return batch

    def _due(self, places: Places, now: float) -> Suspect | None:
        """The suspect whose time has come, the one that has waited longest first."""
        ready = [
            suspect
            for suspect in self.suspects
            if suspect.not_before <= now and all(places[p].is_free for p in suspect.partitions)
        ]
        return min(ready, key=lambda suspect: suspect.not_before, default=None)

    def _fresh(
        self,
        places: Places,
        ends: Mapping[PartitionId, PartitionEnd],
        limit: Limit,
        until: Mapping[PartitionId, int] | None,
    ) -> tuple[Turn, ...]:
        """What waits in the partitions that nothing is wrong with."""
        doubted = self._doubted()
        begins: dict[PartitionId, int] = {}
        waiting: dict[PartitionId, int] = {}
        for partition, place in places.items():
            end = ends.get(partition)
            if end is None or not place.is_free or partition in doubted:
                continue
            last = end.sequence if until is None else min(until.get(partition, -1), end.sequence)
            # What retention took is not there to be read, and must not use up the limit.
            begins[partition] = max(place.position.sequence + 1, end.begins_at or 0)
            room = last if place.room is None else place.position.sequence + place.room
            waiting[partition] = min(last, room) - begins[partition] + 1
        admitted = admit(waiting, limit, self.sizes)
        return tuple(
            _moved(
                Turn(p, 0, places[p].position, begins[p] + events - 1, ends=range_ends(ends[p])),
                places[p],
            )
            for p, events in admitted.items()
        )

    def _prune(self, places: Places) -> None:
        """Forgets suspects of partitions that have moved on, or to somebody else."""
        positions = {partition: place.position for partition, place in places.items()}
        left = (searching.left_of(suspect, positions) for suspect in self.suspects)
        self.suspects = tuple(suspect for suspect in left if suspect is not None)
        # An open breaker is of an event that fails: a rewind past it leaves none.
        doubted = self._doubted()
        self._breakers = {
            partition: breaker
            for partition, breaker in self._breakers.items()
            if partition in places and (partition in doubted or not breaker.is_open)
        }

    def _doubted(self) -> frozenset[PartitionId]:
        return frozenset[PartitionId]().union(*(each.partitions for each in self.suspects))

    # --- a batch under way

    def begun_again(self, offered: Batch, still: Set[PartitionId]) -> Batch | None:
        """The batch under way, where it is this one: without what is not ours any more. What was
        reported of it is forgotten."""
        work = self.under_way
        if work is None or not _is_same(work.offered, offered):
            return None
        work.reads.clear()
        turns = (turn for partition, turn in work.batch.turns.items() if partition in still)
        work.batch = batch_of(turns, work.batch.number)
        return work.batch

    def begin(self, offered: Batch, places: Places) -> Batch:
        """The turns that may be read now. A batch that was under way is given up."""
        planned, suspect = self._planned or (None, None)
        if planned is None or not _is_same(planned, offered):
            self._number += 1
            doubted, suspect, number = self._doubted(), None, self._number
        else:
            doubted, number = frozenset(), offered.number
        turns = (
            _moved(turn, place)
            for partition, turn in offered.turns.items()
            if (place := places.get(partition)) is not None
            and place.is_free
            and place.position == turn.after
            and partition not in doubted
        )
        batch = batch_of(turns, number)
        self.under_way = UnderWay(batch, offered, suspect)
        self._planned = None
        self._was_suspect = suspect is not None
        return batch

    def report(self, read: TurnRead) -> None:
        """How far a worker has read a turn. One that comes too late is not counted.

        Raises NotAnOffsetError where it cannot be of that turn.
        """
        work = self.under_way
        turn = work.batch.turns.get(read.partition) if work is not None else None
        if work is None or turn is None or work.batch.number != read.batch:
            return
        if turn.epoch != read.epoch:
            return
        if not turn.after.sequence <= read.sequence <= turn.to:
            raise NotAnOffsetError(
                f"partition {turn.partition}: the turn goes from {turn.after.sequence + 1} to "
                f"{turn.to}, and was told to be read up to {read.sequence}"
            )
        work.reads[read.partition] = read

    def done(self, number: int, still: Set[PartitionId]) -> tuple[TurnRead, ...]:
        """A batch is handled; `still` are the partitions whose turns are still ours. What was read.

        Raises BatchError, and UnreadError where some of it was not read.
        """
        if number == self._done:
            return ()
        work = self._work(number)
        unread = [p for p in work.batch.turns if p in still and p not in work.reads]
        if unread:
            raise UnreadError(
                f"batch {number} is not done: nothing was read of partition "
                f"{', '.join(sorted(unread))}. The pipeline must read its DataFrame whole before "
                "it returns, by an action such as a write, toArrow or count; a limit, or a filter "
                "by partition, leaves events out."
            )
        reads = tuple(read for p, read in work.reads.items() if p in still)
        for read in reads:
            self.sizes.learn(read.partition, read.events, read.bytes)
            self.breaker(read.partition).handled(read.events)
        self._over(work)
        positions = {read.partition: read.position for read in reads}
        if work.suspect is not None:
            self._passed(work.suspect, positions)
        self._done = number
        return reads

    def failed(self, number: int, still: Set[PartitionId], fault: Fault) -> UnderWay:
        """A batch failed: nothing moves. Raises BatchError."""
        work = self._work(number)
        self._over(work)
        if work.suspect is None:
            turns = tuple(turn for p, turn in work.batch.turns.items() if p in still)
            self.suspects += searching.suspected(self._policy, turns, fault)
        else:
            self._replace(work.suspect, searching.failed(self._policy, work.suspect, fault))
        return work

    def give_up(self) -> None:
        """Nothing that was begun counts."""
        if self.under_way is not None:
            self._over(self.under_way)

    # --- events that are put aside

    def asides(self, now: float) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
        """Those whose one event is to be put aside, then say `put_aside`; and those whose breaker
        is open, which are tried again after the interval."""
        asides, stopped = [], []
        for suspect in self.suspects:
            if not searching.is_for_aside(self._policy, suspect):
                continue
            if self.breaker(suspect.turns[0].partition).lets_through():
                asides.append(suspect)
                continue
            stopped.append(suspect)
            if suspect.not_before == searching.NEVER:
                next_at = now + self._policy.circuit_breaker.probe_every_s
                self._replace(suspect, (replace(suspect, not_before=next_at),))
        return tuple(asides), tuple(stopped)

    def breaker(self, partition: PartitionId) -> Breaker:
        return self._breakers.setdefault(partition, Breaker(self._policy.circuit_breaker))

    def put_aside(self, suspect: Suspect, position: Position) -> None:
        """Its event is a dead letter, or is gone; its partition stands at a position."""
        self.breaker(suspect.turns[0].partition).put_aside()
        self._passed(suspect, {suspect.turns[0].partition: position})

    def tries(self, partition: PartitionId) -> Suspect | None:
        """The suspect that a partition is in."""
        return next((each for each in self.suspects if partition in each.partitions), None)

    # ---

    def _work(self, number: int) -> UnderWay:
        if self.under_way is None or self.under_way.batch.number != number:
            raise BatchError(f"batch {number} is not under way: it is over, or was given up")
        return self.under_way

    def _over(self, work: UnderWay) -> None:
        if self.under_way is work:
            self.under_way = None

    def _passed(self, suspect: Suspect, positions: Mapping[PartitionId, Position]) -> None:
        left = None
        if suspect.then and (position := positions.get(suspect.turns[0].partition)) is not None:
            left = searching.passed(suspect, position)
        self._replace(suspect, () if left is None else (left,))

    def _replace(self, suspect: Suspect, by: tuple[Suspect, ...]) -> None:
        """Unless it was forgotten meanwhile."""
        if suspect in self.suspects:
            place = self.suspects.index(suspect)
            self.suspects = (*self.suspects[:place], *by, *self.suspects[place + 1 :])


def _moved(turn: Turn, place: Place) -> Turn:
    """The turn as its partition stands now, under its epoch."""
    return replace(turn, epoch=place.epoch, after=place.position, member=place.member)


def _is_same(one: Batch, other: Batch) -> bool:
    return one.number == other.number and dict(one.turns) == dict(other.turns)
