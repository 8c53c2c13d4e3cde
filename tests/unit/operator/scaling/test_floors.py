"""Floors by the clock: when they begin and end, in every time zone, and what is no time."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tidegate.settings import SettingsError
from tidegate_operator.scaling import Floor
from tidegate_operator.scaling.floors import floor_of

WORK = Floor("0 8 * * 1-5", "30 17 * * 1-5", 4, "Europe/Berlin")


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("2025-03-03T07:59:59", False),  # a Monday
        ("2025-03-03T08:00:00", True),
        ("2025-03-03T17:29:59", True),
        ("2025-03-03T17:30:00", False),
        ("2025-03-07T12:00:00", True),
        ("2025-03-08T12:00:00", False),
        ("2025-03-31T08:00:00", True),  # the day after the clocks went forward
    ],
)
def test_a_floor_holds_from_its_beginning_to_its_end_by_the_clock_of_its_zone(
    when: str, *, holds: bool
) -> None:
    assert WORK.holds(at(when)) is holds


def test_one_over_midnight_holds_until_the_morning() -> None:
    night = Floor("0 22 * * *", "0 6 * * *", 2)
    assert night.holds(at("2025-01-01T23:00:00", "UTC"))
    assert night.holds(at("2025-01-02T05:59:00", "UTC"))
    assert not night.holds(at("2025-01-02T06:00:00", "UTC"))


def test_as_in_cron_a_day_matches_by_either_of_its_two_fields() -> None:
    floor = Floor("0 0 13 * 5", "0 0 14 * 6", 3)
    assert floor.holds(at("2025-05-13T12:00:00", "UTC")), "the 13th, a Tuesday"
    assert floor.holds(at("2025-05-16T12:00:00", "UTC")), "a Friday"


def test_the_highest_that_holds_counts() -> None:
    floors = (WORK, Floor("0 12 * * *", "0 13 * * *", 9, "Europe/Berlin"))
    assert floor_of(floors, at("2025-03-03T12:30:00")) == 9
    assert floor_of(floors, at("2025-03-03T14:00:00")) == 4
    assert floor_of(floors, at("2025-03-03T20:00:00")) == 0


def test_a_time_that_never_comes_holds_nothing() -> None:
    assert not Floor("0 0 31 2 *", "0 1 31 2 *", 3).holds(at("2025-03-03T12:00:00"))


@pytest.mark.parametrize(
    ("floor", "says"),
    [
        (Floor("0 8 * *", "0 9 * * *", 1), "is no time"),
        (Floor("61 8 * * *", "0 9 * * *", 1), "is no minute"),
        (Floor("0 8 * * mon", "0 9 * * *", 1), "is no weekday"),
        (Floor("0 18-8 * * *", "0 9 * * *", 1), "is no hour"),
        (Floor("*/0 8 * * *", "0 9 * * *", 1), "is no minute"),
        (Floor("0 8 * * *", "0 8 * * *", 1), "start and end are the same"),
        (Floor("0 8 * * *", "0 9 * * *", 1, "Europe/Nowhere"), "is not known"),
        (Floor("0 8 * * *", "0 9 * * *", 1, "../../etc/passwd"), "is not known"),
        (Floor("0 8 * * *" * 40, "0 9 * * *", 1), "is no time"),
    ],
)
def test_what_is_no_time_is_refused_in_words(floor: Floor, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        floor.checked()
