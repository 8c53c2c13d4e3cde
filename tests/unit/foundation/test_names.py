"""The one mapping from a field of the CRD to a name of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.words import IRREGULAR, UNITS, WordError, snake_name, snake_names


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("replicas", "replicas"),
        ("lagPerReplica", "lag_per_replica"),
        ("leaseDurationSeconds", "lease_duration_s"),
        ("stableWindowMinutes", "stable_window_min"),
        ("pollIntervalMilliseconds", "poll_interval_ms"),
        ("maxBatchBytes", "max_batch_bytes"),
        ("within", "within_s"),
        ("drainWithin", "drain_within_s"),
        ("leaseId", "lease_id"),
        ("p99Seconds", "p99_s"),
    ],
)
def test_a_field_becomes_snake_case_with_a_short_unit(field: str, name: str) -> None:
    assert snake_name(field) == name


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("lease_duration_s", "is not camelCase"),
        ("LeaseDuration", "is not camelCase"),
        ("lease-duration", "is not camelCase"),
        ("", "is not camelCase"),
        ("9lives", "is not camelCase"),
        ("größe", "is not camelCase"),
        ("leaseID", "has capitals in a row. Write an acronym like a word"),
    ],
)
def test_a_field_in_another_style_is_refused_with_what_to_write(field: str, message: str) -> None:
    with pytest.raises(WordError, match=message):
        snake_name(field)


def test_two_fields_may_not_become_one_name() -> None:
    with pytest.raises(WordError, match="'delayS' and 'delaySeconds' would both be 'delay_s'"):
        snake_names(["delayS", "delaySeconds"])


def test_the_same_field_twice_is_no_clash() -> None:
    assert snake_names(["within", "within"]) == {"within": "within_s"}


@given(st.from_regex(r"[a-z]{2,8}([A-Z][a-z]{1,8}){0,4}", fullmatch=True))
def test_every_regular_field_can_be_told_from_its_name(field: str) -> None:
    if field in IRREGULAR:
        return
    *front, last = snake_name(field).split("_")
    long_units = {short: long for long, short in UNITS.items()}
    spelled = [*front, last]
    if field.lower().endswith(long_units.get(last, "\0")):
        spelled[-1] = long_units[last]
    assert "".join(spelled) == field.lower()
