"""What our partitions cost and how fast their events come: the figures that a member announces.

Rules: pure, but for the clock that is passed in. Rates are those of the last 10 s or so, or of
the time since they clearly rose. Time is busy while the handler has a call, also before that call
has ended; the pause before the next attempt is not. Calls that run at once share the time in
`utilization`: a call that waits for another one (for the GIL, a lock, the loop) does not make its
events dearer, and the parts of all partitions add up to the share of the time in which any of them
worked. Where many partitions are handled by one call,
who makes it says with its end how long it worked for each. The board hears everything before this
does.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from tidegate.ledger.figures import rounded
from tidegate.model import Figures, PartitionId
from tidegate.ops import observer as facts
from tidegate.ops.arriving import End, arriving
from tidegate.ops.board import RATE_WINDOW_S, Board, by_number
from tidegate.ops.costs import Work
from tidegate.ops.observer import Observer
from tidegate.ports import SourceEvent, lost_position

# The source is asked for ends every 5 s where its events do not tell them: three of them at least.
_ENDS_WINDOW_S = 15.0
# A source that is away for a moment is nobody's trouble. So long is too long.
_UNREAD_AFTER_S = 8.0
# What retention took is told for so long: whoever looks now and then shall see it.
_LOSS_TOLD_S = 600.0


class _Sample(NamedTuple):
    """What had come together since a partition was opened."""

    at: float
    events: int
    busy_s: float
    shared_s: float


class _SharedTime:
    """Time as a call sees it that shares each moment with all others that run then."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._running = 0
        self._at = 0.0
        self._shared_s = 0.0

    def begin(self) -> float:
        self._advance()
        self._running += 1
        return self._shared_s

    def end(self) -> float:
        self._advance()
        self._running -= 1
        return self._shared_s

    def until(self, now: float) -> float:
        if not self._running:
            return self._shared_s
        return self._shared_s + max(now - self._at, 0.0) / self._running

    def _advance(self) -> None:
        now = self._clock()
        self._shared_s, self._at = self.until(now), now


class _Track(AbstractContextManager[None]):
    """What is counted of one partition; entered while its handler has a call."""

    def __init__(self, clock: Callable[[], float], shared: _SharedTime, opened_at: float) -> None:
        self._clock = clock
        self._shared = shared
        self._opened_at = opened_at
        self._busy_s = self._shared_s = 0.0
        self._called_at: float | None = None
        self._shared_at = 0.0
        self._samples = deque([_Sample(opened_at, 0, 0.0, 0.0)])
        self._ends: deque[End] = deque()
        self.events = 0

    def __enter__(self) -> None:
        self._called_at = self._clock()
        self._shared_at = self._shared.begin()

    def __exit__(self, *_: object) -> None:
        if self._called_at is not None:
            self._busy_s += self._clock() - self._called_at
            self._shared_s += self._shared.end() - self._shared_at
        self._called_at = None

    def handled(self, events: int, worked_s: float) -> None:
        self.events += events
        self._busy_s += worked_s
        self._shared_s += worked_s

    def end_known(self, at: float, sequence: int) -> None:
        ends = self._ends
        if ends and at <= ends[-1].at:
            return
        ends.append(End(at, sequence))
        while len(ends) > 2 and ends[1].at <= at - _ENDS_WINDOW_S:
            ends.popleft()

    def arriving(self) -> float | None:
        """Events a second; None until the source has told the end twice."""
        return arriving(self._ends)

    def measured(self, now: float) -> tuple[float, float, float]:
        """Events handled a second, the share of the time that the handler worked, and its part of
        that in which any handler of the member did."""
        sample = _Sample(now, self.events, self._busy_until(now), self._shared_until(now))
        samples = self._samples
        while len(samples) > 1 and samples[1].at <= now - RATE_WINDOW_S:
            samples.popleft()
        first = samples[0]
        samples.append(sample)
        span = now - first.at
        if span <= 0:
            return 0.0, 0.0, 0.0
        busy = max((sample.busy_s - first.busy_s) / span, 0.0)
        shared = max((sample.shared_s - first.shared_s) / span, 0.0)
        # What was told now may have begun long before: it was handled as fast as it was worked at.
        over = max(busy, 1.0)
        return (sample.events - first.events) / (span * over), busy / over, shared / over

    def work(self, now: float, *, is_failing: bool) -> Work:
        arriving = None if is_failing else self.arriving()
        return Work(self._opened_at, self.events, self._busy_until(now), arriving)

    def _busy_until(self, now: float) -> float:
        running_s = 0.0 if self._called_at is None else now - self._called_at
        return self._busy_s + running_s

    def _shared_until(self, now: float) -> float:
        if self._called_at is None:
            return self._shared_s
        return self._shared_s + self._shared.until(now) - self._shared_at


