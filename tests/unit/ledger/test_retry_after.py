"""How long a server asks to be left alone, in each form that HTTP has for it."""

from __future__ import annotations

import pytest

from tidegate.retry_after import asked_s

DATE = "Wed, 18 Nov 2026 17:35:55 GMT"
AT = 1_795_023_355.0


def asked(retry_after: str, now: float = AT) -> float | None:
    """Of an answer of that date."""
    return asked_s({"Retry-After": retry_after, "Date": DATE}, now)


@pytest.mark.parametrize(
    "until",
    [
        "Wed, 18 Nov 2026 17:36:25 GMT",
        "Wednesday, 18-Nov-26 17:36:25 GMT",
        "Wed Nov 18 17:36:25 2026",
        "30",
        " 30 ",
    ],
    ids=["as it is written today", "as it was written", "as C writes it", "seconds", "spaces"],
)
def test_each_form_is_read(until: str) -> None:
    assert asked(until) == 30.0


def test_a_date_is_of_the_servers_clock_and_of_ours_only_where_it_does_not_tell_its_own() -> None:
    until = "Wed, 18 Nov 2026 17:36:25 GMT"
    for ours in (0.0, AT, AT + 86_400.0):
        assert asked(until, ours) == 30.0
    for headers in ({}, {"Date": ""}, {"Date": "soon"}):
        assert asked_s({"Retry-After": until, **headers}, AT + 10.0) == 20.0


def test_a_date_that_has_passed_asks_for_no_pause() -> None:
    assert asked("Wed, 18 Nov 2026 17:35:00 GMT") == 0.0


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5", "²", "soon", "Wed, 99 Nov 2026 17:36:25 GMT", "2026-11-18"]
)
def test_what_cannot_be_read_asks_for_nothing(text: str) -> None:
    assert asked(text) is None
    assert asked_s({}, AT) is None
