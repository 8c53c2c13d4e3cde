"""What is done to a group in a run, and in which order: drawn from one seed.

    planned(random.Random(7).random, 180, {"pods", "proxy", "operator", "hub"})

Rules: pure; the same dice, time and abilities give the same plan. Whatever proves a property comes
once before anything comes twice, as far as there is time, the long ones last; what a kind needs
that is not there leaves it out, and the report says so. What one step began the next one ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to disturb a group: how long it takes until all is well, and what it wants."""

    name: str
    text: str
    takes_s: float
    needs: frozenset[str]
    # Of which round: what proves something, what proves something and takes long, the others.
    turn: int = 2


def _kind(name: str, text: str, takes_s: float, *needs: str, turn: int = 2) -> Kind:
    return Kind(name, text, takes_s, frozenset(needs), turn)


KINDS: dict[str, Kind] = {
    each.name: each
    for each in (
        _kind("kill", "a consumer gets SIGKILL and begins again in its place", 10, "exec",
              turn=0),
        _kind("delete", "a pod is deleted, and hands over", 12, "pods", turn=0),
        _kind("scale-in", "one consumer less", 10, "scale", turn=0),
        _kind("scale-out", "one consumer more", 10, "scale", turn=0),
        _kind("storage-errors", "storage is slow, refuses requests and loses replies for 8 s", 14,
              "proxy", turn=0),
        _kind("hub-cut", "the hub is out of reach for 10 s", 16, "proxy", "hub"),
        _kind("storage-away", "storage is out of reach until nobody knows the lag; the operator "
              "may choose the size then, and goes on when it is back", 130, "proxy", turn=1),
        _kind("operator-away", "there is no operator for 20 s, and a consumer is killed", 30,
              "operator", "exec", turn=0),
        _kind("operators", "two operators, and the one that acts is deleted", 20, "operator",
              turn=0),
        _kind("shut", "a NetworkPolicy shuts the consumers' ports to one pod, which tries", 24,
              "scale", turn=0),
        _kind("split", "a range of the container is split", 22, "ranges", turn=0),
        _kind("merge", "two ranges of the container are merged", 22, "ranges", turn=0),
        _kind("executor", "the pod of an executor is deleted", 30, "spark", turn=0),
        _kind("driver", "the driver of Spark is deleted by force", 60, "spark"),
        _kind("break-lease", "a lease is broken by hand", 10, "pods"),
        _kind("force", "a pod is deleted by force: nothing is confirmed", 26, "pods"),
        _kind("pause", "a consumer stands still for longer than a lease", 34, "exec"),
        _kind("storage-cut", "storage is out of reach for 8 s", 16, "proxy"),
        _kind("rollout", "every pod is replaced by one of a new revision", 30, "pods"),
    )
}  # fmt: skip
# One follows the other, so that the group is as large as before.
_PAIRS = {"scale-in": "scale-out", "split": "merge"}
# After each, so that it can be seen that nothing moves.
CALM_S = 3.0


@dataclass(frozen=True, slots=True)
class Step:
    """One disturbance. `dice` says which of those that there are then it is done to."""

    kind: str
    dice: float


def planned(
    dice: Callable[[], float], seconds: float, can: Collection[str], only: Collection[str] = ()
) -> list[Step]:
    """As much as fits into the time, by what each takes; a run takes fewer where they take longer.
    `only`: these kinds, and what ends them; all without.

    A longer run with the same dice begins with the same steps.
    """
    there = [
        each for each in KINDS.values()
        if each.needs <= set(can) and (not only or each.name in only)
    ]  # fmt: skip
    rounds = []
    for turn in range(3):
        names = _unpaired(each.name for each in there if each.turn == turn)
        rounds.append(sorted(names, key=lambda _: dice()))
    steps: list[Step] = []
    left = seconds
    for names in rounds:
        left = _added(steps, names, dice, left)
    again = _unpaired(each.name for each in there)
    while again and left > 0:
        left = _added(steps, [again[int(dice() * len(again))]], dice, left)
    return steps


def _unpaired(names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in _PAIRS.values()]


def _added(
    steps: list[Step], names: Iterable[str], dice: Callable[[], float], left: float
) -> float:
    """Adds those that fit, in order; the time that is left then."""
    for name in names:
        left -= takes_s(name)
        if left < 0:
            return left
        both = [each for each in (name, _PAIRS.get(name)) if each is not None]
        steps += [Step(each, dice()) for each in both]
    return left


def takes_s(name: str) -> float:
    """With the one that ends what it begins."""
    both = [each for each in (name, _PAIRS.get(name)) if each is not None]
    return sum(KINDS[each].takes_s + CALM_S for each in both)


def is_begun(name: str, last: str, left_s: float) -> bool:
    """Whether a step is done with so much time left, after the last one that was. One that ends
    what the last one began always is, and never without that."""
    if name in _PAIRS.values():
        return _PAIRS.get(last) == name
    return takes_s(name) <= left_s


def left_out(can: Collection[str]) -> dict[str, str]:
    """The kinds that a run of these abilities cannot have, each with what it lacks."""
    return {
        name: ", ".join(sorted(kind.needs - set(can)))
        for name, kind in KINDS.items()
        if not kind.needs <= set(can)
    }
