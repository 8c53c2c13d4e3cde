"""Loads for the little world in which groups are sized, and what holds after each of them."""

from __future__ import annotations

from tidegate_operator.scaling import Report
from unit.operator.sized_world import SizedWorld

TEN_FOLD_AT, TEN_FOLD_S = 300.0, 300.0


def ten_fold(_: int, seconds: float) -> float:
    """Of each of eight partitions: 40 events/s in all, and ten times as many for a while."""
    return 50.0 if TEN_FOLD_AT <= seconds < TEN_FOLD_AT + TEN_FOLD_S else 5.0


def report_of(world: SizedWorld) -> Report:
    """Why it has the size that it has, as it was decided last."""
    report = world.operators[0].memory.sizing.report
    assert report is not None
    return report


def assert_sound(world: SizedWorld) -> None:
    """Nobody was stopped with partitions in hand, and no number was out of bounds."""
    assert world.problems == []
    partitions = len(world.queues)
    most = max(min(world.policy.max, partitions), world.policy.min)
    assert all(world.policy.min <= count <= most for count in world.counts)
