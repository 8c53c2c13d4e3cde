"""What becomes of a delivery before it is stored: its events, their annotations, its key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hub_messages import annotated, batch, data, part, parts
from tidegate_amqp.encode import encode_described, encode_list, encode_map, encode_ulong
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    BATCH_FORMAT,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    SEQUENCE,
    VALUE,
)
from tidegate_hub.ingest import Arrival, read_delivery
from tidegate_hub.stamping import Annotated, Incoming, stamp

BODY = data(b"body")
HEADER_SECTION = encode_described(HEADER, encode_list([b"\x41"]))
KEYED = {"x-opt-partition-key": "home-7"}


def one(payload: bytes) -> Incoming:
    (event,) = read_delivery(payload, 0).events
    return event


def stored(payload: bytes, message_format: int = 0) -> list[bytes]:
    return stamp(read_delivery(payload, message_format).events, 0, 0, 1_000)


def test_a_plain_event_is_stored_as_it_came() -> None:
    assert read_delivery(BODY, 0) == Arrival([BODY], None)


def test_a_header_is_dropped() -> None:
    (message,) = stored(HEADER_SECTION + BODY)
    assert [each.code for each in parts(message)] == [MESSAGE_ANNOTATIONS, DATA]


def test_the_partition_key_places_the_event_and_stays_on_it() -> None:
    arrival = read_delivery(annotated(KEYED) + BODY, 0)
    assert arrival.key == "home-7"
    assert arrival.events == [Annotated((), "home-7", BODY)]


@pytest.mark.parametrize("key", [None, 5, True])
def test_a_partition_key_that_is_no_text_is_none(key: object) -> None:
    arrival = read_delivery(annotated({"x-opt-partition-key": key}) + BODY, 0)
    assert arrival == Arrival([Annotated((), None, BODY)], None)


def test_annotations_that_only_the_hub_may_write_are_taken_out() -> None:
    forged = {
        "mine": 1,
        "x-opt-sequence-number": 99,
        "x-opt-offset": "99",
        "x-opt-enqueued-time": 99,
        "x-opt-sequence-number-epoch": 9,
        "also mine": "yes",
    }
    (message,) = stored(annotated(forged) + BODY)
    written = part(message, MESSAGE_ANNOTATIONS)
    assert list(written)[:2] == ["mine", "also mine"]
    assert (written["x-opt-sequence-number"], written["x-opt-offset"]) == (0, "0")


def test_the_senders_annotations_keep_their_encoding() -> None:
    wide = b"\xa3\x01a" + b"\x71\x00\x00\x00\x05"
    section = b"\x00\x53\x72\xd1" + (4 + len(wide)).to_bytes(4, "big") + b"\x00\x00\x00\x02" + wide
    (message,) = stored(section + BODY)
    assert wide in message


def test_all_other_sections_stay_where_they_stood() -> None:
    sent = [
        encode_described(DELIVERY_ANNOTATIONS, encode_map({"d": 1})),
        annotated({"a": 1}),
        encode_described(PROPERTIES, encode_list([b"\xa1\x01i"])),
        encode_described(APPLICATION_PROPERTIES, encode_map({"p": 1})),
        data(b"aa"),
        data(b"bb"),
        encode_described(FOOTER, encode_map({"f": 1})),
    ]
    (message,) = stored(HEADER_SECTION + b"".join(sent))
    assert message.endswith(sent[0] + b"".join(sent[2:]))


def test_delivery_annotations_behind_the_body_stay_there() -> None:
    behind = encode_described(DELIVERY_ANNOTATIONS, encode_map({"delann_key": "delann_value"}))
    (message,) = stored(annotated({}) + BODY + behind)
    assert message.endswith(BODY + behind)


@pytest.mark.parametrize(
    "body",
    [
        encode_described(VALUE, b"\x40"),
        encode_described(VALUE, b"\xa1\x02no"),
        encode_described(SEQUENCE, encode_list([b"\x41", b"\x42"])),
        encode_described(SEQUENCE, encode_list([])),
        data(b""),
        data(b"x" * 300),
        b"\x00\x80" + (0x75).to_bytes(8, "big") + b"\xa0\x01x",
        b"\x00\xa3\x10amqp:data:binary\xa0\x01x",
    ],
)
def test_every_kind_of_body_is_kept(body: bytes) -> None:
    assert stored(body)[0].endswith(body)
    assert stored(HEADER_SECTION + body)[0].endswith(body)


def test_a_batch_is_its_messages_in_order() -> None:
    messages = [data(b"%d" % number) for number in range(5)]
    assert read_delivery(batch(*messages), BATCH_FORMAT).events == messages


def test_a_batch_mixes_plain_events_with_others() -> None:
    arrival = read_delivery(batch(BODY, annotated({"a": "1"}) + BODY), BATCH_FORMAT)
    assert arrival.events[0] == BODY
    assert isinstance(arrival.events[1], Annotated)


def test_the_key_of_the_envelope_places_the_batch() -> None:
    arrival = read_delivery(annotated(KEYED) + batch(BODY, BODY), BATCH_FORMAT)
    assert arrival == Arrival([BODY, BODY], "home-7")


def test_the_key_of_the_first_event_places_a_batch_without_one_of_its_own() -> None:
    other = {"x-opt-partition-key": "other"}
    arrival = read_delivery(batch(annotated(KEYED) + BODY, annotated(other) + BODY), BATCH_FORMAT)
    assert arrival.key == "home-7"


def test_what_else_stands_around_a_batch_is_passed_over() -> None:
    around = (
        HEADER_SECTION
        + encode_described(DELIVERY_ANNOTATIONS, encode_map({"d": 1}))
        + annotated({"a": 1})
        + encode_described(PROPERTIES, encode_list([encode_ulong(1)]))
        + encode_described(APPLICATION_PROPERTIES, encode_map({"p": 1}))
    )
    behind = encode_described(FOOTER, encode_map({"f": 1}))
    arrival = read_delivery(around + batch(BODY, BODY) + behind, BATCH_FORMAT)
    assert arrival == Arrival([BODY, BODY], None)


def test_a_batch_may_have_its_message_in_a_long_form() -> None:
    long_form = b"\x00\x53\x75\xb0" + len(BODY).to_bytes(4, "big") + BODY
    assert read_delivery(long_form, BATCH_FORMAT).events == [BODY]


def test_a_message_within_a_batch_may_be_larger_than_255_bytes() -> None:
    large = data(b"x" * 300)
    assert read_delivery(batch(large, BODY), BATCH_FORMAT).events == [large, BODY]


@given(st.lists(st.binary(max_size=400), min_size=1, max_size=20))
def test_a_batch_of_any_bodies_gives_them_back(bodies: list[bytes]) -> None:
    messages = [data(body) for body in bodies]
    assert read_delivery(batch(*messages), BATCH_FORMAT).events == messages
    assert [one(message) for message in messages] == messages
