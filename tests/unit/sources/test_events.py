"""Events: the specialised reading says what the general one says, and what the SDK says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from azure.eventhub import EventData
from hypothesis import given
from hypothesis import strategies as st

from support.hub_messages import annotated, data
from tidegate.ports import NotUnderstoodError
from tidegate.sources.native.event import Event
from tidegate.sources.native.shape import any_place, decoded, plain_content, plain_place
from tidegate_amqp.encode import (
    encode,
    encode_described,
    encode_list,
    encode_map,
    encode_string,
    encode_symbol,
)
from tidegate_amqp.sections import APPLICATION_PROPERTIES, DATA, PROPERTIES, SEQUENCE, VALUE
from tidegate_hub.stamping import Annotated, runtime_metrics, stamp

NOW_MS = 1_750_000_000_123
# Payloads that the real service sent; they are not part of this tree.
RECORDINGS = os.environ.get("TIDEGATE_RECORDINGS", "")

TEXTS = st.text(max_size=20)
OWN = st.dictionaries(
    st.sampled_from(["mine", "x-opt-offset-of-mine", "x-opt-sequence-number-epoch2"]),
    st.one_of(st.integers(-(2**40), 2**40), TEXTS, st.binary(max_size=300), st.booleans()),
    max_size=3,
)


def stamped(
    rest: bytes, sequence: int = 5, offset: int = 720, own: Any = None, key: str | None = None
) -> bytes:
    pairs = tuple((encode_symbol(name), encode(value)) for name, value in (own or {}).items())
    event = Annotated(pairs, key, rest) if pairs or key is not None else rest
    return stamp([event], sequence, offset, NOW_MS)[0]


def agrees(payload: bytes) -> None:
    """With the general decoder, and with the SDK's."""
    event, theirs = Event(payload), EventData.from_bytes(payload)
    assert event.place == any_place(payload)
    assert event.sequence_number == theirs.sequence_number
    assert event.offset == theirs.offset
    assert event.enqueued_time == theirs.enqueued_time
    assert event.partition_key == theirs.partition_key
    assert event.properties == (theirs.properties or {})
    assert event.system_properties == theirs.system_properties
    assert event.body_as_str() == theirs.body_as_str()
    ours, official = event.body, theirs.body
    assert (list(ours) if hasattr(ours, "__next__") else ours) == (
        list(official) if hasattr(official, "__next__") else official  # type: ignore[arg-type]
    )
    for name in ("content_type", "correlation_id", "message_id"):
        assert getattr(event, name) == getattr(theirs, name)


@given(
    st.integers(0, 2**62),
    st.integers(0, 2**62),
    st.one_of(st.none(), TEXTS),
    OWN,
    st.text(max_size=400),
    st.booleans(),
)
def test_an_event_says_what_the_official_sdk_says(
    sequence: int, offset: int, key: str | None, own: dict[str, Any], body: str, metrics: bool
) -> None:
    payload = stamped(data(body.encode()), sequence, offset, own, key)
    said = runtime_metrics(sequence, offset, NOW_MS, NOW_MS) if metrics else b""
    agrees(said + payload)


@pytest.mark.parametrize("sequence", [0, 127, 128, 255, 256, 2**31, 2**62])
def test_the_plain_shape_is_read_in_place(sequence: int) -> None:
    payload = stamped(data(b"body"), sequence)
    assert plain_place(payload) == any_place(payload)
    assert plain_place(payload) is not None
    assert plain_content(payload) == b"body"


def test_an_event_with_a_partition_key_is_read_in_place() -> None:
    payload = stamped(data(b"body"), key="home-1")
    assert plain_place(payload) == any_place(payload)
    assert Event(payload).partition_key == b"home-1"


def test_a_sender_cannot_pretend_a_place() -> None:
    """Its annotations hold what the service writes, byte for byte."""
    forged = stamped(b"", sequence=999_999, offset=1)[6:]
    payload = stamped(data(b"body"), sequence=700, own={"mine": forged[:150]})
    assert Event(payload).place == any_place(payload)
    assert Event(payload).sequence_number == 700


@pytest.mark.parametrize(
    "body",
    [
        encode_described(SEQUENCE, encode_list([encode("a"), encode(1)])),
        encode_described(VALUE, encode("text")),
        encode_described(VALUE, encode_map({"a": 1})),
        data(b"one") + data(b"two"),
        encode_described(APPLICATION_PROPERTIES, encode_map({"n": 1})) + data(b"x" * 300),
        encode_described(PROPERTIES, encode_list([encode_string("id"), encode(None)])) + data(b""),
    ],
)
def test_unusual_bodies_are_read_by_the_general_decoder(body: bytes) -> None:
    agrees(stamped(body))


def test_the_content_of_several_data_sections_is_one() -> None:
    event = Event(stamped(data(b"one") + data(b"two")))
    assert event.content == b"onetwo"
    assert list(event.body) == [b"one", b"two"]


def test_runtime_metrics_say_how_far_the_partition_has_come() -> None:
    payload = runtime_metrics(70, 9_000, NOW_MS, NOW_MS) + stamped(data(b"x"))
    assert Event(payload).last_enqueued == (70, "9000", NOW_MS)
    assert Event(stamped(data(b"x"))).last_enqueued is None


@pytest.mark.parametrize(
    "payload",
    [
        data(b"no annotations"),
        annotated({"x-opt-sequence-number": 5}) + data(b"no offset"),
        annotated({"x-opt-offset": "5"}) + data(b"no number"),
        annotated({"x-opt-sequence-number": "5", "x-opt-offset": "5"}) + data(b"a text"),
        b"no message at all",
        b"",
    ],
)
def test_an_event_without_its_place_is_not_understood(payload: bytes) -> None:
    with pytest.raises(NotUnderstoodError):
        _ = Event(payload).position


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_damaged_event_is_read_as_the_general_decoder_reads_it_or_not_at_all(
    at: int, byte: int
) -> None:
    payload = bytearray(stamped(data(b"body" * 10)))
    payload[at % len(payload)] = byte
    found = plain_place(bytes(payload))
    if found is None:
        return
    try:
        expected = any_place(bytes(payload))
    except NotUnderstoodError:
        # Something behind its place is broken: that shows where it is looked at.
        return
    assert found == expected


def test_what_the_real_service_sent_is_read_as_the_sdk_reads_it() -> None:
    if not RECORDINGS:
        pytest.skip("TIDEGATE_RECORDINGS names no file of recorded payloads")
    recorded = json.loads(Path(RECORDINGS).read_text(encoding="utf-8"))
    payloads = [
        bytes.fromhex(each["payload_hex"]) for each in recorded if each["link"] == "receive"
    ]
    assert payloads
    for payload in payloads:
        agrees(payload)
        assert plain_place(payload) is not None
        assert DATA in decoded(payload) or not plain_content(payload)
