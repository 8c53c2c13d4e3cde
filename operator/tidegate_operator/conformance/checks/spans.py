"""What several checks ask of a record: who did what to whom when, and what was handled again.

Rules: pure. A disturbance lasts from when it began until the group was settled again, or, where it
was not, until the next one or the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tidegate_operator.conformance.record import Disturbed, Handled, Owned, Record
from tidegate_operator.conformance.stretches import Stretch

# Clocks of nodes may differ by so much.
SKEW_S = 0.5
# Seeing a death takes a look, and reading on a connection.
_SLACK_S = 2.0
# What is done with storage or hub out of reach, so that nothing can be told or checkpointed.
CUTS = ("storage-errors", "storage-cut", "storage-away", "hub-cut")


class Span(NamedTuple):
    """A disturbance, and until when it counts."""

    began: float
    until: float
    what: Disturbed


def spans(record: Record, *, with_refused: bool = False) -> list[Span]:
    """In order, those that were done; also those that were begun and could not be ended."""
    those = record.disturbed if with_refused else record.done()
    done = sorted(those, key=lambda each: each.began)
    ends = [*(each.began for each in done[1:]), record.ended]
    return [
        Span(each.began, end if each.settled is None else min(each.settled, end), each)
        for each, end in zip(done, ends, strict=False)
    ]


def causes(found: list[Span], since: float, until: float) -> list[Disturbed]:
    """What may have caused something that shows at `until`, and had not happened at `since`: all
    that lasted or began in between. Where there is none, the last one that began before: what it
    did may show later."""
    begun = found[: bisect_right([span.began for span in found], until + SKEW_S)]
    those = [span.what for span in begun if span.until >= since - SKEW_S]
    return those or [span.what for span in begun[-1:]]


def calm(record: Record) -> Iterator[tuple[float, float]]:
    """The times in which nothing was done and the group was settled."""
    found = spans(record, with_refused=True)
    for span, after in zip(found, [*found[1:], None], strict=True):
        if span.what.settled is not None:
            end = record.ended if after is None else after.began
            if end > span.until:
                yield span.until, end


class Again(NamedTuple):
    """Events of one call that had been handled before, and when their stream was called last."""

    given: Handled
    events: int
    since: float


def again(record: Record) -> list[Again]:
    """Every call that was given events which had been handled, by the time of the calls."""
    streams: dict[str, Stretch] = {}
    called_at: dict[str, float] = {}
    found = []
    for given in sorted(record.handled):
        first = record.sent.get(given.stream, (0, 0))[0]
        stretch = streams.setdefault(given.stream, Stretch(first - 1))
        events = stretch.take(given.first, given.last)
        if events:
            found.append(Again(given, events, called_at.get(given.stream, given.at)))
        called_at[given.stream] = given.at
    return found


def stretches(record: Record) -> dict[str, Stretch]:
    """How far each stream was handled in the end."""
    streams = {stream: Stretch(first - 1) for stream, (first, _) in record.sent.items()}
    for given in sorted(record.handled):
        streams.setdefault(given.stream, Stretch()).take(given.first, given.last)
    return streams


def by_partition(record: Record) -> dict[str, list[Handled]]:
    """What was handled of each partition, by time."""
    found: dict[str, list[Handled]] = defaultdict(list)
    for given in sorted(record.handled):
        found[given.partition].append(given)
    return found


def come_by(calls: list[Handled], at: float) -> int:
    """How many of them there were by then; they are in order."""
    return bisect_right(calls, at, key=lambda each: each.at)


class Move(NamedTuple):
    """A partition that another member had than before."""

    at: float
    partition: str
    giver: str
    taker: str


def moves(record: Record) -> list[Move]:
    """As the ledger showed them, by time."""
    owner: dict[str, str] = {}
    found = []
    for row in sorted(record.owned, key=_by_time):
        before = owner.get(row.partition, "")
        if row.owner and before and before != row.owner:
            found.append(Move(row.at, row.partition, before, row.owner))
        if row.owner:
            owner[row.partition] = row.owner
    return found


def _by_time(row: Owned) -> float:
    return row.at


def owners_at(record: Record, at: float) -> dict[str, str]:
    """Of each partition that had one then."""
    rows = (row for row in sorted(record.owned, key=_by_time) if row.at <= at)
    found = {row.partition: row.owner for row in rows}
    return {partition: owner for partition, owner in found.items() if owner}


def most_unread_s(record: Record, what: Disturbed | None = None) -> float:
    """How long a partition may be without a reader: a lease and a tick. Where who was killed had
    more than half of all leases, their end looks like a stall of storage: before anybody takes what
    was its, an owner is given another lease to renew them."""
    setting = record.setting
    lost = 0 if what is None else len(what.partitions)
    owned = 0 if what is None else len(owners_at(record, what.began))
    is_like_a_stall = lost > 1 and 2 * lost > (owned or setting.partitions)
    return setting.lease_s * (2 if is_like_a_stall else 1) + setting.tick_s + _SLACK_S
