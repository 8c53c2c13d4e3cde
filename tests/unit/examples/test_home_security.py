"""The home-security example: what the homes say, and that what was shown is held to it."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homes.checking import differences, newest_of, report
from homes.fitting import LEAST, MOST, fitting
from homes.habits import EVENING_TIMES, HOURS, KINDS, Habits, Part, liveliness
from homes.world import Plan, World
from support.tree import ROOT
from tidegate.group_file.reading import read_group
from tidegate.handlers.loading import load
from tidegate.slices.naming import Version

HOMES = 40
PLAN = Plan(HOMES, seed=7, period_s=4.0, day_s=48.0)


def said(world: World, seconds: float, begin: float = 0.0) -> list[dict[str, object]]:
    return [
        json.loads(each.body)
        for step in range(1, int(seconds * 10) + 1)
        for each in world.say(begin + step / 10)
    ]


def test_one_seed_gives_one_world() -> None:
    assert said(World(PLAN, 0.0), 20) == said(World(PLAN, 0.0), 20)
    other = World(Plan(HOMES, seed=8, period_s=4.0, day_s=48.0), 0.0)
    assert said(other, 20) != said(World(PLAN, 0.0), 20)


@given(st.lists(st.floats(min_value=0.01, max_value=0.9), min_size=1, max_size=60))
def test_the_truth_is_what_was_said_however_the_time_is_cut(steps: list[float]) -> None:
    world, now, found = World(PLAN, 0.0), 0.0, Counter[tuple[object, object]]()
    for step in steps:
        now += step
        found.update((each["home"], each["kind"]) for each in said_at(world, now))
    assert {(home, kind): count for home, kind, count, _ in world.truth.rows()} == found
    assert world.truth.readings == found.total()


def said_at(world: World, now: float) -> list[dict[str, object]]:
    return [json.loads(each.body) for each in world.say(now)]


def test_homes_take_their_turns_in_order_and_read_every_sensor() -> None:
    found = said(World(PLAN, 0.0), 1.0)
    kinds = [kind.name for kind in KINDS]
    assert [each["kind"] for each in found] == kinds * (len(found) // len(kinds))
    homes = list(dict.fromkeys(each["home"] for each in found))
    assert homes == [f"home-{number:06}" for number in range(len(homes))]
    assert len(homes) == pytest.approx(HOMES / 4, abs=1)


def test_a_new_sensor_says_something_in_every_home_and_is_added_once() -> None:
    world = World(PLAN, 0.0)
    assert world.add_carbon_monoxide()
    assert not world.add_carbon_monoxide()
    found = said(world, 5.0)
    assert len({each["home"] for each in found if each["kind"] == "carbon-monoxide"}) == HOMES


def test_glass_that_breaks_is_an_alarm_of_that_home_at_once() -> None:
    world = World(PLAN, 0.0)
    world.raise_alarm(33)
    (first, *_) = [each for each in said_at(world, 0.01) if each["alarm"]]
    assert (first["home"], first["kind"], first["value"]) == ("home-000033", "glass", 1)
    assert ("home-000033", "glass", 1, 1) in world.truth.rows()


def test_evenings_are_livelier_and_a_burst_more_so() -> None:
    world = World(PLAN, 0.0)
    noon, evening = world.turns_per_s(40.0), world.turns_per_s(8.0)
    assert world.hour(40.0) == pytest.approx(12.0)
    assert world.hour(8.0) == pytest.approx(20.0)
    assert evening == pytest.approx(noon * EVENING_TIMES)
    world.burst(40.0)
    assert world.turns_per_s(41.0) == pytest.approx(noon * 6)


@given(st.floats(min_value=0, max_value=HOURS, exclude_max=True))
def test_everybody_is_somewhere_at_every_hour(hour: float) -> None:
    habits = Habits(5, 1)
    assert all(habits.part(home, hour) in Part for home in range(5))
    assert 1.0 <= liveliness(hour) <= EVENING_TIMES


def test_people_sleep_at_night_and_are_out_at_noon() -> None:
    habits = Habits(200, 3)
    assert {habits.part(home, 3.0) for home in range(200)} == {Part.ASLEEP}
    assert {habits.part(home, 13.0) for home in range(200)} == {Part.AWAY}


@pytest.mark.parametrize(
    ("cores", "free_gb", "reading_us", "fits"),
    [(16, 32, 4, MOST), (2, 8, 4, 10_000), (2, 8, 40, 1_000), (1, 0.5, 4, LEAST)],
)
def test_as_many_homes_as_the_machine_has_room_for(
    cores: int, free_gb: float, reading_us: float, fits: int
) -> None:
    assert fitting(cores, int(free_gb * (1 << 30)), reading_us / 1e6) == fits


def test_only_the_version_of_a_slice_that_has_most_is_compared() -> None:
    versions = [Version("0", 60, 9), Version("0", 60, 11), Version("1", 60, 3)]
    assert newest_of(versions) == [Version("0", 60, 11), Version("1", 60, 3)]


def test_a_reading_that_is_missing_or_twice_is_named() -> None:
    truth = {("h", "door"): (3, 1), ("h", "glass"): (1, 0)}
    assert report(truth, dict(truth)) == ("exact: 4 readings and 1 alarms in 2 totals", True)
    assert differences(truth, {("h", "door"): (4, 1)}) == [
        "h door: sent 3 (1 alarms), shown 4 (1 alarms)",
        "h glass: sent 1 (0 alarms), shown 0 (0 alarms)",
    ]


@pytest.mark.parametrize("name", ["activity-python", "activity-spark"])
def test_a_group_file_of_the_scenario_can_be_used(name: str) -> None:
    path = ROOT / "examples" / "home-security" / f"{name}.yaml"
    group = read_group(path.read_text(encoding="utf-8"), path.name)
    assert group.name == "activity"
    file, function = group.spec.handler.code.split(":")
    assert f"def {function}(" in (path.parent / file).read_text(encoding="utf-8")


def test_the_handler_of_the_scenario_loads() -> None:
    assert load("activity.py:handle", ROOT / "examples" / "home-security").on_time is not None
