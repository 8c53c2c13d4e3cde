"""Dead letters carry an event whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.letters import (
    Failure,
    LetterError,
    decode_letter,
    encode_letter,
    letter_name,
    letter_of,
)
from unit.delivery.events import MadeEvent

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.binary(max_size=8),
    st.uuids(),
    st.datetimes(timezones=st.just(UTC)),
)


def failure() -> Failure:
    try:
        raise ValueError("no  such\nhome")
    except ValueError as error:
        return Failure.of(error, 5, "pod-1", 1_700_000_000.0)


@given(st.binary(max_size=40), st.dictionaries(st.binary(min_size=1, max_size=5), VALUES))
def test_a_letter_comes_back_as_it_was(body: bytes, properties: dict[bytes, Any]) -> None:
    event = MadeEvent(7, body, 1_600_000_000.5, b"home-1", properties, {b"message-id": b"m"})
    letter = letter_of("3", event, failure())
    assert decode_letter(encode_letter(letter)) == letter


def test_a_letter_says_place_error_and_attempts_to_people() -> None:
    event = MadeEvent(7, b'{"home": 1}', 1_600_000_000.0, None, {b"kind": b"door"}, {})
    content = json.loads(encode_letter(letter_of("3", event, failure())))
    assert content["error"] == "ValueError: no such home"
    assert (content["partition"], content["sequenceNumber"], content["offset"]) == ("3", 7, "70")
    assert content["attempts"] == 5
    assert content["text"] == '{"home": 1}'
    assert content["properties"] == {"kind": {"$bytes": "door"}}
    assert "ValueError" in content["trace"]


def test_types_that_json_lacks_are_named() -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    event = MadeEvent(1, b"\xff", properties={b"a": b"\xff", b"b": at, b"c": UUID(int=5)})
    content = json.loads(encode_letter(letter_of("0", event, failure())))
    assert "text" not in content
    assert content["properties"] == {
        "a": {"$base64": "/w=="},
        "b": {"$time": "2024-05-01T00:00:00+00:00"},
        "c": {"$uuid": "00000000-0000-0000-0000-000000000005"},
    }


def test_writing_one_twice_is_one_letter_and_names_sort_by_place() -> None:
    assert letter_name("3", 7) == letter_name("3", 7)
    assert letter_name("3", 9) < letter_name("3", 10)


@pytest.mark.parametrize("stored", [b"", b"[]", b"{}", b'{"partition": 1}'])
def test_what_is_no_letter_is_said_to_be_none(stored: bytes) -> None:
    with pytest.raises(LetterError, match="no dead letter"):
        decode_letter(stored)
