"""The home-security example: what the sensors draw, and what the reader says of it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader import Tally
from sensors import turns_due
from support.tree import ROOT
from tidegate.group_file.reading import read_group
from tidegate.handlers.loading import load
from tidegate.sending.sensors import readings


@given(st.lists(st.floats(min_value=0.01, max_value=3.0), max_size=20))
def test_each_home_has_its_turn_once_a_period_however_the_time_is_cut(steps: list[float]) -> None:
    now = 0.0
    turns: list[tuple[int, int]] = []
    for step in [*steps, 3.0]:
        until = min(now + step, 20.0)
        turns += turns_due(5, 10.0, now, until)
        now = until
    turns += turns_due(5, 10.0, now, 20.0)
    assert turns == [(turn, home) for turn in (0, 1) for home in range(5)]


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
    drawn = readings(1, 0, 5.0, random.Random(1).random)
    for reading in drawn:
        tally.add("0", json.loads(reading.body))
    assert tally.total == len(drawn)
    assert "1.00 s behind" in tally.line(now=6.0, seconds=1.0)


def test_before_the_first_reading_the_line_says_so() -> None:
    assert "nothing yet" in Tally().line(now=1.0, seconds=1.0)


@pytest.mark.parametrize("name", ["activity-python", "activity-spark"])
def test_a_group_file_of_the_scenario_can_be_used(name: str) -> None:
    path = ROOT / "examples" / "home-security" / f"{name}.yaml"
    group = read_group(path.read_text(encoding="utf-8"), path.name)
    assert group.name == "activity"
    file, function = group.spec.handler.code.split(":")
    assert f"def {function}(" in (path.parent / file).read_text(encoding="utf-8")


def test_the_handler_of_the_scenario_loads() -> None:
    assert load("activity.py:handle", ROOT / "examples" / "home-security").on_time is not None
