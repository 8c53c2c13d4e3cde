"""Lines as events: plain ones as they are, JSON ones by their fields, and what is wrong by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.sending.feeding import Lines
from tidegate.sending.outgoing import LineError, Outgoing, from_json


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b'{"body": "text"}', Outgoing(b"text")),
        (b'{"body": {"a": [1, 2]}}', Outgoing(b'{"a":[1,2]}')),
        (b'{"body": "\\u00e9"}', Outgoing("é".encode())),
        (b'{"body": null}', Outgoing(b"null")),
        (b'{"body": "x", "key": "home-1"}', Outgoing(b"x", "home-1")),
        (b'{"body": "x", "partition": "3"}', Outgoing(b"x", "", "3")),
        (
            b'{"body": "x", "properties": {"n": 1, "t": true, "s": "a"}}',
            Outgoing(b"x", properties={"n": 1, "t": True, "s": "a"}),
        ),
        (b'{"body": "x", "properties": {}}', Outgoing(b"x")),
    ],
)
def test_a_json_line_is_an_event_with_its_fields(line: bytes, event: Outgoing) -> None:
    assert from_json(line, 1) == event


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nope", "line 7 is not JSON"),
        (b'{"body": "x"', "line 7 is not JSON"),
        (b"\xff", "line 7 is not JSON"),
        (b"[1]", "line 7 is not an object with a body"),
        (b'{"key": "k"}', "line 7 is not an object with a body"),
        (b'{"body": "x", "Key": "k"}', "field 'Key': known are body, key, partition, properties"),
        (b'{"body": "x", "key": 5}', "line 7: key is not a text: 5"),
        (b'{"body": "x", "key": "a", "partition": "1"}', "a key and a partition: write one"),
        (b'{"body": "x", "properties": [1]}', "line 7: properties is not an object"),
        (b'{"body": "x", "properties": {"a": [1]}}', r"property 'a' is \[1\]: write a text"),
        (b'{"body": "x", "properties": {"a": null}}', "property 'a' is None"),
        (b'{"body": "x", "properties": {"a": 9223372036854775808}}', "does not fit 64 bits"),
    ],
)
def test_what_is_wrong_is_said_with_the_line_and_the_field(line: bytes, words: str) -> None:
    with pytest.raises(LineError, match=words):
        from_json(line, 7)


@given(
    st.lists(
        st.binary(min_size=1, max_size=30).filter(
            lambda line: b"\n" not in line and not line.endswith(b"\r")
        ),
        max_size=20,
    ),
    st.lists(st.integers(1, 40), max_size=30),
)
def test_lines_are_the_same_however_the_input_comes_in(
    wanted: list[bytes], cuts: list[int]
) -> None:
    data, lines, found = b"\n".join(wanted), Lines(is_json=False), []
    for cut in cuts:
        events, error = lines.take(data[:cut])
        data = data[cut:]
        assert error is None
        found += events
    found += lines.take(data)[0]
    found += lines.take(b"", is_last=True)[0]
    assert [event.body for event in found] == wanted


def test_empty_lines_are_no_events_and_still_count() -> None:
    lines = Lines(is_json=True)
    events, error = lines.take(b'\n\r\n{"body": "x"}\nbad\n')
    assert events == [Outgoing(b"x")]
    assert str(error).startswith("line 4 is not JSON")


def test_what_came_before_a_bad_line_is_kept_and_what_came_after_is_not() -> None:
    events, error = Lines(is_json=True).take(b'{"body": "1"}\n{}\n{"body": "3"}\n')
    assert [event.body for event in events] == [b"1"]
    assert error is not None
