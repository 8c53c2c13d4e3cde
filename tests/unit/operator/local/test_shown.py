"""The table of `tidegate get` and the live one: kubectl's columns, in the room that there is."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.ops.live import Style
from tidegate_operator.local.shown import age_text, at_path, screen, table

WALL = 1_763_488_800.0  # 2025-11-18T18:00:00Z
HEAD = "tidegate up · here · Ctrl-C ends it"


def group(name: str = "home", state: str = "Balanced", ready: str = "True") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "creationTimestamp": "2025-11-18T17:55:00Z"},
        "spec": {"engine": "python", "source": {"eventHubs": {"hub": "telemetry"}}},
        "status": {
            "source": "eventhubs", "ready": "2/2", "wanted": 2, "partitions": 16, "owned": 16,
            "lag": 1203, "behind": "2s", "state": state,
            "conditions": [
                {"type": "Other", "status": "True", "message": "not this"},
                {"type": "Ready", "status": ready, "message": "nor this"},
            ],
            "message": "Because of it.",
            "members": [
                {"name": f"{name}-a", "ready": True, "partitions": 8},
                {"name": f"{name}-b", "ready": False, "partitions": 8, "leaving": True},
            ],
        },
    }  # fmt: skip


def test_the_columns_are_those_of_kubectl() -> None:
    heads, row = table([group()], WALL)
    assert heads.split() == [
        "NAME", "SOURCE", "ENGINE", "READY", "WANTED", "PARTITIONS", "OWNED", "LAG", "BEHIND",
        "STATUS", "AGE", "DELETED",
    ]  # fmt: skip
    assert row.split() == [
        "home", "eventhubs", "python", "2/2", "2", "16", "16", "1203", "2s", "Balanced", "5m", "-",
    ]  # fmt: skip


def test_wide_has_the_others_and_what_is_not_known_is_a_dash() -> None:
    bare = {"metadata": {"name": "new"}, "spec": {}}
    heads, full, empty = table([group(), bare], WALL, is_wide=True)
    assert heads.endswith("MESSAGE") and "CONSUMER-GROUP" in heads
    assert full.endswith("Because of it.")
    assert set(empty.split()[1:]) == {"-"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (125, "2m5s"), (300, "5m"), (7200, "120m"), (11_000, "3h"),
     (200_000, "2d")],
)  # fmt: skip
def test_ages_are_written_as_kubectl_writes_them(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_a_path_that_leads_nowhere_is_nothing() -> None:
    assert at_path({"a": [1]}, ".a.b") is None
    assert at_path({}, ".status.message") is None


def test_the_screen_has_groups_members_and_the_last_lines() -> None:
    log = [f"line {number}" for number in range(50)]
    groups = [group(), group("alarms", "Stuck", "False")]
    lines = screen(groups, log, head=HEAD, columns=100, rows=24, wall=WALL)
    texts = [line.text for line in lines]
    assert len(lines) <= 24
    assert texts[0] == HEAD and texts[-1] == "line 49"
    assert any(text.startswith("home-b") and text.endswith("leaving") for text in texts)
    assert "alarms: Because of it." in texts
    stuck = next(line for line in lines if line.text.startswith("alarms  "))
    assert stuck.style is Style.WARNING


@pytest.mark.parametrize("rows", range(1, 30))
def test_the_screen_is_never_larger_than_the_terminal(rows: int) -> None:
    groups = [group(f"g{number}", "Stuck", "False") for number in range(5)]
    lines = screen(groups, ["x" * 200] * 99, head=HEAD, columns=40, rows=rows, wall=WALL)
    assert len(lines) <= rows
    assert all(len(line.text) <= 40 for line in lines)
