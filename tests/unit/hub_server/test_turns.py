"""How receivers of one connection take turns, and what bounds what waits to be written."""

from __future__ import annotations

import itertools

import pytest

from support.amqp_peer import FLOW, TRANSFER, Peer
from support.hub_bench import Bench, MemoryWire, wire_of
from support.hub_messages import batch, data, part
from support.hub_operations import RECEIVE, store_an_event
from tidegate_amqp import ConnectionSettings, ReceiverLink
from tidegate_amqp.sections import BATCH_FORMAT, DATA
from tidegate_hub.feed import BYTES_A_TURN
from tidegate_hub.ingest import read_delivery

OTHER = "telemetry/ConsumerGroups/$Default/Partitions/1"


def fill(bench: Bench, count: int, size: int, partition: int = 0) -> None:
    """Stores a batch of events, past all links."""
    hub = bench.broker.hubs.get("telemetry")
    messages = [data(b"%08d" % number + b"x" * (size - 8)) for number in range(count)]
    arrival = read_delivery(batch(*messages), BATCH_FORMAT)
    bench.broker.publish(hub, hub.partitions[partition], arrival)


def numbers(peer: Peer, link: ReceiverLink, count: int) -> list[int]:
    return [int(part(each.payload, DATA)[:8]) for each in peer.messages(link, count)]


def test_a_client_that_takes_nothing_is_sent_one_turn_beyond_its_limit(bench: Bench) -> None:
    for partition in (0, 1):
        for _ in range(20):
            fill(bench, 1000, 1_000, partition)
    peer = bench.open()
    session = peer.begin()
    links = [peer.attach_receiver(address, session) for address in (RECEIVE, OTHER) * 5]
    wire = wire_of(peer)
    limit = 1 << 20
    held = _hold_at(bench, wire, limit)
    for link in links:
        link.grant(30_000)
    peer.flush()
    bench.settle()
    assert held
    # The event that reaches the limit goes out whole, and each has a frame around it.
    assert len(wire.written) < limit + BYTES_A_TURN * 1.05
    written = len(wire.written)
    bench.settle()
    assert len(wire.written) == written


def _hold_at(bench: Bench, wire: MemoryWire, limit: int) -> list[bool]:
    """Does what a transport does that has enough to write."""
    (client,) = bench.clients
    held: list[bool] = []
    write = wire.write

    def counted(data: bytes) -> None:
        write(data)
        if len(wire.written) > limit:
            held.append(True)
            client.hold()

    wire.write = counted  # type: ignore[method-assign]
    return held


def test_a_client_that_takes_again_gets_the_rest_in_order(bench: Bench) -> None:
    for _ in range(3):
        fill(bench, 1000, 500)
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    (client,) = bench.clients
    client.hold()
    link.grant(3000)
    peer.until_quiet()
    assert not peer.frames(TRANSFER)
    client.go_on()
    assert numbers(peer, link, 3000) == [*range(1000)] * 3


def test_receivers_of_one_connection_take_turns(bench: Bench) -> None:
    for partition in (0, 1):
        for _ in range(2):
            fill(bench, 1000, 900, partition)
    peer = bench.open()
    session = peer.begin()
    links = [peer.attach_receiver(address, session) for address in (RECEIVE, OTHER)]
    for link in links:
        link.grant(2000)
    for link in links:
        peer.messages(link, 2000)
    handles = [int(frame.fields[0]) for frame in peer.frames(TRANSFER)]
    switches = sum(one != other for one, other in itertools.pairwise(handles))
    assert switches >= 5


def test_the_events_that_come_are_as_many_as_the_credit(bench: Bench) -> None:
    fill(bench, 10, 100)
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    for credit, total in ((1, 1), (3, 4), (2, 6)):
        link.grant(credit)
        peer.until_quiet()
        assert len(peer.messages(link, total)) == total
    link.grant(100)
    assert numbers(peer, link, 10) == [*range(10)]


def test_a_new_event_is_sent_at_once_to_all_who_wait(bench: Bench) -> None:
    peers = [bench.open() for _ in range(3)]
    links = [peer.attach_receiver(RECEIVE) for peer in peers]
    for link in links:
        link.grant(10)
    for peer in peers:
        peer.until_quiet()
    store_an_event(bench, b"now")
    for peer, link in zip(peers, links, strict=True):
        assert part(peer.messages(link, 1)[0].payload, DATA) == b"now"


def test_drain_gives_back_the_credit_that_nothing_used(bench: Bench) -> None:
    fill(bench, 3, 100)
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    link.grant(10, drain=True)
    peer.messages(link, 3)
    peer.until_quiet()
    (flow,) = [each for each in peer.frames(FLOW) if each.fields[4] is not None]
    # delivery-count, link-credit, available, drain
    assert flow.fields[5:9] == [10, 0, 0, True]
    store_an_event(bench)
    peer.until_quiet()
    assert len(peer.messages(link, 3)) == 3
    link.grant(1)
    assert len(peer.messages(link, 4)) == 4


def test_drain_of_an_empty_partition_ends_at_once(bench: Bench) -> None:
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    link.grant(7, drain=True)
    peer.until_quiet()
    assert (link.credit, link.delivery_count) == (0, 7)


@pytest.mark.parametrize("window", [1, 7, 100])
def test_a_session_window_bounds_the_frames_under_way(bench: Bench, window: int) -> None:
    fill(bench, 300, 100)
    peer = bench.open(ConnectionSettings("peer", incoming_window=window))
    link = peer.attach_receiver(RECEIVE)
    # The peer's side opens its window again by itself: stop it for the first look.
    session = link.session
    link.grant(300)
    peer.flush()
    bench.settle()
    written = bytes(wire_of(peer).written)
    assert written.count(b"\x00\x53\x14\xc0") == window
    assert numbers(peer, link, 300) == [*range(300)]
    assert session.is_live


@pytest.mark.parametrize("frame_size", [512, 1024, 65_536])
def test_a_peer_may_ask_for_small_frames(bench: Bench, frame_size: int) -> None:
    hub = bench.broker.hubs.get("telemetry")
    for size in (10, 400, 440, 460, 480, 500, 600, 5_000, 200_000):
        arrival = read_delivery(data(b"z" * size), 0)
        bench.broker.publish(hub, hub.partitions[0], arrival)
    peer = bench.open(ConnectionSettings("peer", max_frame_size=frame_size))
    link = peer.attach_receiver(RECEIVE)
    link.grant(9)
    sizes = [len(part(each.payload, DATA)) for each in peer.messages(link, 9)]
    assert sizes == [10, 400, 440, 460, 480, 500, 600, 5_000, 200_000]
    assert max(len(frame.raw) for frame in peer.frames()) <= frame_size


def test_a_receiver_holds_no_events_that_it_has_been_sent(bench: Bench) -> None:
    fill(bench, 10, 100)
    peer = bench.open()
    link = peer.attach_receiver(RECEIVE)
    (feed,) = bench.broker.hubs.get("telemetry").partitions[0].feeds["$Default"]
    link.grant(9)
    peer.messages(link, 9)
    assert feed._batch is not None
    link.grant(1)
    peer.messages(link, 10)
    assert feed._batch is None
