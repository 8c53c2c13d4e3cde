"""The home-security example: what the sensors draw, and what the reader says of it."""

from __future__ import annotations

import random
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from reader import Tally
from sensors import homes_due, readings


def test_a_seed_gives_the_same_world_again() -> None:
    assert readings(7, 1.0, random.Random(3)) == readings(7, 1.0, random.Random(3))


def test_each_sensor_of_a_home_reads_once() -> None:
    drawn = readings(7, 1.0, random.Random(3))
    assert [reading.kind for reading in drawn] == ["door", "motion", "smoke", "temperature"]
    assert {reading.home for reading in drawn} == {"home-000007"}


def test_only_open_doors_and_smoke_are_alarms() -> None:
    dice = random.Random(1)
    drawn = [reading for home in range(5000) for reading in readings(home, 0.0, dice)]
    alarms = [reading for reading in drawn if reading.alarm]
    assert {reading.kind for reading in alarms} == {"door", "smoke"}
    assert all(reading.value == 1.0 for reading in alarms)


@given(st.lists(st.floats(min_value=0.01, max_value=3.0), max_size=20))
def test_each_home_has_its_turn_once_a_period_however_the_time_is_cut(steps: list[float]) -> None:
    now = 0.0
    turns: list[int] = []
    for step in [*steps, 3.0]:
        until = min(now + step, 10.0)
        turns += homes_due(5, 10.0, now, until)
        now = until
    turns += homes_due(5, 10.0, now, 10.0)
    assert turns == [0, 1, 2, 3, 4]


def test_a_line_tells_the_rate_the_homes_the_age_and_the_last_alarm() -> None:
    tally = Tally()
    alarm = {"home": "home-000002", "kind": "smoke", "alarm": True, "at": 99.5}
    tally.add("0", {"home": "home-000001", "kind": "door", "alarm": False, "at": 99.0})
    tally.add("1", alarm)
    assert tally.line(now=100.0, seconds=0.5) == (
        "00:01:40      4 events/s  2 homes  2 partitions  0.50 s behind  "
        "1 alarms (last: home-000002 smoke)"
    )
    assert tally.line(now=101.0, seconds=1.0) == (
        "00:01:41      0 events/s  2 homes  2 partitions  1.50 s behind  0 alarms"
    )
    assert tally.total == 2


def test_the_reader_understands_what_the_sensors_draw() -> None:
    tally = Tally()
    for reading in readings(1, 5.0, random.Random(1)):
        tally.add("0", asdict(reading))
    assert tally.total == 4


def test_before_the_first_reading_the_line_says_so() -> None:
    assert "nothing yet" in Tally().line(now=1.0, seconds=1.0)
