"""Receiving: the form of transfers and messages, and where a selector starts."""

from __future__ import annotations

import itertools
import struct
from typing import Any

import pytest

from contract.wire.place import Place
from support.amqp_peer import TRANSFER, Peer
from support.hub_messages import annotated, batch, data, part, parts
from tidegate_amqp import Accepted, Described, ReceiverLink, Symbol
from tidegate_amqp.encode import encode_described, encode_map
from tidegate_amqp.sections import (
    BATCH_FORMAT,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    MESSAGE_ANNOTATIONS,
)

METRICS = Symbol("com.microsoft:enable-receiver-runtime-metric")
OFFSET, SEQUENCE, TIME = "x-opt-offset", "x-opt-sequence-number", "x-opt-enqueued-time"
LARGEST = 65_505


def fill(place: Place, *bodies: bytes) -> Peer:
    peer = place.open()
    link = peer.attach_sender(place.input())
    for body in bodies:
        assert peer.publish(link, data(body)) == Accepted()
    return peer


def received(peer: Peer, link: ReceiverLink, count: int) -> list[bytes]:
    return [each.payload for each in peer.messages(link, count)]


def test_a_transfer_is_settled_batchable_and_has_an_empty_tag(place: Place) -> None:
    peer = fill(place, b"one", b"two")
    link = peer.attach_receiver(place.feed())
    link.grant(2)
    messages = peer.messages(link, 2)
    assert all(each.settled for each in messages)
    frames = peer.frames(TRANSFER)
    # handle, delivery-id, tag, format, settled, more, rcv-settle-mode, state, resume, aborted,
    # batchable
    assert [each.fields for each in frames] == [
        [link.remote_handle, number, b"", 0, True, False, None, None, False, False, True]
        for number in (0, 1)
    ]


def test_a_message_has_the_bytes_that_the_service_gives_it(place: Place) -> None:
    peer = fill(place, b"A single message")
    link = peer.attach_receiver(place.feed())
    link.grant(1)
    (payload,) = received(peer, link, 1)
    at = part(payload, MESSAGE_ANNOTATIONS)[TIME]
    assert payload.hex() == (
        "005372c16808"
        f"a31b{b'x-opt-sequence-number-epoch'.hex()}54ff"
        f"a315{b'x-opt-sequence-number'.hex()}5500"
        f"a30c{b'x-opt-offset'.hex()}a10130"
        f"a313{b'x-opt-enqueued-time'.hex()}83{struct.pack('>q', at).hex()}"
        f"005375a010{b'A single message'.hex()}"
    )


@pytest.mark.parametrize("size", [65_000, 65_300, 65_400, 65_500, 65_536, 130_000, 1_000_000])
def test_a_large_message_continues_in_bare_frames(place: Place, size: int) -> None:
    peer = fill(place, b"z" * size, b"after")
    link = peer.attach_receiver(place.feed())
    link.grant(2)
    large, after = received(peer, link, 2)
    assert part(large, DATA) == b"z" * size
    assert part(after, DATA) == b"after"
    first, *rest, last = peer.frames(TRANSFER)
    assert first.fields[1:5] == [0, b"", 0, True]
    assert last.fields[1] == 1
    for frame in rest:
        assert frame.fields[1:5] == [None, None, None, None]
        assert len(frame.payload) <= LARGEST
    if rest:
        assert [each.fields[5] for each in (first, *rest)] == [True] * len(rest) + [False]
        assert all(len(each.payload) == LARGEST for each in rest[:-1])
    assert max(len(each.raw) for each in peer.frames(TRANSFER)) <= 65_536


def test_runtime_metrics_come_first_and_in_order(place: Place) -> None:
    peer = fill(place, b"1", b"2", b"3")
    link = peer.attach_receiver(place.feed(), desired_capabilities=[METRICS])
    link.grant(3)
    payload = received(peer, link, 3)[0]
    assert [each.code for each in parts(payload)] == [
        DELIVERY_ANNOTATIONS,
        MESSAGE_ANNOTATIONS,
        DATA,
    ]
    metrics = part(payload, DELIVERY_ANNOTATIONS)
    last = part(received(peer, link, 3)[-1], MESSAGE_ANNOTATIONS)
    assert list(metrics) == [
        "last_enqueued_sequence_number_epoch",
        "last_enqueued_sequence_number",
        "last_enqueued_offset",
        "last_enqueued_time_utc",
        "runtime_info_retrieval_time_utc",
    ]
    assert list(metrics.values())[:4] == [-1, 2, last[OFFSET], last[TIME]]
    assert metrics["runtime_info_retrieval_time_utc"] >= last[TIME]
    assert payload[:6].hex() == f"005371c1{payload[4]:02x}0a"


