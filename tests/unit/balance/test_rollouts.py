"""Rollouts: old members leave one by one while new ones come, and partitions move but once.

A rollout is told as a list of steps: who is present, who is leaving and who is expected. After each
step the plan is carried out, move by move in any order, until nothing moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from tidegate.balance import Snapshot, plan
from unit.balance.groups import (
    after,
    carried_out,
    counts_of,
    members,
    names,
    owners_of,
    unowned,
    with_members,
)
from unit.balance.reference import fewest_moves

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

SIZES = range(2, 17)


@dataclass
class Rollout:
    """A group in the middle of a rollout, and how often each partition has moved."""

    group: Snapshot
    dice: Random
    moved: Counter[str] = field(default_factory=Counter)
    fewest: int = 0  # the sum of the minimum of each step
    leaving: Sequence[str] = ()  # in the order in which they end
    # Whether a member may end before it has handed everything over.
    may_release: bool = False

    def step(
        self, present: Sequence[str], leaving: Sequence[str] = (), expected: Sequence[str] = ()
    ) -> None:
        self.group = replace(
            with_members(self.group, members(present, leaving), expected),
            leaving=tuple(self.leaving),
        )
        self.fewest += fewest_moves(self.group)
        while moves := plan(self.group).moves:
            move = self.dice.choice(moves)
            is_idle = move.source is None
            assert self.may_release or not is_idle, f"{move.partition} was idle: {move.reason}"
            self.moved[move.partition] += 1
            self.group = after(self.group, [move])

    def owned(self, name: str) -> int:
        return counts_of(self.group)[name]


def begin(
    size: int, partitions: int, seed: int, loads: Sequence[float] = ()
) -> tuple[Rollout, list[str], list[str]]:
    """The rollout, the old members in the order in which they go, the new ones as they come."""
    dice = Random(seed)
    old = list(names(size, "old"))
    group = Snapshot(members(old), unowned(partitions))
    if loads:
        loaded = zip(group.partitions, loads, strict=True)
        group = replace(group, partitions=tuple(replace(p, load=load) for p, load in loaded))
    while not (made := plan(group)).is_settled:
        group = carried_out(group, made)
    rollout = Rollout(group, dice)
    # Names of pods are random: the new may sort before the old or after.
    new = [f"{dice.choice('az')}new{number:02}" for number in range(size)]
    return rollout, dice.sample(old, size), dice.sample(new, size)


def assert_over(rollout: Rollout, new: Sequence[str], partitions: int) -> None:
    counts = counts_of(rollout.group)
    assert set(counts) <= set(new)
    assert max(counts.values()) - min(counts[name] for name in new) <= 1
    assert set(owners_of(rollout.group)) == {str(number) for number in range(partitions)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("partitions", [32, 45])
def test_each_partition_moves_once_when_one_is_marked_as_one_comes(
    size: int, partitions: int
) -> None:
    rollout, old, new = begin(size, partitions, seed=size)
    for done in range(1, size + 1):
        present = [*old[done - 1 :], *new[:done]]
        rollout.step(present, leaving=[old[done - 1]], expected=[*old[done:], *new[:done]])
        assert rollout.owned(old[done - 1]) == 0
        rollout.step(present[1:])
    assert_over(rollout, new, partitions)
    assert rollout.moved == {str(number): 1 for number in range(partitions)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("partitions", [32, 45])
def test_each_partition_moves_once_when_the_old_is_marked_before_the_new_is_there(
    size: int, partitions: int
) -> None:
    rollout, old, new = begin(size, partitions, seed=size)
    for done in range(1, size + 1):
        expected = [*old[done:], *new[:done]]
        going = old[done - 1]
        before = rollout.owned(going)
        rollout.step([*old[done - 1 :], *new[: done - 1]], [going], expected)
        assert rollout.owned(going) == before, "it waits for the one that replaces it"
        rollout.step([*old[done - 1 :], *new[:done]], [going], expected)
        assert rollout.owned(going) == 0
        rollout.step([*old[done:], *new[:done]], [], expected)
    assert_over(rollout, new, partitions)
    assert rollout.moved == {str(number): 1 for number in range(partitions)}


@pytest.mark.parametrize("size", range(4, 17, 4))
@pytest.mark.parametrize("partitions", [32, 45])
def test_each_partition_moves_once_in_a_surge_of_a_quarter(size: int, partitions: int) -> None:
    rollout, old, new = begin(size, partitions, seed=size)
    surge = size // 4
    for done in range(surge, size + 1, surge):
        going = old[done - surge : done]
        present = [*old[done - surge :], *new[:done]]
        rollout.dice.shuffle(present)
        rollout.step(present, going, [*old[done:], *new[:done]])
        rollout.step([name for name in present if name not in going])
    assert_over(rollout, new, partitions)
    assert rollout.moved == {str(number): 1 for number in range(partitions)}


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12, 16])
@pytest.mark.parametrize("partitions", [16, 32])
def test_a_new_member_that_comes_before_the_old_is_marked_costs_the_minimum_of_each_step(
    size: int, partitions: int
) -> None:
    # It counts as one more member from the moment it is there, so a part of what the old one then
    # gives away goes to old members and moves again later. No plan knows which old one will go.
    rollout, old, new = begin(size, partitions, seed=size)
    for done in range(1, size + 1):
        present = [*old[done - 1 :], *new[:done]]
        rollout.step(present)
        rollout.step(present, leaving=[old[done - 1]])
        rollout.step(present[1:])
    assert_over(rollout, new, partitions)
    assert rollout.moved.total() == rollout.fewest
    assert rollout.moved.total() <= 2 * partitions


@pytest.mark.parametrize("size", range(3, 17))
@pytest.mark.parametrize("partitions", [16, 17, 32, 45])
def test_each_partition_moves_once_when_the_next_is_marked_before_the_last_has_handed_over(
    size: int, partitions: int
) -> None:
    """Kubernetes makes the next new pod and ends the old one in the same moment."""
    rollout, old, new = begin(size, partitions, seed=size)
    # An odd partition may wait for the next new member, and is released then.
    rollout.may_release = bool(partitions % size)
    roll_with_overlap(rollout, old, new)
    assert_over(rollout, new, partitions)
    assert rollout.moved == {str(number): 1 for number in range(partitions)}


def roll_with_overlap(rollout: Rollout, old: Sequence[str], new: Sequence[str]) -> None:
    for done in range(1, len(old)):
        going, next_going = old[done - 1], old[done]
        expected = [*old[done + 1 :], *new[: done + 1]]
        rollout.leaving = [going, next_going]
        here = [*old[done - 1 :], *new[:done]]
        rollout.step(here, [going, next_going], expected)
        assert rollout.owned(going) <= rollout.may_release, "it has handed everything over"
        rollout.leaving = [next_going]
        rollout.step([name for name in here if name != going], [next_going], expected)
    rollout.step([old[-1], *new], [old[-1]], new)
    rollout.step(new)


LOADS: dict[str, Callable[[Random], float]] = {
    "about equal": lambda dice: 0.1 * dice.uniform(0.5, 1.5),
    "a few times as high as others": lambda dice: 0.05 * dice.paretovariate(1.5),
    "one above all others": lambda dice: 1.0 if dice.random() < 0.06 else 0.05,
}


@pytest.mark.parametrize("loads", LOADS)
def test_each_partition_moves_once_then_whatever_the_loads_are(loads: str) -> None:
    for seed in range(30):
        dice = Random(seed)
        drawn = [LOADS[loads](dice) for _ in range(16)]
        rollout, old, new = begin(4, 16, seed, drawn)
        roll_with_overlap(rollout, old, new)
        assert rollout.moved == {str(number): 1 for number in range(16)}, seed


@pytest.mark.parametrize("size", SIZES)
def test_each_partition_moves_once_when_all_are_marked_before_the_first_new_one_comes(
    size: int,
) -> None:
    rollout, old, new = begin(size, 32, seed=size)
    for done in range(size + 1):
        rollout.step([*old, *new[:done]], old, new)
        assert done == size or sum(rollout.owned(name) for name in old) > 0
    rollout.step(new, [], new)
    assert_over(rollout, new, 32)
    assert rollout.moved == {str(number): 1 for number in range(32)}


ROLLOUTS = 1000


@pytest.mark.slow
def test_each_partition_moves_once_in_a_thousand_random_rollouts() -> None:
    """Of any size and surge, the old marked before the new are there or as they come."""
    for seed in range(ROLLOUTS):
        dice = Random(seed)
        size, partitions = dice.randint(1, 6), dice.randint(1, 20)
        rollout, old, new = begin(size, partitions, seed)
        done = 0
        while done < size:
            before, done = done, min(size, done + dice.randint(1, size))
            going, expected = old[before:done], [*old[done:], *new[:done]]
            if dice.random() < 0.5:
                rollout.step([*old[before:], *new[:before]], going, expected)
            come = dice.sample(range(before, done), done - before)
            for count in range(1, len(come) + 1):
                here = [new[number] for number in come[:count]]
                rollout.step([*old[before:], *new[:before], *here], going, expected)
            rollout.step([*old[done:], *new[:done]], [], expected)
        assert_over(rollout, new, partitions)
        assert rollout.moved == {str(number): 1 for number in range(partitions)}, seed
    print(f"\n{ROLLOUTS} random rollouts")
