"""A load that stays as it is: the size is found, and stays as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.scaling import PartitionSample, Policy, Reason, Sample
from tidegate_operator.scaling.proven import Proven, proven_of
from tidegate_operator.scaling.rates import (
    FIGURES_S,
    Costs,
    costs_of,
    full_share,
    unsettled_of,
    works_of,
)
from unit.operator.scaling.small_traffic import Traffic

SHORTLY = Policy(stable_s=30.0)


def partition(lag: int = 0, owner: str = "a", handling: float = 25.0) -> PartitionSample:
    return PartitionSample(lag=lag, owner=owner, handling=handling, busy=1.0)


def look(at: float, *seen: PartitionSample, replicas: int = 2, members: int = 2) -> Sample:
    rows = {str(place): each for place, each in enumerate(seen)}
    return Sample(at, rows, replicas, members)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [60, 80, 100, 120, 160])
def test_a_steady_load_settles_also_where_partitions_of_one_consumer_hold_each_other_up(
    rate: int,
) -> None:
    """With twice as many consumers each event is seen to take half as long, and the other way."""
    world = Traffic(
        lambda _, __: rate / 8, policy=SHORTLY, partitions=8, rate=lambda _: 50.0, holds_up=True
    ).run(200)
    found = world.replicas
    assert found * 50 >= rate
    assert world.run(1200).replicas == found
    assert [at for at, _, _ in world.changes if at > 200] == []
    assert world.worst_s < 30


@pytest.mark.slow
def test_what_was_seen_to_be_enough_is_no_reason_to_stay_when_more_comes() -> None:
    world = Traffic(
        lambda _, s: (100 if s < 600 else 180) / 8, policy=SHORTLY, partitions=8,
        rate=lambda _: 50.0, holds_up=True,
    ).run(600)  # fmt: skip
    assert world.replicas <= 4
    world.run(60)
    assert world.replicas >= 4 and world.worst_s < 30
    assert world.changes[-1][2].reason in (Reason.ARRIVALS, Reason.BACKLOG)


# --- what was seen to be enough


def seen_for(seconds: int, sample: Sample, before: Proven | None = None) -> Proven:
    found = before or Proven()
    for at in range(0, seconds + 1, 2):
        found = proven_of(found, replace(sample, at=sample.at + at))
    return found


def test_what_is_handled_while_nothing_waits_is_seen_to_be_enough() -> None:
    found = seen_for(int(FIGURES_S), look(0.0, partition(), partition(owner="b")))
    assert found.rate == 50.0
    assert found.is_enough(2, 54.0, FIGURES_S)
    assert not found.is_enough(2, 56.0, FIGURES_S), "more comes than was ever handled"
    assert not found.is_enough(1, 10.0, FIGURES_S), "others were not seen"


def test_figures_of_a_time_before_say_nothing_of_as_many_as_there_are() -> None:
    found = seen_for(int(FIGURES_S) - 2, look(0.0, partition(), partition(owner="b")))
    assert not found.is_enough(2, 1.0, FIGURES_S)


@pytest.mark.parametrize(
    "waiting",
    [
        look(20.0, partition(), partition(lag=60, owner="b")),
        look(20.0, partition(), PartitionSample(owner="b")),
    ],
    ids=["waits", "unknown"],
)
def test_while_something_waits_or_is_not_known_nothing_is_seen_to_be_enough(
    waiting: Sample,
) -> None:
    assert not seen_for(60, waiting).is_enough(2, 1.0, 80.0)
    calm = seen_for(20, look(0.0, partition(), partition(owner="b")))
    assert calm.is_enough(2, 1.0, 20.0)
    assert not proven_of(calm, waiting).is_enough(2, 1.0, 20.0)


@pytest.mark.parametrize(
    "other",
    [
        look(20.0, partition(), replicas=3, members=3),
        look(20.0, partition(), members=1),
        replace(look(20.0, partition()), is_settled=False),
    ],
    ids=["another number", "one is missing", "a rollout"],
)
def test_it_is_forgotten_with_the_number_that_it_was_seen_with(other: Sample) -> None:
    found = seen_for(int(FIGURES_S), look(0.0, partition(), partition(owner="b")))
    assert not proven_of(found, other).is_enough(2, 1.0, 60.0)


# --- who has let go of partitions


def test_nothing_is_learnt_from_who_has_let_go_of_a_partition_until_its_figures_are_new() -> None:
    """What it handled of the one that it kept was a share of its time."""
    both = look(0.0, partition(200), partition(200))
    one = look(2.0, partition(200), PartitionSample(lag=200, owner="b"))
    unsettled = unsettled_of({}, both, one)
    assert set(unsettled) == {"a"}
    works = works_of(one, without=unsettled.keys())
    assert full_share(works) == 0.0
    assert costs_of(Costs(), works, 2.0, 2.0).per_member is None
    assert costs_of(Costs(), works_of(one), 2.0, 2.0).per_member == 25.0, "as if that were all"
    assert set(unsettled_of(unsettled, one, replace(one, at=2.0 + FIGURES_S - 1))) == {"a"}
    assert not unsettled_of(unsettled, one, replace(one, at=2.0 + FIGURES_S))


def test_nothing_is_learnt_from_who_has_just_begun_to_say_what_it_handles() -> None:
    """The first figures are of a moment: of some partitions nothing has been handled in it."""
    nobody = look(0.0, PartitionSample(lag=200), PartitionSample(lag=200))
    taken = look(2.0, PartitionSample(lag=200, owner="a"), PartitionSample(lag=200, owner="a"))
    begun = look(3.0, partition(200, handling=8.0), partition(200, handling=0.0))
    unsettled = unsettled_of(unsettled_of({}, nobody, taken), taken, begun)
    assert set(unsettled) == {"a"}
    assert works_of(begun, without=unsettled.keys()) == ()
    later = replace(look(7.0, partition(200), partition(200)))
    assert not unsettled_of(unsettled, begun, later)
    warming = unsettled_of(unsettled_of({}, nobody, taken), taken, begun, is_cost_known=True)
    assert unsettled_of(warming, begun, later), "what is known is not given up for slow beginnings"
    assert not unsettled_of(warming, begun, replace(later, at=3.0 + FIGURES_S))


def test_an_operator_that_begins_learns_nothing_from_who_may_have_taken_or_let_go_just_before() -> (
    None
):
    first = look(0.0, partition(200), partition(200, owner="b"))
    unsettled = unsettled_of({}, None, first)
    assert set(unsettled) == {"a", "b"}
    assert not unsettled_of(unsettled, first, replace(first, at=FIGURES_S))
