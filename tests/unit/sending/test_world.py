"""Generated sensors and their pace: one seed is one world, and a rate holds over the whole run."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.sending.pace import Pace
from tidegate.sending.sensors import KINDS, readings, world


def test_a_seed_gives_the_same_world_again() -> None:
    def drawn(seed: int) -> list[bytes]:
        events = world(7, random.Random(seed).random, lambda: 1.0)
        return [event.body for event in itertools.islice(events, 500)]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_each_sensor_of_a_home_reads_once_a_turn_and_the_home_is_the_key() -> None:
    events = readings(42, 9, 1_700_000_000.5, random.Random(1).random)
    found = [json.loads(event.body) for event in events]
    assert [each["kind"] for each in found] == ["motion", "door", "window", "glass", "smoke"]
    assert {event.key for event in events} == {"home-000042"}
    for each in found:
        assert each["sensor"] == f"home-000042/{each['kind']}"
        assert (each["home"], each["turn"], each["at"]) == ("home-000042", 9, 1_700_000_000.5)


def test_turns_of_a_home_have_no_gap() -> None:
    events = world(3, random.Random(1).random, lambda: 0.0)
    found = [json.loads(event.body) for event in itertools.islice(events, 3 * len(KINDS) * 4)]
    turns = [each["turn"] for each in found if each["sensor"] == "home-000001/door"]
    assert turns == [0, 1, 2, 3]


def test_only_doors_windows_glass_and_smoke_raise_alarms_and_motion_is_the_most_common() -> None:
    dice = random.Random(1).random
    found = [
        json.loads(event.body) for home in range(20_000) for event in readings(home, 0, 0.0, dice)
    ]
    said = Counter(each["kind"] for each in found if each["value"])
    alarms = Counter(each["kind"] for each in found if each["alarm"])
    assert alarms == said - Counter({"motion": said["motion"]})
    for kind in KINDS:
        assert said[kind.name] == pytest.approx(20_000 * kind.odds, rel=0.5, abs=8)


@given(
    st.floats(1, 10_000), st.lists(st.floats(0.0001, 0.9), min_size=1, max_size=40),
    st.integers(1, 20_000),
)  # fmt: skip
def test_never_more_is_due_than_the_rate_says(
    rate: float, pauses: list[float], at_once: int
) -> None:
    pace, now, given_out = Pace(rate, 0.0, at_once), 0.0, 0
    for pause in pauses:
        now += pause
        due = pace.due(now)
        assert 0 <= due <= at_once
        given_out += due
        assert given_out <= now * rate + 1e-6


@given(st.floats(1, 5_000), st.lists(st.floats(0.0001, 0.5), min_size=5, max_size=60))
def test_what_short_pauses_held_up_is_made_good(rate: float, pauses: list[float]) -> None:
    pace, now, given_out = Pace(rate, 0.0, 1_000_000), 0.0, 0
    for pause in pauses:
        now += pause
        given_out += pace.due(now)
    assert given_out == pytest.approx(now * rate, abs=1.001)


def test_after_a_long_pause_at_most_a_second_is_made_good() -> None:
    pace = Pace(64.0, 0.0, 1_000_000)
    assert pace.due(60.0) == 65
    assert pace.due(60.0) == 0
    assert pace.due(61.0) == 64


def test_a_rate_below_one_a_second_is_kept_too() -> None:
    pace = Pace(0.1, 0.0, 100)
    assert [pace.due(float(now)) for now in range(31)].count(1) == 3


def test_the_pause_ends_when_the_next_event_is_due() -> None:
    pace = Pace(10.0, 0.0, 100)
    assert pace.due(0.05) == 0
    assert pace.pause_s(0.05) == pytest.approx(0.05)
    assert pace.due(0.1000001) == 1


def test_without_a_rate_as_much_as_can_be_is_due_at_once() -> None:
    pace = Pace(None, 0.0, 500)
    assert [pace.due(0.0), pace.due(0.0)] == [500, 500]
    assert pace.pause_s(0.0) == 0.0
