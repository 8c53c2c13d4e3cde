"""Limits for one connection: its memory at the hub, and the time for which others wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.amqp_peer import CLOSE, FLOW, Peer
from support.hub_bench import Bench, token_for, wire_of
from support.hub_messages import data, part, put_token, request
from support.hub_operations import RECEIVE
from tidegate_amqp import Accepted, ConnectionSettings, Error, SenderLink, Source, Target
from tidegate_amqp.encode import FALSE, NULL, TRUE, encode_binary, encode_list, encode_uint
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import Flow, encode_performative
from tidegate_amqp.sections import APPLICATION_PROPERTIES
from tidegate_hub.access import MAX_AUDIENCE_LENGTH
from tidegate_hub.client import (
    FRAMES_A_TURN,
    HANDSHAKE_LIMIT_S,
    MAX_ATTACH_SIZE,
    MAX_LINKS,
    MAX_UNFINISHED_BYTES,
    MAX_WAITING_BYTES,
)
from tidegate_hub.publisher import CREDIT as SEND_CREDIT
from tidegate_hub.responder import CREDIT, MAX_WAITING_ANSWER_BYTES
from tidegate_hub.storage.errors import StorageError

LIMIT = "amqp:resource-limit-exceeded"
INPUT = "telemetry/Partitions/0"


def closed_for(peer: Peer) -> Error:
    """The error with which the hub closed the connection."""
    peer.until_over()
    (close,) = peer.frames(CLOSE)
    return Error(*close.fields[0].value)


def begin_delivery(peer: Peer, link: SenderLink, size: int, *, first: bool) -> None:
    """Sends a part of a delivery whose end never comes."""
    head = [encode_uint(0), encode_binary(b"t"), encode_uint(0), FALSE] if first else [NULL] * 4
    fields = encode_list([encode_uint(link.handle), *head, TRUE])
    peer.line.write(frame(link.session.channel, b"\x00\x53\x14" + fields + b"x" * size))


def test_deliveries_that_are_never_finished_close_their_connection_and_leave_nothing(
    bench: Bench,
) -> None:
    peer, other = bench.open(), bench.open()
    client = bench.clients[0]
    session = peer.begin()
    links = [peer.attach_sender(INPUT, session) for _ in range(40)]
    parts = 0
    while not wire_of(peer).is_closed:
        begin_delivery(peer, links[parts // 16], 60_000, first=not parts % 16)
        parts += 1
        assert client.connection.unfinished_bytes <= MAX_UNFINISHED_BYTES + 60_000
    assert parts * 60_000 > MAX_UNFINISHED_BYTES
    error = closed_for(peer)
    assert error.condition == LIMIT
    assert "of unfinished deliveries exceed the maximum of" in (error.description or "")
    assert client.connection.unfinished_bytes == 0
    assert not client.connection.sessions
    assert "was closed: amqp:resource-limit-exceeded" in bench.reported[-1]
    assert other.publish(other.attach_sender(INPUT), data(b"x")) == Accepted()


def test_a_connection_that_is_cut_leaves_nothing_of_what_it_began(bench: Bench) -> None:
    peer = bench.open()
    (client,) = bench.clients
    begin_delivery(peer, peer.attach_sender(INPUT), 60_000, first=True)
    assert client.connection.unfinished_bytes == 60_000
    peer.line.cut()
    assert client.connection.unfinished_bytes == 0
    assert not client.connection.sessions


def test_one_connection_may_have_a_full_message_under_way_on_many_links(bench: Bench) -> None:
    peer = bench.open()
    session = peer.begin()
    links = [peer.attach_sender(INPUT, session) for _ in range(30)]
    whole = data(b"x" * 1_000_000)
    frames = []
    for link in links:
        link.send(whole, tag=b"t")
        frames.append(peer.connection.take_output())
    # As a client sends them that writes for all links in turn.
    for turn in zip(*frames, strict=True):
        peer.line.write(b"".join(turn))
    peer.outcome(29)
    assert bench.broker.hubs.get("telemetry").partitions[0].log.next_sequence == 30


def echoes(peer: Peer, count: int) -> bytes:
    session = peer.begin()
    flow = Flow(0, 5_000, 0, 5_000, echo=True)
    return frame(session.channel, encode_performative(flow)) * count


def test_a_flood_of_echoes_is_handled_in_turns_between_which_others_are_served(
    bench: Bench,
) -> None:
    peer, other = bench.open(), bench.open()
    link = other.attach_sender(INPUT)
    flood = echoes(peer, 5_000)
    peer.frames()
    peer.line.write(flood)
    wire = wire_of(peer)
    turns = 0
    while bench.soon:
        assert not wire.is_reading, "more is read while some waits"
        turns += 1
        assert bytes(wire.written).count(b"\x00\x53\x13") <= turns * FRAMES_A_TURN
        link.send(b"\x00\x53\x75\xa0\x01x", tag=b"t")
        other.line.write(b"".join(other.connection.take_output()))
        stored = bench.broker.hubs.get("telemetry").partitions[0].log.next_sequence
        assert stored == turns, "another client waited for the end of the flood"
        bench.soon.popleft()()
    assert turns == 5_000 // FRAMES_A_TURN
    assert wire.is_reading
    peer.until_quiet()
    assert len(peer.frames(FLOW)) == 5_000


def test_a_connection_that_is_cut_in_a_flood_is_not_handled_any_further(bench: Bench) -> None:
    peer = bench.open()
    peer.line.write(echoes(peer, 1_000))
    peer.line.cut()
    wire_of(peer).written.clear()
    bench.settle()
    assert not wire_of(peer).written


def test_links_without_end_close_their_connection(bench: Bench) -> None:
    peer = bench.open()
    sessions = [peer.begin() for _ in range(MAX_LINKS // 256 + 1)]
    for number in range(MAX_LINKS):
        sessions[number // 256].attach_sender(str(number), Source("here"), Target(INPUT))
    peer.line.write(b"".join(peer.connection.take_output()))
    bench.settle()
    assert not wire_of(peer).is_closed
    sessions[-1].attach_sender("one more", Source("here"), Target(INPUT))
    assert closed_for(peer).condition == LIMIT
    assert not bench.broker.hubs.get("telemetry").links


def test_an_attach_of_a_name_without_end_closes_its_connection(bench: Bench) -> None:
    peer = bench.open()
    session = peer.begin()
    assert peer.attach_sender(INPUT, session, name="x" * (MAX_ATTACH_SIZE - 200)).is_attached
    session.attach_sender("x" * MAX_ATTACH_SIZE, Source("here"), Target(INPUT))
    assert closed_for(peer).condition == LIMIT


def test_events_that_wait_for_windows_without_end_close_their_connection(bench: Bench) -> None:
    sender = bench.open()
    large = data(b"x" * 1_000_000)
    assert sender.publish(sender.attach_sender(INPUT), large) == Accepted()
    peer = bench.open(ConnectionSettings("slow", incoming_window=1))
    count = MAX_WAITING_BYTES // 900_000 + 2
    groups = [f"group-{number}" for number in range(count)]
    bench.add_hub("telemetry", 2, *groups)
    links = []
    for group in groups:
        address = RECEIVE.replace("$Default", group)
        links.append(peer.attach_receiver(address, peer.begin()))
    for link in links:
        link.grant(1)
    peer.line.write(b"".join(peer.connection.take_output()))
    bench.settle()
    client = bench.clients[1]
    assert client.is_lost
    assert client.connection.waiting_bytes == 0
    error = closed_for(peer)
    assert error.condition == LIMIT
    assert "wait for the client to open the windows of its sessions" in (error.description or "")
    assert "was closed: amqp:resource-limit-exceeded" in bench.reported[-1]


def test_answers_with_large_ids_that_nobody_takes_are_bounded_by_their_bytes(bench: Bench) -> None:
    peer = bench.open()
    session = peer.begin()
    answers = peer.attach_receiver("$management", session)
    requests = peer.attach_sender("$management", session)
    asked = request({"operation": "READ", "type": "com.microsoft:eventhub", "name": "telemetry"})
    known = b"\x98" + bytes.fromhex("0123456789abcdef0123456789abcdef")
    large = encode_binary(b"i" * 500_000)
    head = asked.index(known)
    # The properties are rewritten with the large id in place of the small one.
    fields = encode_list([large, NULL, NULL, NULL, b"\xa1\x04here"])
    payload = b"\x00\x53\x73" + fields + asked[asked.index(b"\x00\x53\x74", head) :]
    (client,) = bench.clients
    for _ in range(MAX_WAITING_ANSWER_BYTES // 500_000):
        peer.publish(requests, payload)
    assert client.waiting_answer_bytes > 4_000_000
    peer.publish(requests, payload)
    assert peer.refusal(answers).condition == LIMIT
    assert client.waiting_answer_bytes == 0


def test_requests_that_a_delay_holds_up_count_against_their_credit(bench: Bench) -> None:
    bench.inject("delay", for_seconds=100.0, seconds=5.0, on="management")
    peer = bench.open()
    session = peer.begin()
    answers = peer.attach_receiver("$management", session)
    answers.grant(1_000)
    requests = peer.attach_sender("$management", session)
    asked = request({"operation": "READ", "type": "com.microsoft:eventhub", "name": "telemetry"})
    for _ in range(CREDIT):
        peer.send(requests, asked)
    peer.until_quiet()
    assert requests.credit == 0
    bench.pass_time(5)
    assert len(peer.messages(answers, CREDIT)) == CREDIT
    assert requests.credit >= CREDIT // 2


@pytest.mark.parametrize("settled", [False, True])
def test_sends_that_wait_for_a_slow_disk_use_up_their_credit(bench: Bench, settled: bool) -> None:
    due: list[Callable[[StorageError | None], None]] = []
    bench.broker.when_durable = due.append
    peer = bench.open()
    link = peer.attach_sender(INPUT)
    for number in range(SEND_CREDIT):
        last = peer.send(link, data(b"%d" % number), settled=settled)
    peer.until_quiet()
    assert link.credit == 0
    while due:
        due.pop(0)(None)
    peer.until_quiet()
    assert link.credit == SEND_CREDIT
    if not settled:
        assert peer.outcome(last).state == Accepted()


def test_a_token_for_an_audience_without_end_is_refused(bench: Bench) -> None:
    peer = bench.open()
    session = peer.begin()
    answers = peer.attach_receiver("$cbs", session)
    answers.grant(2)
    requests = peer.attach_sender("$cbs", session)
    for length, status in ((MAX_AUDIENCE_LENGTH, 202), (MAX_AUDIENCE_LENGTH + 1, 400)):
        audience = "sb://h/telemetry/".ljust(length, "x")
        peer.publish(requests, put_token(audience, "any"))
        answer = peer.messages(answers, 1)[-1]
        assert part(answer.payload, APPLICATION_PROPERTIES)["status-code"] == status


def test_a_connection_without_a_token_is_closed_where_tokens_are_checked(checking: Bench) -> None:
    peer, proven = checking.open(), checking.open()
    session = proven.begin()
    proven.attach_receiver("$cbs", session).grant(1)
    requests = proven.attach_sender("$cbs", session)
    proven.publish(requests, put_token("sb://h/telemetry", token_for("telemetry", 1 << 32)))
    checking.pass_time(HANDSHAKE_LIMIT_S - 1)
    assert not wire_of(peer).is_closed
    checking.pass_time(1)
    error = closed_for(peer)
    assert error.condition == "amqp:unauthorized-access"
    assert "No token that is valid came within 60 seconds" in (error.description or "")
    assert not wire_of(proven).is_closed


def test_a_connection_that_is_closed_for_want_of_a_token_is_reported_once(checking: Bench) -> None:
    """Also while its transport waits for a peer that does not read."""
    checking.open()
    checking.pass_time(HANDSHAKE_LIMIT_S + 5)
    (line,) = checking.reported
    assert "No token that is valid came within 60 seconds" in line


def test_a_connection_without_a_token_stays_where_none_is_checked(bench: Bench) -> None:
    peer = bench.open()
    bench.pass_time(HANDSHAKE_LIMIT_S + 1)
    assert not wire_of(peer).is_closed


def test_the_name_of_a_receiver_is_kept_in_part(bench: Bench) -> None:
    name = {"com.microsoft:receiver-name": "x" * 5_000}
    bench.open().attach_receiver(RECEIVE, properties=name)
    (feed,) = bench.broker.hubs.get("telemetry").partitions[0].all_feeds()
    assert feed.name == "x" * 256
