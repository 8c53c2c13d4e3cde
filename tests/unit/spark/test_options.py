"""The options of the source: what is taken, and what is refused in which words."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidegate.settings import SettingsError
from tidegate.spark.options import (
    BatchOptions,
    Place,
    StreamOptions,
    batch_options,
    check,
    schema_option,
    stream_options,
)


def test_names_are_read_whatever_their_case() -> None:
    given = {"FILE": "group.yaml", "maxevents": "500", "Members": "3", "tasksPerMember": "4"}
    assert stream_options(given) == StreamOptions(
        "group.yaml", members=3, max_events=500, tasks_per_member=4
    )
    assert schema_option({"Schema": "a int"}) == "a int"


def test_a_range_may_be_ends_times_or_numbers() -> None:
    assert batch_options({"file": "f"}) == BatchOptions("f", Place("earliest"), Place("latest"))
    found = batch_options({"file": "f", "from": "2026-01-31T00:00:00Z", "to": '{"0": 9}'})
    assert found.begin.at == 1769817600.0
    assert found.end.sequences == {"0": 9}
    # A time without a zone is UTC's.
    assert batch_options({"file": "f", "from": "2026-01-31"}).begin.at == 1769817600.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "option 'file' is missing: name the group file"),
        ({"file": "f", "members": "0"}, "option 'members' '0': write a whole number, 1 or more"),
        (
            {"file": "f", "maxevent": "5"},
            "option 'maxevent' is not known.*did you mean 'maxEvents'.*maxBytes, maxEvents",
        ),
        ({"file": "f", "hub": "5"}, "option 'hub' is not known to .*; spark.readStream has file"),
        ({"file": "f", "from": "latest"}, "option 'from' says nothing to spark.readStream"),
    ],
)
def test_what_a_stream_cannot_take_is_said(given: Mapping[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        stream_options(given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"from": "yesterday"}, "option 'from' 'yesterday': write earliest, latest, a time"),
        ({"to": '{"0": -1}'}, "option 'to': write a sequence number, 0 or more"),
        ({"to": '{"0": true}'}, "option 'to': write a sequence number"),
        ({"to": "{0: 1}"}, "option 'to': write a sequence number"),
        ({"maxEvents": "5"}, "option 'maxEvents' says nothing to spark.read:"),
    ],
)
def test_what_a_batch_cannot_take_is_said(given: Mapping[str, str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        batch_options({"file": "f", **given})


def test_what_is_wrong_for_either_reader_is_said_before_it_is_known_which() -> None:
    check({"file": "f", "maxEvents": "5", "from": "latest"})
    for given, said in (
        ({"file": "f", "members": "9" * 5000}, "option 'members' '9999"),
        ({"file": "f", "members": "x"}, "option 'members' 'x': write a whole number"),
        ({"file": "f", "to": "never"}, "option 'to' 'never': write earliest"),
        ({"file": "f", "until": "5"}, "option 'until' is not known"),
    ):
        with pytest.raises(SettingsError, match=said):
            check(given)
