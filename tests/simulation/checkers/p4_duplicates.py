"""P4: duplicates are at most what was not checkpointed; none after a clean stop or a hand-over.

- Where nothing fails, no event is handled twice.
- Who gives a partition away has checkpointed all that its handlers finished.
- Who takes one begins at its checkpoint, not before it.
- After a newer epoch began to read, an older one finishes what it has received, and no more;
  where the hub has no newer one to know of, until its next renewal is refused.
- While storage is well, what a handler has finished is checkpointed in time.
- Where no process is paused, nobody handles longer than a lease after storage last renewed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from simulation.checkers.seen import Seen
from simulation.facts import Violation
from simulation.history import (
    DELETED_CHECKPOINT,
    DELETED_OWNERSHIP,
    EMPTIED,
    KILLED,
    SET_BACK,
    Attached,
    ByHand,
    Did,
    Handled,
    Record,
)
from simulation.script import Kind, What
from tidegate.ports import Acquire, Change, Release, Renew, WriteCheckpoint, WriteOwnership

NAME = "P4"
_STAND_STILL = (What.PAUSE, What.SLEEP, What.BLOCK, What.SLOW_HANDLER)
# A batch with the handler, one that had been received, and the event after which one was dropped.
IN_HAND = 41


def check(seen: Seen) -> Iterator[Violation]:
    killed = {life.who: life.at for life in seen.lives if life.what == KILLED}
    for partition, records in seen.partitions.items():
        if seen.script.is_without_faults:
            yield from _no_duplicate(partition, records)
        walk = _Walk(seen, partition, killed)
        for record in records:
            yield from walk.step(record)
        yield from walk.windows()
        if not any(trouble.what in _STAND_STILL for trouble in seen.script.troubles):
            yield from _beyond_lease(seen, partition, records)


def _no_duplicate(partition: str, records: list[Record]) -> Iterator[Violation]:
    handled: set[int] = set()
    for record in records:
        if isinstance(record, Handled):
            again = handled.intersection(range(record.first, record.last + 1))
            if again:
                text = (
                    f"{partition}: {record.who} handled {sorted(again)} again, and nothing failed"
                )
                yield Violation(NAME, record.at, text)
            handled.update(range(record.first, record.last + 1))


def _beyond_lease(seen: Seen, partition: str, records: list[Record]) -> Iterator[Violation]:
    renewed: dict[str, float] = {}
    allowed_s = seen.script.lease_s + 21 * seen.script.handler_s
    for record in records:
        if isinstance(record, Did) and isinstance(record.operation, Acquire | Change | Renew):
            renewed[record.who] = record.at
        elif isinstance(record, Handled):
            since_s = record.at - renewed.get(record.who, record.at)
            if since_s > allowed_s:
                text = f"{partition}: {record.who} still handles {since_s:.1f} s after a renewal"
                yield Violation(NAME, record.at, text)


class _Walk:
    """One partition, from the first record to the last."""

    def __init__(self, seen: Seen, partition: str, killed: dict[str, float]) -> None:
        self._script = seen.script
        self._facts = seen.facts
        self._partition = partition
        self._killed = killed
        self._stored: int | None = None
        self._is_meddled = False
        self._top = self._in_ownership = self._in_checkpoint = 0
        # What each life has finished last, and when it was that the stored one was passed.
        self._finished: dict[str, int] = {}
        self._unstored_since: dict[str, float] = {}
        # With which epoch each life has handled last.
        self._epochs: dict[str, int] = {}
        # Older epochs that the hub let in, because no newer one was attached just then.
        self._let_in: dict[tuple[str, int], float] = {}
        self._late: Counter[tuple[str, int]] = Counter()

    def step(self, record: Record) -> Iterator[Violation]:
        match record:
            case ByHand():
                self._on_hand(record)
            case Handled():
                yield from self._on_handled(record)
            case Attached():
                yield from self._on_attached(record)
            case Did(operation=WriteOwnership(epoch=epoch)):
                self._in_ownership = epoch
                # A new tenure: what an earlier one lost is not what this one gives away, or what it
                # is to checkpoint.
                self._finished.pop(record.who, None)
                self._unstored_since.pop(record.who, None)
            case Did(operation=WriteCheckpoint()):
                self._on_stored(record)
            case Did(operation=Change() | Release()):
                yield from self._on_given(record)

    def _on_hand(self, record: ByHand) -> None:
        if record.what == EMPTIED:
            self._is_meddled = True
            self._in_ownership = self._in_checkpoint = 0
        elif record.what == DELETED_OWNERSHIP:
            self._in_ownership = 0
        elif record.what in (DELETED_CHECKPOINT, SET_BACK):
            self._is_meddled, self._in_checkpoint = True, 0
        # Epochs that no blob knows of any longer are given out again.
        self._top = min(self._top, max(self._in_ownership, self._in_checkpoint))

    def _on_handled(self, record: Handled) -> Iterator[Violation]:
        who = record.who
        self._epochs[who] = record.epoch
        self._finished[who] = max(self._finished.get(who, -1), record.last)
        self._unstored_since.setdefault(who, record.at)
        if record.epoch < self._top:
            key = who, record.epoch
            let_in_at = self._let_in.get(key)
            if let_in_at is None:
                self._late[key] += record.last - record.first + 1
                is_too_late = self._late[key] > IN_HAND
            else:
                is_too_late = record.at - let_in_at > self._script.lease_s / 3 + 2.0
            if is_too_late:
                text = f"{who} went on handling with epoch {record.epoch} after {self._top} began"
                yield self._violation(record.at, text)

    def _on_attached(self, record: Attached) -> Iterator[Violation]:
        is_before = self._stored is not None and record.behind < self._stored
        if is_before and not self._is_meddled and record.epoch > self._top:
            text = f"{record.who} reads from {record.behind}, and the checkpoint is {self._stored}"
            yield self._violation(record.at, text)
        if record.epoch < self._top:
            self._let_in[record.who, record.epoch] = record.at
        self._top = max(self._top, record.epoch)
        self._finished[record.who] = record.behind
        self._unstored_since.pop(record.who, None)

    def _on_stored(self, record: Did) -> None:
        assert isinstance(record.operation, WriteCheckpoint)
        self._stored = record.operation.position.sequence
        self._in_checkpoint = record.operation.epoch
        self._is_meddled = False
        finished = self._finished.get(record.who)
        if record.operation.rewound_by or finished is None or self._stored >= finished:
            self._unstored_since.pop(record.who, None)
        elif record.who in self._unstored_since:
            # What was finished after this write was sent may wait for the next.
            self._unstored_since[record.who] = record.at
        if record.operation.rewound_by:
            self._finished.pop(record.who, None)

    def _on_given(self, record: Did) -> Iterator[Violation]:
        finished = self._finished.get(record.who)
        stored = -1 if self._stored is None else self._stored
        if finished is not None and finished > stored and not self._is_meddled:
            text = f"{record.who} gave it away at {stored}, and has handled up to {finished}"
            yield self._violation(record.at, text)

    def windows(self) -> Iterator[Violation]:
        """Who was killed while storage was well had checkpointed in time; and in the end, when
        all is well again, every owner has."""
        allowed_s = self._script.checkpoint_every_s + 1.0 + 6 * self._script.latency_s
        yield from self._at_the_end(allowed_s)
        if self._script.kind not in (Kind.KILLS, Kind.ALONE):
            return
        for who, since in self._unstored_since.items():
            killed_at = self._killed.get(who)
            if killed_at is not None and killed_at - since > allowed_s:
                text = (
                    f"{who} had not checkpointed for {killed_at - since:.1f} s when it was killed"
                )
                yield self._violation(killed_at, text)

    def _at_the_end(self, allowed_s: float) -> Iterator[Violation]:
        settled_at, end = self._facts.settled_at, self._facts.end
        if settled_at is None:
            return
        for who, since in self._unstored_since.items():
            late_s = end - max(since, settled_at)
            is_owner = who in self._facts.alive and self._epochs.get(who) == self._top
            if is_owner and late_s > allowed_s:
                text = f"{who} has not checkpointed for {end - since:.1f} s, and all is well"
                yield self._violation(end, text)

    def _violation(self, at: float, text: str) -> Violation:
        return Violation(NAME, at, f"{self._partition}: {text}")
