"""The rate that is told of a partition follows a rise at once, and is not fooled by chance."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tidegate.ops.arriving import End, arriving

WINDOW_S, HEARS_S = 15.0, 0.5


def ends(came: Callable[[float], float], until: float) -> list[End]:
    """What is known of a partition, by what has come up to each time; heard twice a second."""
    times = [until - HEARS_S * back for back in range(int(WINDOW_S / HEARS_S), -1, -1)]
    return [End(at, int(came(at))) for at in times]


def risen(before: float, after: float, at: float) -> Callable[[float], float]:
    return lambda now: before * min(now, at) + after * max(now - at, 0.0)


def test_the_mean_is_told_where_nothing_rises() -> None:
    assert arriving(ends(lambda now: 20.0 * now, 60.0)) == pytest.approx(20.0)
    assert arriving([End(0.0, 7)]) is None
    assert arriving([End(0.0, 7), End(60.0, 8)]) == pytest.approx(1 / 60)
    assert arriving([End(0.0, 7), End(1.0, 3)]) == 0.0, "a hub that was made anew"


@pytest.mark.parametrize("phase", [0.0, 0.1, 0.2, 0.3, 0.4])
@pytest.mark.parametrize(("before", "after"), [(1.0, 12.0), (20.0, 200.0), (0.0, 50.0)])
def test_a_rise_is_told_as_high_as_it_is_within_two_seconds_and_never_half(
    before: float, after: float, phase: float
) -> None:
    """Whenever it rises between two times at which the source says something."""
    came = risen(before, after, 100.0 + phase)
    told = {at: arriving(ends(came, at)) or 0.0 for at in (100.5, 101.0, 101.5, 102.0, 102.5)}
    mean = max(told[100.5], before + (after - before) * 1.6 / WINDOW_S)
    for at, rate in told.items():
        assert rate <= mean or rate == pytest.approx(after, rel=0.1), at
    assert told[102.0] == pytest.approx(after, rel=0.1)


def test_chance_makes_no_rise() -> None:
    """Four partitions for a quarter of an hour, in which events come as chance has it."""
    dice = Random(16)
    for _ in range(4):
        every = [End(0.0, 0)]
        while every[-1].at < 900.0:
            events = sum(dice.random() < 0.02 for _ in range(300))
            every.append(End(every[-1].at + HEARS_S, every[-1].sequence + events))
        for last in range(30, len(every)):
            known = every[last - 30 : last + 1]
            mean = (known[-1].sequence - known[0].sequence) / WINDOW_S
            assert arriving(known) == pytest.approx(mean), known[-1]


def test_a_batch_now_and_then_is_no_rise() -> None:
    """Fifty at once every five seconds, which is when the source says something, and between."""
    told = []
    for batch in range(1, 20):
        told += [End(batch * 5.0 - 0.1, (batch - 1) * 50), End(batch * 5.0, batch * 50)]
    for last in range(8, len(told)):
        assert arriving(told[last - 6 : last + 1]) == pytest.approx(10.0, rel=0.7)
