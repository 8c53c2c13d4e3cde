"""What a service should not answer is an error of the source, and what items hold is kept."""

from __future__ import annotations

import json

import pytest

from support.lease_samples import packed
from support.stamped_messages import section
from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.tokens import AnswerError, answer_of
from tidegate.sources.native.event import Event
from tidegate.sources.native.shape import OFFSET_KEY, SEQUENCE_KEY, any_place
from tidegate.sources.native.websocket import WebSocket
from tidegate_amqp.encode import encode
from tidegate_amqp.sections import DATA, MESSAGE_ANNOTATIONS, PROPERTIES


def test_a_websocket_that_opens_with_letters_of_no_header_broke() -> None:
    socket = WebSocket("ns.example")
    socket.opening()
    with pytest.raises(SourceError, match="the WebSocket broke"):
        socket.received(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: \xff\r\n\r\n"
        )


@pytest.mark.parametrize("inner", ['{"continuation":["a"]}', "[" * 100_000, "5"])
def test_a_continuation_of_another_form_is_an_answer_that_is_not_understood(inner: str) -> None:
    ranges = {"continuation": {"continuation": [{"token": "1", "range": "all"}]}}
    with pytest.raises(AnswerError, match="not of the form"):
        answer_of({"etag": packed(ranges)})
    with pytest.raises(AnswerError):
        answer_of({"etag": inner})


def test_an_event_whose_properties_are_no_list_has_none() -> None:
    event = Event(section(PROPERTIES, encode(5)))
    assert event.system_properties == {}


def test_an_event_whose_offset_is_no_text_is_not_understood() -> None:
    said = {SEQUENCE_KEY: 5, OFFSET_KEY: b"\xf8"}
    with pytest.raises(NotUnderstoodError, match="an offset that is no text"):
        any_place(section(MESSAGE_ANNOTATIONS, encode(said)))


@pytest.mark.parametrize("other", [None, 5, [b"x"]])
def test_a_data_section_of_no_bytes_has_no_content_and_can_be_put_aside(other: object) -> None:
    event = Event(section(DATA, encode(other)) + section(DATA, encode(b"a")))
    assert event.content == b"a"
    assert list(event.body) == [other, b"a"]
    alone = Event(section(DATA, encode(other)))
    assert alone.content == b"" and alone.body_as_str() == ""


def test_an_item_with_half_a_character_is_kept_as_it_came() -> None:
    change = Change({"id": "\ud800", "_lsn": 5})
    assert json.loads(change.content) == {"id": "\ud800", "_lsn": 5}
