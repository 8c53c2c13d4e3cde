"""Session windows: kept to, opened again, and nothing overtakes a message that waits for one."""

from __future__ import annotations

import pytest

from support.amqp_pair import CLIENT, Pair, all_of, begun, failure, one, said, tell
from support.amqp_samples import ATTACH_RECEIVER, ATTACH_SENDER
from tidegate_amqp import ConnectionSettings, ReceiverLink, SenderLink, Source, Target
from tidegate_amqp.events import ConnectionFailed, Delivery, LinkAttached, WindowOpened
from tidegate_amqp.performatives import Begin, Detach, Flow, Transfer

MAX = (1 << 32) - 1


def sending(window: int = 4, links: int = 1) -> tuple[Pair, list[SenderLink]]:
    """A server that sends to a client of small frames and a small window, which it keeps shut."""
    pair = Pair(client=ConnectionSettings("c", max_frame_size=512, incoming_window=window))
    ours, _ = pair.session()
    for number in range(links):
        link = ours.attach_receiver(f"r{number}", Source("a"), Target("b"))
        pair.pump()
        attached = one(pair.at_server, LinkAttached)
        attached.link.accept(attached.attach)
        pair.pump()
        link.grant(1_000)
        pair.pump()
    pair.forget()
    return pair, [each for each in pair.server.sessions[0].links.values() if _sends(each)]  # type: ignore[misc]


def _sends(link: object) -> bool:
    return isinstance(link, SenderLink)


def test_a_window_that_is_used_up_stops_the_sender_and_opens_again() -> None:
    pair, (link,) = sending(window=4)
    assert link.sendable == 4
    link.send_run(b"abcd", [1, 2, 3, 4])
    assert (link.sendable, link.session.remote_incoming_window) == (0, 0)
    pair.to_client()
    pair.to_server()
    assert one(pair.at_server, WindowOpened).session is link.session
    assert link.sendable == 4 - 1


def test_our_window_is_opened_again_when_half_of_it_is_used() -> None:
    pair, (link,) = sending(window=10)
    for number in range(5):
        link.send(b"x", tag=b"%d" % number)
    pair.to_client()
    assert pair.client.output == []
    link.send(b"x", tag=b"")
    pair.to_client()
    (flow,) = said(pair.client)
    assert (flow.incoming_window, flow.next_incoming_id, flow.handle) == (10, 7, None)


def test_a_large_message_waits_for_the_window_frame_by_frame() -> None:
    pair, (link,) = sending(window=4)
    message = bytes(range(256)) * 20
    link.send(message, tag=b"large")
    assert len(pair.server.output) == 4
    assert link.sendable == 0
    pair.pump()
    assert [each.payload for each in all_of(pair.at_client, Delivery)] == [message]
    assert one(pair.at_server, WindowOpened)


def test_nothing_overtakes_a_message_that_waits() -> None:
    pair, (first, second) = sending(window=4, links=2)
    large = b"L" * 4_000
    first.send(large, tag=b"1")
    second.send(b"small", tag=b"2")
    second.send_run(b"ab", [1, 2])
    first.send_run(b"c" + large + b"d", [1, 4_001, 4_002])
    pair.pump()
    found = [(each.delivery_id, each.payload) for each in all_of(pair.at_client, Delivery)]
    assert found == [
        *((0, large), (1, b"small"), (2, b"a"), (3, b"b")),
        *((4, b"c"), (5, large), (6, b"d")),
    ]
    assert first.session.remote_incoming_window >= 0


def test_a_run_with_a_large_slice_in_its_middle_never_exceeds_the_window() -> None:
    pair, (link,) = sending(window=4)
    payload = b"ab" + b"L" * 3_000 + b"cd"
    link.send_run(payload, [1, 2, 3_002, 3_003, 3_004], prefix=b">")
    assert len([each for each in pair.server.output if each[4:6] == b"\x02\x00"]) <= 4
    pair.pump()
    found = [each.payload for each in all_of(pair.at_client, Delivery)]
    assert found == [b">a", b">b", b">" + b"L" * 3_000, b">c", b">d"]
    assert not all_of(pair.at_client, ConnectionFailed)


