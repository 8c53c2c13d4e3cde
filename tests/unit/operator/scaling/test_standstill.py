"""Partitions that nobody reads on although somebody owns them: given away, set aside, tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.scaling import PartitionSample, Sample, Watch
from tidegate_operator.scaling.standstill import watched

LIMIT_S = 120.0
TAKERS = {"m0": 4, "m1": 4, "m2": 3}


class Watching:
    """Looks at one partition, ten seconds apart; events come to it all the time."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.at = 0.0
        self.seen = PartitionSample(lag=10, owner="m0", end=100, handled=89)
        self.pinned: set[str] = set()
        self.takers = dict(TAKERS)

    def look(self, seconds: float = 10.0, **facts: object) -> Watch:
        """For so long, with these facts from now on."""
        self.seen = replace(self.seen, **facts)  # type: ignore[arg-type]
        for _ in range(int(seconds / 10.0)):
            self.at += 10.0
            if "end" not in facts and self.seen.end is not None:
                self.seen = replace(self.seen, end=self.seen.end + 5)
            sample = Sample(self.at, {"3": self.seen}, replicas=3, members=3)
            self.watch = watched(self.watch, sample, self.takers, self.pinned, LIMIT_S)
        return self.watch


@pytest.fixture
def world() -> Watching:
    return Watching()


def test_a_partition_that_is_read_on_is_left_alone(world: Watching) -> None:
    for handled in range(89, 189):
        assert world.look(handled=handled).standing == ()


def test_one_that_stands_still_is_given_to_whoever_has_the_fewest(world: Watching) -> None:
    assert world.look(LIMIT_S).standing == ()
    (standing,) = world.look(10.0).standing
    assert (standing.partition, standing.tried, standing.to) == ("3", ("m0",), "m2")
    assert world.watch.pins == {"3": "m2"}
    assert "stands at 89 while events come, although m0 owned it" in standing.text


def test_the_pin_goes_when_its_new_owner_reads_on(world: Watching) -> None:
    world.look(LIMIT_S + 10.0)
    world.look(20.0, owner="m2")
    assert world.look(10.0, handled=95).standing == ()
    assert world.watch.pins == {}


def test_where_the_second_owner_stands_still_as_well_nobody_reads_it_for_a_while(
    world: Watching,
) -> None:
    world.look(LIMIT_S + 10.0)
    world.look(LIMIT_S + 20.0, owner="m2")
    assert world.watch.quarantined == {"3"}
    assert world.watch.pins == {}
    assert "nobody reads it for a while" in world.watch.standing[0].text
    world.look(880.0, owner=None)
    assert world.watch.quarantined == {"3"}
    world.look(40.0)
    assert world.watch.quarantined == frozenset(), "it is tried again"


def test_the_next_quarantine_is_twice_as_long(world: Watching) -> None:
    def until(*, is_set_aside: bool) -> float:
        begun = world.at
        while bool(world.look(10.0).quarantined) is not is_set_aside:
            world.seen = replace(world.seen, owner=world.watch.pins.get("3", "m0"))
            assert world.at - begun < 5000.0
        return world.at - begun

    lengths = []
    for _ in range(2):
        until(is_set_aside=True)
        lengths.append(until(is_set_aside=False))
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=0.05)


@pytest.mark.parametrize(
    "facts",
    [
        {"is_stuck": True},
        {"is_paused": True},
        {"lag": None},
        {"handled": None},
        {"end": None},
        {"lag": 0},
        {"owner": None},
    ],
    ids="".join,
)
def test_what_fails_is_paused_or_is_not_known_does_not_stand_still(
    world: Watching, facts: dict[str, object]
) -> None:
    for _ in range(60):
        assert world.look(10.0, **facts).standing == ()


def test_a_partition_to_which_nothing_comes_does_not_stand_still(world: Watching) -> None:
    for _ in range(60):
        assert world.look(10.0, end=95).standing == ()


def test_what_a_person_has_pinned_stays_and_is_told(world: Watching) -> None:
    world.pinned = {"3"}
    (standing,) = world.look(LIMIT_S + 10.0).standing
    assert standing.to is None
    assert world.watch.pins == {}
    assert "nobody else to give it to" in standing.text


def test_another_owner_is_given_its_time(world: Watching) -> None:
    world.look(LIMIT_S)
    assert world.look(LIMIT_S, owner="m1").standing == ()
