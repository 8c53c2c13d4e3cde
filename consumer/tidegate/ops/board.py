"""What is known now of every partition and of the group: what the view and the metrics show.

Rules: pure; facts in, rows out. A row of a partition that we do not read says who owns it by the
last listing, and nothing of rates or lag, which are the owner's to say. Rates are taken over a
sliding window, so that one batch does not make a peak.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from tidegate.lag import UNKNOWN_LAG, Lag, in_feed, lag_from_start, lag_of
from tidegate.member.messages import Report
from tidegate.model import NO_SEQUENCE, Listing, MemberName, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.failing import CIRCUIT_CLOSED, CIRCUIT_OPEN, HALTED, KINDS, Failing
from tidegate.ops.observer import Observer
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.sources.start import Start

RATE_WINDOW_S = 10.0
_SLICES = 10
_DIGITS = 18
# What the source says of a partition so long after it was opened may be younger than what we read.
_OPENING_S = 60.0
# The kind of report that the native transport was not understood, and the official SDK reads.
FELL_BACK = "transport-sdk"
# The kinds by which the source does not say its partitions, and says them again.
UNREADABLE, READABLE = "source-unreadable", "source-readable"


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


@dataclass(frozen=True, slots=True)
class Loss:
    """Retention was faster than the handler: events before the first that is left are gone."""

    at: float
    first: int  # sequence number of the first event that is lost
    begins_at: int  # of the first that is left


@dataclass(slots=True)
class Place:
    """What is known of one partition that we read or have read."""

    is_ours: bool = False
    epoch: int = 0
    # When it was opened, and the sequence number behind which reading began.
    opened_at: float = 0.0
    opened: int | None = None
    handled: int | None = None
    enqueued_at: float | None = None
    checkpoint: int | None = None
    end: int | None = None
    end_at: float = 0.0
    end_enqueued_at: float | None = None
    # The last moment at which nothing waited, as far as is known.
    clear_at: float | None = None
    begins_at: int | None = None
    lost: Loss | None = None
    is_stuck: bool = False
    # The circuit breaker for dead letters is open: nothing is put aside, and nothing passed.
    is_circuit_open: bool = False
    error: str = ""
    failing: Failing = field(default_factory=Failing)
    rate: Rate = field(default_factory=Rate)

    def end_known(self, fact: facts.EndKnown) -> None:
        """The source said where the partition ends, and perhaps where it begins."""
        if self.end is not None and fact.at < self.end_at:
            return
        if self.handled is not None:
            if self.end is not None and self.handled >= self.end:
                self.clear_at = self.end_at
            if self.handled >= fact.sequence:
                self.clear_at = fact.at
        self.end, self.end_at, self.end_enqueued_at = fact.sequence, fact.at, fact.enqueued_at
        if fact.begins_at is not None:
            self._begin_known(fact.at, fact.begins_at)

    def _begin_known(self, at: float, begins_at: int) -> None:
        is_first, self.begins_at = self.begins_at is None, begins_at
        behind = self.handled
        if is_first and self.opened is not None and at - self.opened_at < _OPENING_S:
            # What was handled since was the first that is left: the loss lies before it.
            behind = self.opened
        if behind is not None and NO_SEQUENCE < behind < begins_at - 1:
            self.lost = Loss(at, behind + 1, begins_at)

    def lag(self, now: float, wall: float) -> Lag:
        """How far behind we are; `now` is monotonic as the facts are, `wall` the same moment."""
        clear_at = None if self.clear_at is None else wall - (now - self.clear_at)
        if self.handled == NO_SEQUENCE and self.end != NO_SEQUENCE:
            # Nothing was ever handled: all that is there waits.
            return lag_from_start(
                Start("earliest"),
                end=self.end,
                begins_at=self.begins_at,
                end_enqueued_at=self.end_enqueued_at,
                clear_at=clear_at,
                now=wall,
            )
        return lag_of(
            handled=self.handled,
            handled_enqueued_at=self.enqueued_at,
            clear_at=clear_at,
            end=self.end,
            end_enqueued_at=self.end_enqueued_at,
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
        self._of_source: tuple[PartitionId, ...] = ()
        # How partitions come and go.
        self.lineage: Lineage = FLAT
        self.listing: Listing | None = None
        self.listed_at: float | None = None
        # The source cannot say which partitions there are; without them no ledger is read.
        self.is_source_unreadable = False
        self.is_stopping = False
        # The official SDK reads, because the native transport was not understood.
        self.has_fallen_back = False

    def place(self, partition: PartitionId) -> Place:
        return self.places.setdefault(partition, Place())

    def hear(self, fact: facts.Fact) -> None:
        match fact:
            case facts.BatchHandled():
                self._on_handled(fact)
            case facts.BatchFailed():
                place = self.place(fact.partition)
                place.error, place.is_stuck = fact.error, fact.is_stuck
            case facts.CheckpointWritten():
                self._on_checkpoint(fact)
            case facts.EndKnown():
                self.place(fact.partition).end_known(fact)
            case facts.ReaderOpened():
                self._on_opened(fact)
            case facts.ReaderClosed():
                self._on_closed(fact)
            case facts.LeaseEnded():
                self.place(fact.partition).failing.over()
            case facts.Listed():
                self.listing, self.listed_at = fact.listing, fact.at
                self._count_partitions()
            case facts.PartitionsKnown():
                self._of_source = fact.partitions
                self._count_partitions()
            case facts.Reported(report=report):
                if report.partition is not None:
                    self._on_report(self.place(report.partition), report)
                elif report.kind in (UNREADABLE, READABLE):
                    self.is_source_unreadable = report.kind == UNREADABLE
                self.has_fallen_back = self.has_fallen_back or report.kind == FELL_BACK
            case facts.Stopping():
                self.is_stopping = True

    @staticmethod
    def _on_report(place: Place, report: Report) -> None:
        if report.kind in KINDS:
            place.failing.trouble = report.message
        elif report.kind == CIRCUIT_CLOSED:
            place.is_circuit_open = False
        elif report.kind in (HALTED, CIRCUIT_OPEN):
            place.is_stuck = True  # however few attempts it had
            place.is_circuit_open = report.kind == CIRCUIT_OPEN

    def _count_partitions(self) -> None:
        """Which there are: the source's, or what the ledger makes of them."""
        listing = self.listing
        if listing is None or self.lineage is FLAT or not self._of_source:
            self.partitions = self._of_source
        else:
            self.partitions = self.lineage.tiling(self._of_source, listing).partitions

    def _on_opened(self, fact: facts.ReaderOpened) -> None:
        """Before the first batch, what is behind is counted from where reading begins."""
        failing = self.place(fact.partition).failing
        failing.opened(fact.at)
        place = self.places[fact.partition] = Place(
            is_ours=True, epoch=fact.epoch, opened_at=fact.at, failing=failing
        )
        listing = self.listing
        found = listing.checkpoints.get(fact.partition) if listing is not None else None
        position = fact.position or (found.position if found is not None else None)
        if position is None:
            return
        place.opened = place.handled = place.checkpoint = position.sequence
        if found is not None and found.position.sequence == position.sequence:
            place.enqueued_at = found.enqueued_at

    def _on_closed(self, fact: facts.ReaderClosed) -> None:
        place = self.place(fact.partition)
        place.is_ours = False
        if fact.reason == "failed":
            place.failing.failed(fact.at)
        else:
            place.failing.over()

    def _on_handled(self, fact: facts.BatchHandled) -> None:
        place = self.place(fact.partition)
        place.handled = fact.position.sequence
        place.enqueued_at = fact.enqueued_at
        place.is_stuck = place.is_circuit_open = False
        place.error = ""
        place.failing.over()
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

    def unread(self) -> tuple[PartitionId, ...]:
        """Which nobody reads although they are not paused; what a listing gives us and we do not
        read is among them."""
        roster = self.listing.roster if self.listing is not None else None
        if self.listing is None or (roster is not None and roster.is_paused):
            return ()
        paused = roster.paused if roster is not None else frozenset()
        return tuple(p for p in self.partitions if p not in paused and not self._is_read(p))

    def _is_read(self, partition: PartitionId) -> bool:
        place = self.places.get(partition)
        if place is not None and place.is_ours:
            return True
        return self.owner(partition) not in (None, self.name)

    def members(self) -> tuple[MemberName, ...]:
        """Who is alive, by the last listing."""
        if self.listing is None:
            return ()
        return tuple(sorted(n for n, each in self.listing.members.items() if each.is_alive))

    @property
    def unlisted(self) -> str:
        """Why there is no listing of the group yet."""
        if self.is_source_unreadable:
            return "the source does not say its partitions: the log has its error"
        return "the ledger has not been read yet"

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
        if place.is_circuit_open:
            note = f"Circuit breaker open: {note}"
        elif place.is_stuck:
            note = f"Stuck: {note}"
        rate, lag = place.rate.at(now), place.lag(now, wall)
        if self.lineage is not FLAT:
            lag = in_feed(lag)
        return Row(partition, owner, True, place.epoch, rate, place.handled, lag, note)


def by_number(partition: PartitionId) -> tuple[int, int, str]:
    """Sorts '2' before '10', and what is no number after all numbers."""
    is_number = partition.isdecimal() and len(partition) <= _DIGITS
    return (0, int(partition), "") if is_number else (1, 0, partition)