def test_frames_of_a_detached_link_do_not_wait_any_longer() -> None:
    pair, (first, second) = sending(window=4, links=2)
    first.send(b"L" * 4_000, tag=b"1")
    second.send(b"after it", tag=b"2")
    first.detach()
    pair.pump()
    assert [each.payload for each in all_of(pair.at_client, Delivery)] == [b"after it"]
    assert not all_of(pair.at_client, ConnectionFailed)


def test_frames_do_not_wait_for_a_link_that_the_peer_detached() -> None:
    pair, (first, _) = sending(window=4, links=2)
    first.send(b"L" * 40_000, tag=b"1")
    next(iter(pair.client.sessions[0].links.values())).detach()
    pair.pump()
    assert not all_of(pair.at_client, ConnectionFailed)
    assert first.is_gone
    assert first.session.sendable > 0


def test_a_peer_that_overruns_our_window_is_given_up() -> None:
    server = begun(ConnectionSettings("server", incoming_window=0))
    attached = one(tell(server, ATTACH_SENDER), LinkAttached)
    attached.link.accept(attached.attach)
    assert failure(tell(server, Transfer(1, 0, b"", 0))) == "amqp:session:window-violation"


@pytest.mark.parametrize(
    ("next_incoming_id", "incoming_window", "left"),
    [
        (None, 100, 97),
        (1, 100, 97),
        (4, 100, 100),
        (1, 2, 0),
        (1, 0, 0),
        (1, MAX, MAX - 3),
        (4, MAX, MAX),
        (4, 1 << 31, 1 << 31),
        (40, 10, 10),
    ],
)
def test_the_window_counts_from_what_the_peer_has_seen(
    next_incoming_id: int | None, incoming_window: int, left: int
) -> None:
    server = begun(begin=Begin(None, 1, 100, 100))
    attached = one(tell(server, ATTACH_RECEIVER), LinkAttached)
    attached.link.accept(attached.attach)
    tell(server, Flow(1, 100, 1, 100, 0, 0, 50))
    assert isinstance(attached.link, SenderLink)
    attached.link.send_run(b"abc", [1, 2, 3])
    tell(server, Flow(next_incoming_id, incoming_window, 1, 100))
    assert server.sessions[0].sendable == left


def test_transfer_ids_wrap() -> None:
    pair, (link,) = sending(window=4)
    theirs = pair.client.by_remote_channel[0]
    link.session.next_outgoing_id = theirs.next_incoming_id = MAX
    for number in range(20):
        link.send(b"%d" % number, tag=b"")
        pair.pump()
    assert len(all_of(pair.at_client, Delivery)) == 20
    assert link.session.next_outgoing_id == theirs.next_incoming_id == 19
    assert link.session.remote_incoming_window > 0


def test_one_window_serves_both_directions_apart() -> None:
    pair = Pair(client=CLIENT, server=ConnectionSettings("server", incoming_window=3))
    session, _ = pair.session()
    _, sends_back = pair.receiver(session, credit=100)
    sender, receiver = pair.sender(session, credit=100)
    for number in range(30):
        assert sender.sendable > 0
        sender.send(b"%d" % number, tag=b"")
        sends_back.send(b"%d" % number, tag=b"")
        pair.pump()
    expected = [b"%d" % number for number in range(30)]
    for events in (pair.at_client, pair.at_server):
        assert [each.payload for each in all_of(events, Delivery)] == expected
    assert isinstance(receiver, ReceiverLink)


def test_a_flow_of_a_session_alone_changes_no_link() -> None:
    server = begun()
    assert tell(server, Flow(1, 5, 1, 5)) == []
    assert server.sessions[0].sendable == 5
    assert all_of(tell(server, Flow(1, 0, 1, 5), Flow(1, 5, 1, 5)), WindowOpened)
    assert failure(tell(server, Detach(0))) == "amqp:session:unattached-handle"
