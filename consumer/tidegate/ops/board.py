"""What is known now of every partition and of the group: what the view and the metrics show.

Rules: pure; facts in, rows out. A row of a partition that we do not read says who owns it by the
last listing, and nothing of rates or lag, which are the owner's to say. Rates are taken over a
sliding window, so that one batch does not make a peak.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.model import Listing, MemberName, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.lag import UNKNOWN_LAG, Lag, lag_of
from tidegate.ops.observer import Observer

RATE_WINDOW_S = 10.0
_SLICES = 10


class Rate:
    """Events a second over the last `RATE_WINDOW_S`, in slices of a second."""

    def __init__(self) -> None:
        self._slices: deque[tuple[int, int]] = deque(maxlen=_SLICES + 1)

    def add(self, now: float, count: int) -> None:
        second = int(now)
        if self._slices and self._slices[-1][0] == second:
            count += self._slices.pop()[1]
        self._slices.append((second, count))

    def at(self, now: float) -> float:
        """The rate; of a partition that has just begun, over the time that it has run."""
        recent = [(second, count) for second, count in self._slices if second > now - _SLICES - 1]
        if not recent:
            return 0.0
        span = min(max(now - recent[0][0], 1.0), RATE_WINDOW_S)
        return sum(count for _, count in recent) / span


@dataclass(slots=True)
class Place:
    """What is known of one partition that we read or have read."""

    is_ours: bool = False
    epoch: int = 0
    handled: int | None = None
    enqueued_at: float | None = None
    checkpoint: int | None = None
    end: int | None = None
    end_at: float = 0.0
    # The last moment at which nothing waited, as far as is known.
    clear_at: float | None = None
    begins_at: int | None = None
    is_stuck: bool = False
    error: str = ""
    rate: Rate = field(default_factory=Rate)

    def end_known(self, at: float, sequence: int, begins_at: int | None) -> None:
        """The source said where the partition ends."""
        if self.handled is not None:
            if self.end is not None and self.handled >= self.end:
                self.clear_at = self.end_at
            if self.handled >= sequence:
                self.clear_at = at
        self.end, self.end_at, self.begins_at = sequence, at, begins_at

    def lag(self, now: float, wall: float) -> Lag:
        """How far behind we are; `now` is monotonic as the facts are, `wall` the same moment."""
        return lag_of(
            handled=self.handled,
            handled_enqueued_at=self.enqueued_at,
            clear_at=None if self.clear_at is None else wall - (now - self.clear_at),
            end=self.end,
            begins_at=self.begins_at,
            now=wall,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """A partition as it is shown."""

    partition: PartitionId
    owner: MemberName | None
    is_ours: bool
    epoch: int
    rate: float
    handled: int | None
    lag: Lag
    note: str = ""


class Board(Observer):
    """Keeps what is known. `name` is the member's own."""

    def __init__(self, name: MemberName) -> None:
        self.name = name
        self.places: dict[PartitionId, Place] = {}
        self.partitions: tuple[PartitionId, ...] = ()
        self.listing: Listing | None = None
        self.listed_at: float | None = None
        self.is_stopping = False

    def place(self, partition: PartitionId) -> Place:
        return self.places.setdefault(partition, Place())

    def hear(self, fact: facts.Fact) -> None:
        match fact:
            case facts.BatchHandled():
                self._on_handled(fact)
            case facts.BatchFailed():
                place = self.place(fact.partition)
                place.error = fact.error
                place.is_stuck = fact.is_stuck
            case facts.CheckpointWritten():
                self._on_checkpoint(fact)
            case facts.EndKnown():
                self.place(fact.partition).end_known(fact.at, fact.sequence, fact.begins_at)
            case facts.ReaderOpened():
                place = self.places[fact.partition] = Place(is_ours=True, epoch=fact.epoch)
                self._begin(fact.partition, place)
            case facts.ReaderClosed():
                self.place(fact.partition).is_ours = False
            case facts.Listed():
                self.listing, self.listed_at = fact.listing, fact.at
            case facts.PartitionsKnown():
                self.partitions = fact.partitions
            case facts.Stopping():
                self.is_stopping = True

    def _begin(self, partition: PartitionId, place: Place) -> None:
        """Before the first batch, what is behind is counted from the checkpoint."""
        listing = self.listing
        found = listing.checkpoints.get(partition) if listing is not None else None
        if found is not None:
            place.handled = place.checkpoint = found.position.sequence
            place.enqueued_at = found.enqueued_at

    def _on_handled(self, fact: facts.BatchHandled) -> None:
        place = self.place(fact.partition)
        place.handled = fact.position.sequence
        place.enqueued_at = fact.enqueued_at
        place.is_stuck, place.error = False, ""
        place.rate.add(fact.at, fact.events)

    def _on_checkpoint(self, fact: facts.CheckpointWritten) -> None:
        place = self.place(fact.partition)
        place.checkpoint = fact.position.sequence
        if place.handled is None or place.handled < fact.position.sequence:
            place.handled = fact.position.sequence
            place.enqueued_at = fact.enqueued_at

    # --- what is shown

    def owner(self, partition: PartitionId) -> MemberName | None:
        """Who owns it: ourselves by our own knowledge, others by the last listing."""
        place = self.places.get(partition)
        if place is not None and place.is_ours:
            return self.name
        row = self.listing.ownerships.get(partition) if self.listing is not None else None
        if row is None or row.owner is None or not row.lease.is_held:
            return None
        return row.owner.name

    def members(self) -> tuple[MemberName, ...]:
        """Who is alive, by the last listing."""
        if self.listing is None:
            return ()
        return tuple(sorted(n for n, each in self.listing.members.items() if each.is_alive))

    def is_present(self) -> bool:
        """Whether the ledger shows us as a living member."""
        found = self.listing.members.get(self.name) if self.listing is not None else None
        return found is not None and found.is_alive

    def rows(self, now: float, wall: float) -> list[Row]:
        """Every partition, in the order of their numbers."""
        known = {*self.partitions, *(p for p, place in self.places.items() if place.is_ours)}
        return [self._row(partition, now, wall) for partition in sorted(known, key=by_number)]

    def _row(self, partition: PartitionId, now: float, wall: float) -> Row:
        place, owner = self.places.get(partition), self.owner(partition)
        if place is None or not place.is_ours:
            return Row(partition, owner, False, 0, 0.0, None, UNKNOWN_LAG)
        note = place.error
        if place.is_stuck:
            note = f"Stuck: {note}"
        rate, lag = place.rate.at(now), place.lag(now, wall)
        return Row(partition, owner, True, place.epoch, rate, place.handled, lag, note)


def by_number(partition: PartitionId) -> tuple[int, int, str]:
    """Sorts '2' before '10', and what is no number after all numbers."""
    return (0, int(partition), "") if partition.isdecimal() else (1, 0, partition)
