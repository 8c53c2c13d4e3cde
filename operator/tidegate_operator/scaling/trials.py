"""What became of a step to more consumers: how long it took, and whether it was of any use. Pure.

Rules:
- A step is judged once, when its consumers have worked for a while, and only where consumers were
  full before it and are full after it: otherwise there is nothing to be said of it.
- Of use is what the group then handles, by what it handled before, or by what one consumer could
  handle before where they were not seen to be full then. A step of which less than half was of use
  is undone, down to what was, and remembered: for a quarter of an hour, and twice as long each
  time. Where each event has come to cost more, what comes after the group is slower.
- What is remembered ends early where an event costs much less than it did then.
- A step down that had to be undone soon makes the group wait longer before the next, but not for
  one to half as many as were not enough then: there is another load now.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median_low

# Consumers have worked for so long before they are judged: their figures are of the last 10 s.
JUDGED_AFTER_S = 20.0
# Consumers that have not joined by then are not waited for any longer.
JOINED_WITHIN_S = 180.0
# A step counts as of use from here on.
_OF_USE = 0.5
_SLOWER = 1.5
_FULL_SHARE = 0.7
_HELD_S, _HELD_MOST_S = 900.0, 7200.0
# Until a start was seen.
USUAL_START_S = 15.0
_STARTS_KEPT = 5
_BACKOFF_MOST = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A step to more consumers, on its way or just done."""

    before: int
    after: int
    asked_at: float
    joined_at: float | None = None
    # The most that was handled before they joined, whether consumers were full, and the cost of an
    # event.
    handled: float = 0.0
    was_full: bool = False
    event_s: float | None = None
    # What one consumer could handle then.
    per_member: float | None = None
    # The operator before this one asked for it: nobody saw how long its consumers took to join.
    is_taken_over: bool = False


@dataclass(frozen=True, slots=True)
class Ceiling:
    """More than this has been of no use."""

    count: int
    tried: int
    until: float
    held_s: float
    event_s: float | None = None
    # An event cost more with more consumers.
    is_downstream: bool = False
    # How much was handled, before the step and after it.
    handled: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Trials:
    """What was tried with a group."""

    step: Step | None = None
    starts_s: tuple[float, ...] = ()
    ceiling: Ceiling | None = None
    # The last step down, as long as it may have to be undone; to how many the last one was that had
    # to be, and how many times longer the next has to wait for it.
    lowered_at: float | None = None
    failed: int = 0
    patience: int = 1

    @property
    def start_s(self) -> float:
        """How long a new consumer takes until it works."""
        return median_low(self.starts_s) if self.starts_s else USUAL_START_S

    def stable_s(self, stable_s: float, count: int) -> float:
        """How long so many must have been enough before there are no more of them."""
        return stable_s * (self.patience if 2 * count > self.failed else 1)

    def start_left_s(self, now: float) -> float:
        """How long it takes until consumers that are asked for now, or were, are there."""
        step = self.step
        if step is None or step.joined_at is not None:
            return self.start_s
        return max(self.start_s - (now - step.asked_at), 1.0)


@dataclass(frozen=True, slots=True)
class Look:
    """What a look shows of a step."""

    at: float
    members: int
    handling: float
    # The share of consumers that are full.
    full: float
    event_s: float | None
    per_member: float | None = None


def watched(trials: Trials, look: Look) -> Trials:
    """With what a look shows."""
    trials = replace(trials, ceiling=_ceiling_left(trials.ceiling, look))
    step = trials.step
    if step is None:
        return trials
    if step.joined_at is None:
        if look.members >= step.after:
            starts = trials.starts_s
            if not step.is_taken_over:
                starts = (*starts, max(look.at - step.asked_at, 1.0))[-_STARTS_KEPT:]
            return replace(trials, step=replace(step, joined_at=look.at), starts_s=starts)
        if look.at - step.asked_at > JOINED_WITHIN_S:
            return replace(trials, step=None)
        if look.members > step.before:
            # Some have joined: what is handled now is no longer what was handled without them.
            return trials
        return replace(
            trials,
            step=replace(
                step,
                handled=max(step.handled, look.handling),
                was_full=step.was_full or look.full >= _FULL_SHARE,
                event_s=look.event_s if look.event_s is not None else step.event_s,
                per_member=look.per_member if look.per_member is not None else step.per_member,
            ),
        )
    if look.at - step.joined_at < JUDGED_AFTER_S:
        return trials
    return _judged(trials, step, look)


def asked(trials: Trials, before: int, after: int, now: float, look: Look | None) -> Trials:
    """With a change of the size that is asked for now."""
    if after > before:
        soon = trials.lowered_at is not None
        failed = before if soon else trials.failed
        patience = min(trials.patience * 2, _BACKOFF_MOST) if soon else trials.patience
        step = trials.step
        if step is not None:
            # One step on top of another that was not judged is one.
            step = replace(step, after=after, joined_at=None)
        else:
            step = Step(before, after, now)
            if look is not None:
                step = replace(step, handled=look.handling, event_s=look.event_s,
                               per_member=look.per_member,
                               was_full=look.full >= _FULL_SHARE)  # fmt: skip
        return replace(trials, step=step, lowered_at=None, failed=failed, patience=patience)
    return replace(trials, step=None, lowered_at=now)


def calmed(trials: Trials, now: float, stable_s: float) -> Trials:
    """Without what lies far enough back to say nothing of what comes."""
    if trials.lowered_at is None:
        return trials
    if now - trials.lowered_at < stable_s * trials.patience:
        return trials
    return replace(trials, lowered_at=None, patience=max(trials.patience // 2, 1))


def _judged(trials: Trials, step: Step, look: Look) -> Trials:
    trials = replace(trials, step=None)
    before = _handled_before(step)
    if not (before and look.full >= _FULL_SHARE and step.before):
        return trials
    useful = step.before * look.handling / before
    if useful - step.before >= _OF_USE * (step.after - step.before):
        return trials
    count = max(step.before, math.ceil(useful - 0.1))
    if count >= step.after:
        return trials
    is_downstream = (
        step.event_s is not None
        and look.event_s is not None
        and look.event_s >= _SLOWER * step.event_s
    )
    last = trials.ceiling
    held_s = _HELD_S if last is None else min(last.held_s * 2, _HELD_MOST_S)
    ceiling = Ceiling(
        count,
        step.after,
        look.at + held_s,
        held_s,
        step.event_s if is_downstream else look.event_s,
        is_downstream,
        (before, look.handling),
    )
    return replace(trials, ceiling=ceiling)


def _handled_before(step: Step) -> float | None:
    """What as many as there were could handle. Figures are averages: where new consumers join
    within seconds, those before them are never seen to be full."""
    if step.was_full:
        return step.handled
    return step.before * step.per_member if step.per_member is not None else None


def _ceiling_left(ceiling: Ceiling | None, look: Look) -> Ceiling | None:
    """The ceiling while it holds. One that has ended is kept for a while: another trial that
    fails holds twice as long."""
    if ceiling is None or look.at >= ceiling.until + ceiling.held_s:
        return None
    is_cheaper = (
        not ceiling.is_downstream
        and ceiling.event_s is not None
        and look.event_s is not None
        and look.event_s * _SLOWER <= ceiling.event_s
    )
    if is_cheaper and look.at < ceiling.until:
        return replace(ceiling, until=look.at)
    return ceiling
