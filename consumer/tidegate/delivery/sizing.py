"""Batch sizes that follow from what an event costs, so that a call takes a bounded time. Pure.

    sizing = Sizing()                                        # nothing is known: one event
    sizing = after(sizing, Call(1, 0.01), target_s=1.0)      # an event takes 10 ms
    sizing.most                                              # the next call gets 2

Rules:
- Slow start: the first call has one event. The next has at most twice as many as the last one had,
  and at least a quarter, so one call that is slow or fast by chance decides little.
- A call costs a fixed part and a part for each event; two calls of clearly different sizes tell
  them apart. Only the second part becomes less with fewer events. Where the fixed part alone takes
  more than half of the target, a batch is as large as makes the call twice as long as that.
- A call with fewer events than it could have had, because no more were there, never raises the
  size by more than it has proved.
- A wait for a lock that all partitions share looks like a fixed part, and grows with their batches.
  So a call that took longer than the target is also compared with the calls beside it: the next
  one has no more events than would fit if all batches had that size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

GROWTH = 2
SHRINKAGE = 4
# Calls whose sizes differ by this factor tell the fixed part of the cost.
_APART = 1.5
# If more events take less than this share of the time, the earlier call is out of date.
_CONSISTENT = 0.5
# A single event that takes longer is not tried together with another, to see what two take.
_TRIED_S = 10.0
# A batch takes a small part of the target if it fits into this part of it.
_SMALL_PART = 16


@dataclass(frozen=True, slots=True)
class Call:
    """A successful call of the handler: its number of events, and its duration."""

    events: int
    seconds: float

    @property
    def event_s(self) -> float:
        return self.seconds / self.events


@dataclass(frozen=True, slots=True)
class Sizing:
    """The most events of the next batch, and the calls that it follows from."""

    most: int = 1
    # The last call, and the first of the row of calls up to it whose sizes are about the same.
    last: Call | None = None
    first: Call | None = None
    # A call before that row.
    other: Call | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """The calls of all partitions of a process: the sum of their events and of its squares, and
    what a call costs by the batches that the events beside it were in."""

    events: int = 0
    squares: int = 0
    sizing: Sizing = field(default_factory=Sizing)


def joined(together: Together, begun: Together, call: Call, target_s: float) -> Together:
    """With one more call, which began when it was as `begun`."""
    events, squares = together.events + call.events, together.squares + call.events**2
    usual = round((squares - begun.squares) / (events - begun.events))
    return Together(events, squares, after(together.sizing, Call(usual, call.seconds), target_s))


def inherited(together: Together) -> Sizing:
    """The sizing of a partition that begins beside others. With one call more at the same time,
    each may take longer."""
    return replace(together.sizing, most=max(together.sizing.most // SHRINKAGE, 1))


def after(sizing: Sizing, call: Call, target_s: float) -> Sizing:
    """The sizing after one more call."""
    first, other = sizing.first or call, sizing.other
    if _are_apart(first, call):
        last = sizing.last or first
        other = last if _are_apart(last, call) else first
        first = call
    if other is not None and not (_are_apart(other, call) and _are_consistent(other, call)):
        other = None
    room = _room(call, other, target_s)
    proved = min(max(room, call.events / SHRINKAGE), call.events * GROWTH)
    kept = min(room, sizing.most)
    return Sizing(max(int(max(proved, kept)), 1), call, first, other)


def is_cheap(call: Call, most: int, target_s: float) -> bool:
    """Whether a full batch takes a small part of the target, so that nothing is to be learned."""
    return call.seconds * most * _SMALL_PART <= target_s * call.events


def fitting(sizing: Sizing, together: Together, target_s: float, share: float = 1.0) -> int:
    """The most events of the next batch, if its call should take this share of the target."""
    last, beside = sizing.last, together.sizing
    if last is None:
        return sizing.most
    room = min(_room(last, sizing.other, target_s * share), sizing.most)
    if last.seconds > target_s and beside.last is not None:
        room = min(room, _room(beside.last, beside.other, target_s * share))
    return max(int(room), last.events // SHRINKAGE, 1)


def _room(call: Call, other: Call | None, target_s: float) -> float:
    """How many events a call has room for."""
    if other is None and call.events == 1 and call.seconds <= _TRIED_S:
        # It is not known yet whether fewer events make a call shorter.
        return max(_quotient(target_s, call.event_s), GROWTH)
    event_s, fixed_s = call.event_s, 0.0
    if other is not None:
        few, many = sorted((call, other), key=lambda each: each.events)
        slope = (many.seconds - few.seconds) / (many.events - few.events)
        event_s = min(max(slope, 0.0), event_s)
        fixed_s = max(call.seconds - event_s * call.events, 0.0)
    room_s = max(target_s - fixed_s, fixed_s)
    return _quotient(room_s, event_s)


def _quotient(room_s: float, event_s: float) -> float:
    return room_s / event_s if event_s > 0 else math.inf


def _are_apart(one: Call, another: Call) -> bool:
    few, many = sorted((one.events, another.events))
    return many >= few * _APART


def _are_consistent(one: Call, another: Call) -> bool:
    few, many = sorted((one, another), key=lambda each: each.events)
    return many.seconds >= few.seconds * _CONSISTENT