class Meter(Observer):
    """See the module."""

    def __init__(self, board: Board, clock: Callable[[], float]) -> None:
        self._board = board
        self._clock = clock
        self._shared = _SharedTime(clock)
        self._tracks: dict[PartitionId, _Track] = {}
        # As long as the process: who gets a partition back goes on counting.
        self._put_aside: Counter[PartitionId] = Counter()

    def hear(self, fact: facts.Fact) -> None:
        match fact:
            case facts.BatchHandled():
                self._track(fact.partition).handled(fact.events, fact.worked_s)
            case facts.DeadLettered():
                self._put_aside[fact.partition] += fact.events
            case facts.EndKnown():
                self._track(fact.partition).end_known(fact.at, fact.sequence)
            case facts.ReaderOpened():
                self._tracks[fact.partition] = _Track(self._clock, self._shared, fact.at)
            case facts.ReaderClosed():
                self._tracks.pop(fact.partition, None)

    def handling(
        self,
        partition: PartitionId,
        events: Sequence[SourceEvent],  # noqa: ARG002  the count comes with the fact
    ) -> AbstractContextManager[None]:
        return self._track(partition)

    def _track(self, partition: PartitionId) -> _Track:
        track = self._tracks.get(partition)
        if track is None:
            track = self._tracks[partition] = _Track(self._clock, self._shared, self._clock())
        return track

    def figures(self, now: float, wall: float) -> dict[PartitionId, Figures]:
        """Of our partitions; to be asked for every second or two, as rates come from that."""
        return {
            partition: self._figures_of(partition, now, wall)
            for partition, place in self._board.places.items()
            if place.is_ours
        }

    def _figures_of(self, partition: PartitionId, now: float, wall: float) -> Figures:
        place, track = self._board.places[partition], self._track(partition)
        handling, busy, utilization = track.measured(now)
        lost = place.lost
        return rounded(
            Figures(
                end=place.end,
                handled=place.handled,
                behind_s=place.lag(now, wall).behind_s,
                arriving=track.arriving() or 0.0,
                handling=handling,
                busy=busy,
                begins_at=lost.begins_at if lost and now - lost.at < _LOSS_TOLD_S else None,
                put_aside=self._put_aside[partition],
                utilization=utilization,
            )
        )

    def works(self, now: float) -> dict[PartitionId, Work]:
        """What is counted of our partitions; nothing is known of those whose batch fails."""
        return {
            partition: self._track(partition).work(now, is_failing=bool(place.error))
            for partition, place in self._board.places.items()
            if place.is_ours
        }

    def stuck(self) -> frozenset[PartitionId]:
        """Our partitions whose batch fails again and again."""
        return frozenset(
            partition
            for partition, place in self._board.places.items()
            if place.is_ours and place.is_stuck
        )

    def open_circuits(self) -> frozenset[PartitionId]:
        """Our partitions whose circuit breaker for dead letters is open."""
        return frozenset(
            partition
            for partition, place in self._board.places.items()
            if place.is_ours and place.is_circuit_open
        )

    def unread(self, now: float) -> tuple[frozenset[PartitionId], str]:
        """Our partitions whose reading has failed for too long, and what is known of why."""
        found = {
            partition: place.failing.trouble
            for partition, place in self._board.places.items()
            if place.failing.lasts_s(now) > _UNREAD_AFTER_S
            and self._board.owner(partition) == self._board.name
        }
        # What only a rewind mends is told before what may pass.
        told = sorted(
            found, key=lambda partition: (not lost_position(found[partition]), by_number(partition))
        )
        return frozenset(found), next(filter(None, map(found.__getitem__, told)), "")
