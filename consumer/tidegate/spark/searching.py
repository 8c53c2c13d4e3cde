"""What to do with turns whose batch failed: again, in halves, aside. Pure.

A suspect is a set of turns that failed together. It is tried again as it is, and after so many
failures in halves: first half of its partitions, then, where events may be put aside, half of the
range, until one event is left, which has all attempts of its own before it is put aside.

Rules:
- Partitions are told apart whatever the policy: one that fails shall not hold up the others.
- Ranges are split only where events may be put aside, and are tried from left to right, so that
  what is handled is always a beginning.
- A failure that is no fault of the events (an executor was lost, a batch was not read whole) is
  waited out: it never splits anything and never puts anything aside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.delivery.policy import OnFailure, Policy
from tidegate.model import PartitionId, Position
from tidegate.spark.positions import Turn

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Suspect:
    """See the module."""

    turns: tuple[Turn, ...]
    # Of these very turns: by fault of the events, and all of them.
    failures: int = 0
    tries: int = 0
    is_split: bool = False
    not_before: float = 0.0
    error: str = ""
    # Of a single partition: the ends of the ranges that are to be tried after this one.
    then: tuple[int, ...] = ()

    @property
    def partitions(self) -> frozenset[PartitionId]:
        return frozenset(turn.partition for turn in self.turns)

    def of_one_event(self) -> bool:
        return len(self.turns) == 1 and self.turns[0].events == 1


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a batch failed. `dice` (0 to 1) takes away up to a half of a wait."""

    error: str
    now: float
    dice: float
    blames_events: bool = True


def suspected(policy: Policy, turns: tuple[Turn, ...], fault: Fault) -> tuple[Suspect, ...]:
    """What follows the first failure of turns."""
    return failed(policy, Suspect(turns), fault) if turns else ()


def failed(policy: Policy, suspect: Suspect, fault: Fault) -> tuple[Suspect, ...]:
    """What follows another failure of a suspect."""
    failures = suspect.failures + fault.blames_events
    is_over = suspect.is_split or failures >= policy.attempts
    if fault.blames_events and is_over:
        halves = _halves(policy, suspect)
        if halves:
            return tuple(
                replace(half, is_split=True, not_before=fault.now, error=fault.error)
                for half in halves
            )
    tries = suspect.tries + 1
    suspect = replace(suspect, failures=failures, tries=tries, error=fault.error)
    pause_s = policy.backoff.pause_s(tries, fault.dice)
    if is_halted(policy, suspect) or is_for_aside(policy, suspect):
        pause_s = NEVER
    return (replace(suspect, not_before=fault.now + pause_s),)


def is_for_aside(policy: Policy, suspect: Suspect) -> bool:
    """Whether its one event is to be put aside."""
    is_used_up = suspect.failures >= policy.attempts
    return policy.on_failure is OnFailure.DEAD_LETTER and is_used_up and suspect.of_one_event()


def is_halted(policy: Policy, suspect: Suspect) -> bool:
    """Whether its one partition stands still."""
    is_used_up = suspect.failures >= policy.attempts
    return policy.on_failure is OnFailure.HALT and is_used_up and len(suspect.turns) == 1


def passed(suspect: Suspect, position: Position) -> Suspect | None:
    """What is left of a suspect that was handled, or put aside: its later ranges.

    `position` is where its one partition stands now.
    """
    if not suspect.then:
        return None
    to, *then = suspect.then
    turn = replace(suspect.turns[0], after=position, to=to)
    if turn.events <= 0:
        return passed(replace(suspect, then=tuple(then)), position)
    return Suspect((turn,), is_split=True, error=suspect.error, then=tuple(then))


def left_of(suspect: Suspect, positions: dict[PartitionId, Position]) -> Suspect | None:
    """A suspect without the partitions that stand elsewhere by now, or are not ours any more."""
    turns = tuple(turn for turn in suspect.turns if positions.get(turn.partition) == turn.after)
    if len(turns) == len(suspect.turns):
        return suspect
    return replace(suspect, turns=turns) if turns else None


def _halves(policy: Policy, suspect: Suspect) -> tuple[Suspect, ...]:
    """Two that are smaller; none where it cannot be split, or need not be."""
    turns = suspect.turns
    if len(turns) > 1:
        middle = len(turns) // 2
        return Suspect(turns[:middle]), Suspect(turns[middle:])
    (turn,) = turns
    if policy.on_failure is not OnFailure.DEAD_LETTER or turn.events <= 1:
        return ()
    middle = turn.after.sequence + turn.events // 2
    return (Suspect((replace(turn, to=middle),), then=(turn.to, *suspect.then)),)
