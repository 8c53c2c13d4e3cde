"""Messages of any size: cut into frames, put together again, given up, too large."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_pair import (
    SERVER,
    Pair,
    all_of,
    begun,
    failure,
    one,
    opened,
    said,
    sent_frames,
    tell,
)
from support.amqp_samples import ATTACH_RECEIVER, ATTACH_SENDER, BEGIN, OPEN, prelude
from tidegate_amqp import Connection, ConnectionSettings, ReceiverLink, SenderLink, encode
from tidegate_amqp.events import Delivery, LinkAttached
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import Flow, Transfer, encode_performative


def receiving(limit: int = 0, credit: int = 100) -> tuple[Connection, ReceiverLink]:
    """A server with a link on which the test sends."""
    server = begun()
    attached = one(tell(server, ATTACH_SENDER), LinkAttached)
    attached.link.accept(attached.attach, max_message_size=limit or None)
    assert isinstance(attached.link, ReceiverLink)
    attached.link.max_message_size = limit
    attached.link.grant(credit)
    said(server)
    return server, attached.link


def part(payload: bytes, *, more: bool, first: int | None = None, settled: bool = False) -> bytes:
    tag = None if first is None else b"tag"
    transfer = Transfer(1, first, tag, 5 if tag else None, settled or None, more)
    return frame(0, encode_performative(transfer) + payload)


def test_a_message_of_many_frames_is_told_once_and_whole() -> None:
    server, link = receiving()
    assert server.receive(part(b"one ", more=True, first=7)) == []
    assert link.in_delivery
    assert server.receive(part(b"two ", more=True)) == []
    assert server.receive(part(b"", more=True)) == []
    assert server.receive(part(b"three", more=False)) == [
        Delivery(link, 7, 5, False, b"one two three", 13)
    ]
    assert (link.credit, link.delivery_count, link.in_delivery) == (99, 1, False)


def test_a_delivery_that_is_settled_by_a_later_frame_is_settled() -> None:
    server, _ = receiving()
    server.receive(part(b"a", more=True, first=0))
    (delivery,) = server.receive(part(b"b", more=False, settled=True))
    assert isinstance(delivery, Delivery)
    assert delivery.settled


def test_a_repeated_delivery_id_continues_and_another_one_breaks_the_connection() -> None:
    server, _ = receiving()
    server.receive(part(b"a", more=True, first=3))
    (delivery,) = server.receive(part(b"b", more=False, first=3))
    assert isinstance(delivery, Delivery)
    assert delivery.payload == b"ab"
    server.receive(part(b"a", more=True, first=4))
    assert failure(server.receive(part(b"b", more=False, first=5))) == "amqp:illegal-state"


def test_a_first_transfer_without_an_id_breaks_the_connection() -> None:
    server, _ = receiving()
    assert failure(server.receive(part(b"a", more=False))) == "amqp:illegal-state"


def test_the_parts_of_an_aborted_delivery_are_forgotten() -> None:
    server, _ = receiving()
    server.receive(part(b"lost", more=True, first=0))
    assert tell(server, Transfer(1, aborted=True), payload=b"ignored") == []
    (delivery,) = server.receive(part(b"kept", more=False, first=1))
    assert isinstance(delivery, Delivery)
    assert (delivery.delivery_id, delivery.payload) == (1, b"kept")


@pytest.mark.parametrize("pieces", [1, 2, 3, 10])
def test_a_message_over_the_limit_is_counted_and_not_kept(pieces: int) -> None:
    server, link = receiving(limit=1_000)
    for size, payload in ((1_000, b"x" * 1_000), (1_001, b"")):
        message = b"x" * size
        step = -(-size // pieces)
        cuts = [message[at : at + step] for at in range(0, size, step)]
        for number, cut in enumerate(cuts):
            first = size if number == 0 else None
            events = server.receive(part(cut, more=number < len(cuts) - 1, first=first))
        assert events == [Delivery(link, size, 5, False, payload, size)]


def test_a_message_without_end_does_not_fill_the_memory() -> None:
    server, link = receiving(limit=10_000)
    server.receive(part(b"", more=True, first=0))
    frames = {"large": part(b"x" * 5_000, more=True), "empty": part(b"", more=True)}
    for each in frames.values():
        tracemalloc.start()
        for _ in range(2_000):
            server.receive(each)
            server.take_output()
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < 40_000
    assert link.in_delivery


def sending(max_frame_size: int) -> tuple[Connection, SenderLink]:
    """A server with a link on which the test receives frames of a size of its own."""
    pair = Pair(client=ConnectionSettings("c", max_frame_size=max_frame_size))
    _, link = pair.receiver(credit=1_000)
    return pair.server, link


@pytest.mark.parametrize("max_frame_size", [512, 4_096, 65_536])
@pytest.mark.parametrize("beyond", [-1, 0, 1])
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_messages_at_the_edge_of_a_frame_fill_it_and_no_more(
    max_frame_size: int, beyond: int, frames: int
) -> None:
    server, link = sending(max_frame_size)
    one_frame = max_frame_size - link._run.overhead
    rest = max_frame_size - 31
    size = one_frame + beyond if frames == 1 else (frames - 1) * rest + beyond
    link.send_run(b"x" * size, [size])
    link.send(b"y" * size, tag=b"tag")
    sent = sent_frames(server.take_output())
    assert all(each.size <= max_frame_size for each in sent)
    assert sum(len(each.payload) for each in sent) == 2 * size
    if frames == 1:
        assert (len(sent[0].payload) == size) is (beyond <= 0)
        assert (sent[0].size == max_frame_size) is (beyond == 0)


@given(
    sizes=st.lists(st.integers(0, 2_000) | st.integers(440, 520), min_size=1, max_size=12),
    start=st.integers(0, 20),
    prefix=st.binary(max_size=40),
    frame_size=st.sampled_from([512, 600, 1_024]),
    window=st.sampled_from([3, 5, 100]),
    step=st.sampled_from([0, 1, 7, 600]),
)
@settings(max_examples=60, deadline=None)
def test_a_run_of_any_sizes_arrives_as_it_was_cut(
    sizes: list[int], start: int, prefix: bytes, frame_size: int, window: int, step: int
) -> None:
    client = ConnectionSettings("c", max_frame_size=frame_size, incoming_window=window)
    pair = Pair(client=client)
    session, _ = pair.session()
    _, link = pair.receiver(session, credit=1_000)
    payload = bytes(index % 251 for index in range(start + sum(sizes)))
    ends, at = [], start
    for size in sizes:
        at += size
        ends.append(at)
    link.send_run(payload, ends, start, prefix)
    while pair.to_client(step) | pair.to_server(step):
        pass
    cuts = zip([start, *ends], ends, strict=False)
    expected = [prefix + payload[begin:end] for begin, end in cuts]
    deliveries = all_of(pair.at_client, Delivery)
    assert [each.payload for each in deliveries] == expected
    assert [each.delivery_id for each in deliveries] == list(range(len(sizes)))
    assert all(each.settled for each in deliveries)
    assert all(each.size <= frame_size for each in pair.frames)


def test_a_peer_without_a_frame_limit_gets_frames_of_our_own() -> None:
    server = opened(peer=OPEN._replace(max_frame_size=(1 << 32) - 1))
    events = tell(server, BEGIN, ATTACH_RECEIVER, Flow(1, 100, 1, 100, 0, 0, 5))
    attached = one(events, LinkAttached)
    attached.link.accept(attached.attach)
    assert isinstance(attached.link, SenderLink)
    attached.link.send(b"x" * 200_000, tag=b"")
    assert 65_000 < max(each.size for each in sent_frames(server.take_output())) <= 65_536


def test_a_transfer_under_its_long_name_is_understood() -> None:
    server, link = receiving()
    fields = encode.encode_list(
        [encode.encode_uint(1), encode.encode_uint(0), encode.encode_binary(b"tag")]
    )
    for descriptor in (
        b"\x80" + (0x14).to_bytes(8, "big"),
        encode.encode_symbol("amqp:transfer:list"),
    ):
        body = b"\x00" + descriptor + fields + b"payload"
        assert server.receive(frame(0, body)) == [Delivery(link, 0, 0, False, b"payload", 7)]


def test_a_transfer_before_open_is_refused() -> None:
    server = Connection(SERVER, initiator=False)
    for piece in prelude(initiator=False)[:3]:
        server.receive(piece)
    assert failure(server.receive(part(b"", more=False, first=0))) == "amqp:illegal-state"