def test_without_the_capability_there_are_no_metrics(place: Place) -> None:
    peer = fill(place, b"1")
    link = peer.attach_receiver(place.feed())
    link.grant(1)
    assert parts(received(peer, link, 1)[0])[0].code == MESSAGE_ANNOTATIONS


def test_sections_come_back_as_they_were_sent(place: Place) -> None:
    peer = place.open()
    behind = encode_described(DELIVERY_ANNOTATIONS, encode_map({"delann_key": "delann_value"}))
    footer = encode_described(FOOTER, encode_map({"footer_key": "footer_value"}))
    sent = data(b"aa") + data(b"bb") + data(b"cc") + behind + footer
    peer.publish(peer.attach_sender(place.input()), annotated({"ann_key": "v"}) + sent)
    link = peer.attach_receiver(place.feed())
    link.grant(1)
    (payload,) = received(peer, link, 1)
    assert payload.endswith(sent)
    assert next(iter(part(payload, MESSAGE_ANNOTATIONS))) == "ann_key"


@pytest.fixture
def filled(place: Place) -> Place:
    """Five events, of which the middle three came in one batch."""
    peer = fill(place, b"0")
    together = batch(data(b"1"), data(b"2"), data(b"3"))
    link = peer.attach_sender(place.input())
    peer.publish(link, together, message_format=BATCH_FORMAT)
    peer.publish(link, data(b"4"))
    return place


def facts(place: Place) -> list[dict[str, Any]]:
    peer = place.open()
    link = peer.attach_receiver(place.feed())
    link.grant(100)
    return [part(each, MESSAGE_ANNOTATIONS) for each in received(peer, link, 5)]


def from_selector(place: Place, selector: str | None, **fields: Any) -> list[bytes]:
    """The bodies that a receiver gets which starts there."""
    peer = place.open()
    link = peer.attach_receiver(place.feed(), selector=selector, **fields)
    link.grant(100, drain=True)
    peer.until(lambda: link.credit == 0, "the end of the partition")
    return [part(each.payload, DATA) for each in peer.messages(link, 0)]


ALL = [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize(
    ("selector", "first"),
    [
        (None, 0),
        ("amqp.annotation.x-opt-offset > '-1'", 0),
        ("amqp.annotation.x-opt-offset > '@latest'", 5),
        ("amqp.annotation.x-opt-offset > '{offset}'", 3),
        ("amqp.annotation.x-opt-offset >= '{offset}'", 2),
        ("amqp.annotation.x-opt-sequence-number > '2'", 3),
        ("amqp.annotation.x-opt-sequence-number >= '2'", 2),
        ("amqp.annotation.x-opt-sequence-number > '-1'", 0),
        ("amqp.annotation.x-opt-sequence-number > 4", 5),
        ("amqp.annotation.x-opt-enqueued-time > '0'", 0),
        ("amqp.annotation.x-opt-enqueued-time > '4102444800000'", 5),
    ],
)
def test_a_selector_says_where_to_start(filled: Place, selector: str | None, first: int) -> None:
    if selector is not None:
        selector = selector.replace("{offset}", facts(filled)[2][OFFSET])
    assert from_selector(filled, selector) == ALL[first:]


def test_a_time_selects_whole_batches(filled: Place) -> None:
    known = facts(filled)
    assert known[1][TIME] == known[2][TIME] == known[3][TIME]
    at = known[2][TIME]
    first = next(number for number, each in enumerate(known) if each[TIME] >= at)
    later = sum(each[TIME] <= at for each in known)
    assert from_selector(filled, f"amqp.annotation.x-opt-enqueued-time >= '{at}'") == ALL[first:]
    assert from_selector(filled, f"amqp.annotation.x-opt-enqueued-time > '{at}'") == ALL[later:]


def test_the_filter_may_have_its_descriptor_as_a_number(filled: Place) -> None:
    selector = Described(0x468C00000004, "amqp.annotation.x-opt-sequence-number > '3'")
    filters = {Symbol("apache.org:selector-filter:string"): selector}
    assert from_selector(filled, None, filters=filters) == [b"4"]


def test_offsets_grow_by_the_bytes_of_their_events(filled: Place) -> None:
    offsets = [int(each[OFFSET]) for each in facts(filled)]
    assert offsets[0] == 0
    assert all(later - one >= 112 for one, later in itertools.pairwise(offsets))
    assert [each[SEQUENCE] for each in facts(filled)] == [*range(5)]


def test_latest_gives_what_comes_after_the_attach(filled: Place) -> None:
    peer = filled.open()
    link = peer.attach_receiver(filled.feed(), selector="amqp.annotation.x-opt-offset > '@latest'")
    link.grant(10)
    peer.publish(peer.attach_sender(filled.input()), data(b"5"))
    assert [part(each, DATA) for each in received(peer, link, 1)] == [b"5"]
