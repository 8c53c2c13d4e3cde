"""Members that measure their partitions' loads: hot ones get a member for themselves, and whatever
else differs between members or wavers moves nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from unit.balance.groups import names
from unit.balance.measured_group import MeasuredGroup, Stream, in_bursts, noisy

# Hours of a group's life: `make test` runs them.
pytestmark = pytest.mark.slow

RATE = 100.0
MINUTE_S = 60.0
SEEDS = range(2)


def group_of(
    partitions: int,
    members: int,
    load: float,
    seed: int,
    *,
    arriving: Callable[[float, Random], Callable[[float], float]] | None = None,
    spread: float = 0.0,
    more_events: dict[int, float] | None = None,
    dearer: dict[int, float] | None = None,
    slowness: dict[str, float] | None = None,
) -> MeasuredGroup:
    """Partitions of about this load, dealt out in turn; some with more or dearer events."""
    dice, there = Random(seed), names(members)
    come = arriving or (lambda rate, dice: noisy(rate, 0.3, dice))
    streams = []
    for number in range(partitions):
        rate = RATE * (1 + dice.uniform(-spread, spread)) * (more_events or {}).get(number, 1.0)
        event_s = load / RATE * (dearer or {}).get(number, 1.0)
        streams.append(Stream(come(rate, dice), event_s, there[number % members]))
    return MeasuredGroup(streams, there, slowness or {})


# -- what moves


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("what", ["more_events", "dearer"])
def test_a_hot_partition_gets_a_member_for_itself_and_all_else_stands_still(
    what: str, seed: int
) -> None:
    group = group_of(16, 4, 0.09, seed, **{what: {5: 10.0}})  # type: ignore[arg-type]
    moves = group.run(5 * MINUTE_S)
    owner = group.streams["5"].owner
    assert owner == "m01", "its owner keeps it and gives the others: the fewest moves"
    assert group.owned_by(owner) == ["5"]
    assert sorted(move.partition for move in moves) == ["1", "13", "9"]
    assert group.run(10 * MINUTE_S) == []


def test_a_hot_partition_that_cools_down_gets_company_again_and_once() -> None:
    rate = {"now": 10 * RATE}
    group = group_of(16, 4, 0.09, 1)
    group.streams["5"].arriving = lambda _: rate["now"]
    group.run(5 * MINUTE_S)
    assert group.owned_by("m01") == ["5"]
    rate["now"] = RATE
    moves = group.run(15 * MINUTE_S)
    assert len(moves) == 3
    assert set(group.counts().values()) == {4}
    assert group.run(10 * MINUTE_S) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_events_of_two_kinds_are_evened_out_in_one_go(seed: int) -> None:
    """All partitions of m00 have the dear kind, which looks like a slow member at first."""
    dear = Random(seed).sample(range(32), 8)
    group = group_of(32, 8, 0.09, seed, dearer=dict.fromkeys({0, 8, 16, 24, *dear}, 10.0))
    group.run(15 * MINUTE_S)
    assert group.run(10 * MINUTE_S) == []
    assert set(group.counts().values()) == {4}


# -- what moves nothing


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("load", [0.03, 0.075, 0.2])
def test_partitions_whose_rates_waver_and_differ_by_30_percent_stay(load: float, seed: int) -> None:
    assert group_of(32, 8, load, seed, spread=0.3).run(10 * MINUTE_S) == []


@pytest.mark.parametrize("every_s", [30.0, 60.0])
def test_events_that_come_in_bursts_move_nothing(every_s: float) -> None:
    for seed in SEEDS:
        group = group_of(
            32, 8, 0.1, seed, arriving=lambda rate, dice: in_bursts(rate, every_s, dice)
        )
        assert group.run(10 * MINUTE_S) == []


@pytest.mark.parametrize("partitions", [12, 16, 32])
@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_a_member_that_is_slower_than_the_others_keeps_its_partitions(
    partitions: int, factor: float
) -> None:
    group = group_of(partitions, 8, 0.2, 1, slowness={"m02": factor})
    assert group.run(10 * MINUTE_S) == []


@pytest.mark.parametrize("partitions", [12, 16, 32])
@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_where_half_of_the_members_are_slower_all_stands_still_after_some_minutes(
    partitions: int, factor: float
) -> None:
    slowness = dict.fromkeys(names(8)[:4], factor)
    group = group_of(partitions, 8, 0.2, 1, slowness=slowness)
    # A single partition on a fast member looks cheap, until it has had company.
    assert len(group.run(20 * MINUTE_S)) <= (8 if partitions == 12 else 0)
    assert group.run(10 * MINUTE_S) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_backlog_is_no_load(seed: int) -> None:
    """An hour's events wait in a few partitions: their handlers work all the time."""
    group = group_of(16, 4, 0.1, seed)
    for number in (0, 1, 4, 8):
        group.streams[str(number)].backlog = 3600 * RATE
    assert group.run(10 * MINUTE_S) == []
    assert max(group.announced().values()) < 0.13


def test_a_handler_that_cannot_keep_up_has_a_load_of_1() -> None:
    group = group_of(4, 2, 2.5, 1)
    assert group.run(5 * MINUTE_S) == []
    assert set(group.announced().values()) == {1.0}
