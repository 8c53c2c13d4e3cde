"""Windows of event time: exact whatever is interrupted, written again while open, once on close."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.state import State
from tidegate.windows import TumblingWindows, Window

MINUTES = TumblingWindows(size_s=60, lateness_s=30)


@dataclass
class Call:
    """A context, as far as windows need it."""

    state: State
    now: float = 0.0
    memory: dict[str, Any] = field(default_factory=dict)


def call(stored: bytes | None = None) -> Call:
    return Call(State("0", stored, 1 << 24))


def count(context: Call, *events: tuple[float, str]) -> None:
    windows = MINUTES.of(context)
    for at, key in events:
        slot = windows.slot(at, key)
        if slot is not None:
            slot["n"] = slot.get("n", 0) + 1


def due(context: Call, now: float) -> list[Window]:
    context.now = now
    return list(MINUTES.of(context).due(now))


def test_an_open_window_is_written_again_as_it_grows_and_no_oftener_than_asked() -> None:
    context = call()
    count(context, (10, "a"))
    assert [(w.start, w.end, w.contents, w.is_closed) for w in due(context, 100)] == [
        (0, 60, {"a": {"n": 1}}, False)
    ]
    count(context, (20, "a"), (20, "b"))
    assert due(context, 101) == []
    (window,) = due(context, 102)
    assert window.contents == {"a": {"n": 2}, "b": {"n": 1}}
    assert window.as_json() == b'{"a":{"n":2},"b":{"n":1}}'
    assert due(context, 200) == []


def test_a_window_closes_when_its_lateness_has_passed_in_event_time_and_is_due_once() -> None:
    context = call()
    count(context, (10, "a"), (89.9, "b"))
    assert [w.is_closed for w in due(context, 1)] == [False, False]
    count(context, (90, "b"), (15, "a"))
    closed, still_open = due(context, 100)
    assert (closed.start, closed.is_closed, closed.contents) == (0, True, {"a": {"n": 1}})
    assert (still_open.start, still_open.contents) == (60, {"b": {"n": 2}})
    assert MINUTES.of(context).late == 1
    assert due(context, 200) == []
    assert not [key for key in context.state if key.endswith("/a")]


def test_a_window_that_could_not_be_written_is_due_again() -> None:
    context = call()
    count(context, (10, "a"), (200, "a"))
    context.state.commit()
    for _ in MINUTES.of(context).due(1):
        break
    context.state.roll_back()
    assert [w.start for w in due(context, 1)] == [0, 180]


def test_a_failed_call_does_not_make_a_window_forgotten() -> None:
    context = call()
    count(context, (10, "a"))
    context.state.roll_back()
    count(context, (10, "a"))
    assert [w.contents for w in due(context, 1)] == [{"a": {"n": 1}}]


def test_a_new_owner_writes_every_open_window_again() -> None:
    context = call()
    count(context, (10, "a"))
    due(context, 1)
    context.state.commit()
    assert [w.contents for w in due(call(context.state.encoded()), 2)] == [{"a": {"n": 1}}]


def test_a_quiet_partition_closes_its_windows_only_where_that_is_asked_for() -> None:
    quiet = TumblingWindows(size_s=60, close_idle_after_s=100)
    context = call()
    context.now = 50.0
    slot = quiet.of(context).slot(10, "a")
    assert slot is not None
    context.now = 149.0
    assert [w.is_closed for w in quiet.of(context).due(149)] == [False]
    context.now = 160.0
    assert [w.is_closed for w in quiet.of(context).due(160)] == [True]
    assert [w.is_closed for w in due(call(), 1e9)] == []


def test_windows_of_several_names_and_the_users_own_keys_do_not_meet() -> None:
    context = call()
    context.state["0/a"] = context.state["open"] = 1
    hours = TumblingWindows(size_s=3600, name="hours")
    for windows in (MINUTES, hours):
        slot = windows.of(context).slot(10, "a/b")
        assert slot is not None
        slot["of"] = windows.name
    assert [w.contents for w in MINUTES.of(context).due(1)] == [{"a/b": {"of": ""}}]
    assert [w.contents for w in hours.of(context).due(1)] == [{"a/b": {"of": "hours"}}]


def test_settings_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        TumblingWindows(size_s=0)
    with pytest.raises(ValueError, match="without a slash"):
        TumblingWindows(size_s=1, name="a/b")


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from("abc")), max_size=60),
    st.lists(st.sampled_from(["good", "bad", "killed"]), max_size=30),
)
def test_totals_equal_the_truth_whatever_fails_or_is_killed_between(
    events: list[tuple[int, str]], ends: list[str]
) -> None:
    """Every window's last writing holds each of its events once; an event is counted or late."""
    written: dict[float, dict[str, Any]] = {}
    context, at = call(), 0
    stored: bytes | None = None
    stored_at = 0
    fates = iter(ends)
    now = 0.0
    while at < len(events):
        now += 10.0
        context.now = now
        batch = events[at : at + 5]
        count(context, *[(float(when), key) for when, key in batch])
        for window in MINUTES.of(context).due(now):
            written[window.start] = window.contents
        fate = next(fates, "good")
        if fate == "bad":
            context.state.roll_back()
            continue
        context.state.commit()
        at += len(batch)
        if fate == "killed":
            # Back to the last stored position and the state that belongs to it.
            context, at = call(stored), stored_at
            continue
        stored, stored_at = context.state.encoded(), at
    for window in MINUTES.of(context).due(now + 10.0):
        written[window.start] = window.contents
    truth: dict[float, dict[str, Any]] = defaultdict(lambda: defaultdict(lambda: {"n": 0}))
    latest = float("-inf")
    late = 0
    for when, key in events:
        latest = max(latest, when)
        start = MINUTES.start_of(when)
        if MINUTES.is_closed(start, latest):
            late += 1
        else:
            truth[start][key]["n"] += 1
    assert written == {start: dict(keys) for start, keys in truth.items()}
    assert MINUTES.of(context).late == late
