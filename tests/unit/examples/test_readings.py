"""What a sensor of the scenario sends is read, or is none, and never stops the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from activity import DAY_S, reading_of

NOW = 1_800_000_000.0
READING = {"home": "home-000017", "kind": "smoke", "value": 5, "at": NOW + 0.5, "alarm": True}


def read(**changed: Any) -> object:
    event = SimpleNamespace(body_as_json=lambda: READING | changed, enqueued_at=NOW)
    return reading_of(event)


def test_a_reading_is_its_home_kind_value_time_and_alarm() -> None:
    assert read() == ("home-000017", "smoke", 5, NOW + 0.5, True)
    assert read(at=int(NOW) + DAY_S) == ("home-000017", "smoke", 5, NOW + DAY_S, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"home": None},
        {"home": "a\nb"},
        {"kind": ""},
        {"value": 1.5},
        {"value": 10**400},
        {"at": NOW + DAY_S + 1},
        {"at": 10**400},
        {"at": float("nan")},
        {"at": float("inf")},
    ],
)
def test_a_reading_with_what_cannot_be_is_none(changed: dict[str, Any]) -> None:
    assert read(**changed) is None
