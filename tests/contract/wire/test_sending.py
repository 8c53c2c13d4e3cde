"""Sending: outcomes, where events go, and what is too much."""

from __future__ import annotations

import pytest

from contract.wire.place import Place
from support.amqp_peer import DISPOSITION, Peer
from support.hub_messages import annotated, batch, data, part
from tidegate_amqp import Accepted, Rejected, Symbol
from tidegate_amqp import events as happened
from tidegate_amqp.encode import encode_described
from tidegate_amqp.frames import transfer_frames
from tidegate_amqp.sections import BATCH_FORMAT, DATA, MESSAGE_ANNOTATIONS
from tidegate_hub.placement import partition_for_key

LARGEST = 1_048_576


def counts(place: Place) -> list[int]:
    return [place.server.range_of(place.hub, each)[1] for each in ("0", "1")]


def bodies(peer: Peer, address: str, count: int) -> list[bytes]:
    link = peer.attach_receiver(address)
    link.grant(count)
    return [part(each.payload, DATA) for each in peer.messages(link, count)]


def test_an_outcome_is_accepted_with_no_fields(place: Place) -> None:
    peer = place.open()
    assert peer.publish(peer.attach_sender(place.hub), data(b"x")) == Accepted()
    (disposition,) = peer.frames(DISPOSITION)
    role, first, last, settled, state, batchable = disposition.fields
    assert (role, first, last, settled, batchable) == (True, 0, None, True, False)
    assert (state.descriptor, state.value) == (0x24, [])
    assert disposition.raw.endswith(bytes.fromhex("0053244542"))


def test_deliveries_that_come_together_are_answered_together(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    for number in range(50):
        link.send(data(b"%d" % number), tag=b"t")
    peer.outcome(49)
    assert len(peer.frames(DISPOSITION)) < 10
    assert place.server.range_of(place.hub, "0") == (0, 50)


def test_what_is_sent_settled_is_stored_without_an_answer(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    peer.send(link, data(b"quiet"), settled=True)
    assert bodies(peer, place.feed(), 1) == [b"quiet"]
    assert not peer.frames(DISPOSITION)


def test_deliveries_without_a_key_take_the_partitions_in_turn(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    for _ in range(6):
        peer.publish(link, data(b"x"))
    assert counts(place) == [3, 3]


def test_a_batch_goes_to_one_partition_as_a_whole(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    for size in (5, 3):
        peer.publish(link, batch(*[data(b"x")] * size), message_format=BATCH_FORMAT)
    assert counts(place) == [5, 3]


@pytest.mark.parametrize("key", ["home-1", "home-2", "home-3", "ключ"])
def test_a_key_decides_the_partition_and_comes_back(place: Place, key: str) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    keyed = annotated({"x-opt-partition-key": key})
    peer.publish(link, keyed + data(b"1"))
    peer.publish(link, keyed + batch(keyed + data(b"2"), data(b"3")), message_format=BATCH_FORMAT)
    partition = str(partition_for_key(key, 2))
    assert place.server.range_of(place.hub, partition) == (0, 3)
    feed = peer.attach_receiver(place.feed(partition))
    feed.grant(3)
    found = [part(each.payload, MESSAGE_ANNOTATIONS) for each in peer.messages(feed, 3)]
    assert [each.get(Symbol("x-opt-partition-key")) for each in found] == [key, key, None]


def test_a_named_partition_is_stronger_than_a_key(place: Place) -> None:
    peer = place.open()
    for partition in ("0", "1"):
        link = peer.attach_sender(place.input(partition))
        peer.publish(link, annotated({"x-opt-partition-key": "home-1"}) + data(b"x"))
    assert counts(place) == [1, 1]


@pytest.mark.parametrize("payload", [b"", b"nonsense", data(b"x")[:-1], b"\x00\x53\x72\x45"])
@pytest.mark.parametrize("message_format", [0, BATCH_FORMAT])
def test_a_malformed_message_is_rejected_and_the_link_lives_on(
    place: Place, payload: bytes, message_format: int
) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    state = peer.publish(link, payload, message_format=message_format)
    assert isinstance(state, Rejected)
    assert state.error.condition == "amqp:decode-error"
    assert state.error.description.startswith("The message could not be decoded: ")
    assert "Nothing of it was stored. TrackingId:" in state.error.description
    assert peer.publish(link, data(b"good")) == Accepted()
    assert counts(place) == [1, 0]


def test_a_message_of_the_largest_size_is_accepted(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    largest = data(b"x" * (LARGEST - 8))
    assert len(largest) == LARGEST
    assert peer.publish(link, largest) == Accepted()


def test_one_byte_more_is_rejected_with_the_size_and_the_limit(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    peer.publish(link, data(b"fits"))
    delivery_id = peer.send(link, data(b"x" * (LARGEST - 7)))
    state = peer.outcome(delivery_id).state
    assert isinstance(state, Rejected)
    assert state.error.condition == "amqp:link:message-size-exceeded"
    assert state.error.description.startswith(
        f"The received message (delivery-id:{delivery_id}, size:{LARGEST + 1} bytes) exceeds the "
        f"limit ({LARGEST} bytes) currently allowed on the link. TrackingId:"
    )
    assert peer.publish(link, data(b"fits again")) == Accepted()
    assert counts(place) == [2, 0]


def test_a_message_of_many_times_the_limit_is_rejected_too(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    huge = encode_described(DATA, b"\xb0\x01\x00\x00\x00" + b"x" * (16 << 20))
    state = peer.publish(link, huge)
    assert isinstance(state, Rejected)
    assert state.error.condition == "amqp:link:message-size-exceeded"
    assert f"size:{len(huge)} bytes" in state.error.description
    assert counts(place) == [0, 0]


def test_more_than_the_credit_ends_the_link(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    requests = peer.attach_sender("$management", session)
    # More than the hundred that this link was given, in one piece, so that none is topped up.
    frames = [
        transfer_frames(
            session.channel, requests.handle, number, b"t", b"", settled=True, max_frame_size=512
        )[0]
        for number in range(102)
    ]
    peer.line.write(b"".join(frames))
    error = peer.refusal(requests)
    assert error.condition == "amqp:link:transfer-limit-exceeded"


def test_a_transfer_on_a_link_that_the_hub_sends_on_closes_the_connection(place: Place) -> None:
    peer = place.open()
    feed = peer.attach_receiver(place.feed())
    frames = transfer_frames(
        feed.session.channel, feed.handle, 0, b"t", data(b"x"), settled=False, max_frame_size=512
    )
    peer.line.write(b"".join(frames))
    error = peer.next(happened.ConnectionClosed).error
    assert error is not None
    assert error.condition == "amqp:illegal-state"
