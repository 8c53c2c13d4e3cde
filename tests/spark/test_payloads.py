"""A piece finds in a thousand messages at once what the general decoder finds in each."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.hub_messages import annotated, data
from support.stamped_messages import section, stamped
from tidegate.sources.native.event import Event
from tidegate.sources.native.shape import TO_OFFSET, UP_TO_SEQUENCE
from tidegate.spark.payloads import NO_TIME, Piece, piece_of
from tidegate_amqp.encode import encode, encode_list, encode_map, encode_string
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    PROPERTIES,
    VALUE,
)

_bodies = st.one_of(
    st.binary(max_size=600).map(data),
    st.lists(st.binary(max_size=20), min_size=2, max_size=3).map(
        lambda parts: b"".join(map(data, parts))
    ),
    st.text(max_size=20).map(lambda text: section(VALUE, encode(text))),
    st.binary(max_size=20).map(lambda body: data(body) + section(FOOTER, encode_map({"a": 1}))),
)
_befores = st.lists(
    st.sampled_from(
        [
            section(HEADER, encode_list([encode(True)])),
            section(DELIVERY_ANNOTATIONS, encode_map({"x": 5})),
        ]
    ),
    max_size=2,
    unique=True,
).map(b"".join)
_afters = st.lists(
    st.sampled_from(
        [
            section(PROPERTIES, b"\x45"),
            section(PROPERTIES, encode_list([encode_string("id" * 200)])),
            section(APPLICATION_PROPERTIES, encode_map({"kind": "alarm", "n": 5})),
        ]
    ),
    max_size=2,
    unique_by=lambda part: bytes(part)[2],
).map(lambda parts: b"".join(sorted(parts, key=lambda part: bytes(part)[2])))
# The sender's own, which may say anything, also what the service says.
_senders = st.sampled_from(
    [
        (b"", 0),
        (encode(b"k") + encode(UP_TO_SEQUENCE + b"\x81" + bytes(8) + TO_OFFSET), 1),
        (encode(b"k") + encode(bytes(300)), 1),
    ]
)


@st.composite
def messages(draw: Any) -> bytes:
    more, pairs = draw(_senders)
    annotations = stamped(
        draw(st.one_of(st.integers(0, 300), st.integers(0, 2**62))),
        str(draw(st.one_of(st.integers(0, 10**6), st.integers(0, 10**19)))),
        draw(st.integers(0, 2**45)),
        key=draw(st.sampled_from([b"", b"home-7"])),
        more=more,
        pairs=pairs,
    )
    return bytes(draw(_befores) + annotations + draw(_afters) + draw(_bodies))


def body_of(event: Event) -> bytes:
    return event.content or event.body_as_str().encode()


@settings(max_examples=300, deadline=None)
@given(st.lists(messages(), min_size=1, max_size=30))
def test_a_piece_finds_what_events_say(payloads: list[bytes]) -> None:
    piece = piece_of(payloads)
    events = [Event(payload) for payload in payloads]
    assert piece.sequences.tolist() == [event.sequence_number for event in events]
    assert piece.enqueued_ms.tolist() == [event.place.enqueued_ms for event in events]
    assert piece.bodies() == [body_of(event) for event in events]
    for event, is_annotated, is_told in zip(events, piece.is_annotated, piece.is_told, strict=True):
        assert is_annotated or event.partition_key is None
        assert is_told or not event.properties


def usual(count: int) -> list[bytes]:
    return [
        stamped(n, str(n * 150), 1_000 + n) + data(b"%d" % n) for n in range(1_000, 1_000 + count)
    ]


def test_messages_of_the_usual_shape_are_all_read_at_once() -> None:
    piece = piece_of(usual(500))
    assert not piece.is_annotated.any()
    assert not piece.is_told.any()
    assert (piece.body_at > 0).all()


def test_a_time_that_the_service_did_not_say_is_none() -> None:
    payload = annotated({"x-opt-sequence-number": 5, "x-opt-offset": "9"}) + data(b"x")
    assert piece_of([payload]).enqueued_ms.tolist() == [NO_TIME]


def test_a_part_of_a_piece_is_what_a_piece_of_the_part_would_be() -> None:
    payloads = usual(10)
    whole = piece_of(payloads)
    for part, left in (
        (whole.cut(4), payloads[:4]),
        (whole.without([0, 5]), payloads[1:5] + payloads[6:]),
    ):
        same(part, piece_of(left))


def same(one: Piece, other: Piece) -> None:
    assert list(one.payloads) == list(other.payloads)
    for name in ("sequences", "enqueued_ms", "body_at", "is_annotated", "is_told"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
