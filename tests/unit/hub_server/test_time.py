"""What happens by the clock: heartbeats, silent peers, handshakes that do not end, tokens."""

from __future__ import annotations

import pytest

from support.amqp_peer import CLOSE, DETACH, END, Peer
from support.hub_bench import Bench, token_for, wire_of
from support.hub_messages import data, part, put_token
from tidegate_amqp import Accepted, ConnectionSettings
from tidegate_amqp.sections import APPLICATION_PROPERTIES
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME

RECEIVE = "telemetry/ConsumerGroups/$Default/Partitions/0"
HEARTBEAT = "0000000802000000"


def put(peer: Peer, path: str, expires_at: float, key: str = DEFAULT_KEY) -> int:
    """Puts a token; gives the status that came back."""
    session = peer.begin()
    answers = peer.attach_receiver("$cbs", session)
    requests = peer.attach_sender("$cbs", session)
    answers.grant(1)
    peer.publish(requests, put_token(f"sb://localhost/{path}", token_for(path, expires_at, key)))
    (answer,) = peer.messages(answers, 1)
    for link in (answers, requests):
        link.detach()
    peer.until(lambda: not session.links, "the hub's detaches")
    return int(part(answer.payload, APPLICATION_PROPERTIES)["status-code"])


def test_a_connection_that_is_silent_for_240_s_is_closed_with_the_recorded_words(
    bench: Bench,
) -> None:
    peer = bench.open()
    link = peer.attach_sender("telemetry")
    name = peer.connection.peer.container_id if peer.connection.peer else ""
    bench.pass_time(239)
    assert not wire_of(peer).is_closed
    bench.pass_time(1)
    peer.until_over()
    closing = [each for each in peer.frames() if each.code in (DETACH, END, CLOSE)]
    assert [each.code for each in closing] == [DETACH, END, CLOSE]
    for frame in closing:
        assert frame.fields[-1].value == [
            "amqp:connection:forced",
            "The connection was inactive for more than the allowed 240000 milliseconds and is "
            f"closed by container '{name}'.",
            None,
        ]
    assert not link.is_attached
    assert name.startswith("c0ffee_G")


def test_a_silent_receiver_frees_its_place_when_it_is_closed(bench: Bench) -> None:
    peer = bench.open()
    peer.attach_receiver(RECEIVE, properties={"com.microsoft:epoch": 9})
    hub = bench.broker.hubs.get("telemetry")
    assert hub.partitions[0].feeds["$Default"]
    bench.pass_time(240)
    assert not hub.partitions[0].feeds["$Default"]
    assert not hub.links


def test_any_frame_from_the_peer_keeps_the_connection(bench: Bench) -> None:
    peer = bench.open()
    peer.begin()
    for _ in range(4):
        bench.pass_time(200)
        peer.line.write(bytes.fromhex(HEARTBEAT))
    assert not wire_of(peer).is_closed


def test_the_hub_sends_heartbeats_as_often_as_its_peer_asks(bench: Bench) -> None:
    peer = bench.open(ConnectionSettings("peer", idle_time_out_ms=60_000))
    peer.begin()
    peer.until_quiet()
    bench.pass_time(29)
    assert not wire_of(peer).written
    bench.pass_time(61)
    assert wire_of(peer).written.hex() == HEARTBEAT * 3


def test_a_clock_that_is_set_back_keeps_no_heartbeat_back(bench: Bench) -> None:
    peer = bench.open(ConnectionSettings("peer", idle_time_out_ms=60_000))
    peer.until_quiet()
    bench.now -= 3_600
    bench.pass_time(30)
    assert wire_of(peer).written.hex() == HEARTBEAT


def test_a_clock_that_is_set_forward_closes_no_connection(bench: Bench) -> None:
    peer, silent = bench.open(), bench.connect()
    peer.begin()
    bench.now += 3_600
    bench.pass_time(1)
    assert not wire_of(peer).is_closed
    assert not wire_of(silent).is_closed


def test_a_peer_that_asks_for_no_heartbeats_gets_none(bench: Bench) -> None:
    peer = bench.open(ConnectionSettings("peer", idle_time_out_ms=None))
    peer.until_quiet()
    bench.pass_time(200)
    assert not wire_of(peer).written


@pytest.mark.parametrize("said", [b"", b"AMQP", b"AMQP\x03\x01\x00\x00", b"GET /"])
def test_a_connection_that_never_opens_is_cut_after_a_minute(bench: Bench, said: bytes) -> None:
    peer = bench.connect()
    peer.line.write(said)
    bench.pass_time(59)
    assert not wire_of(peer).is_closed
    bench.pass_time(1)
    assert wire_of(peer).was_cut


def test_a_link_is_detached_when_its_token_lapses(checking: Bench) -> None:
    peer = checking.open()
    assert put(peer, "telemetry", checking.now + 30) == 202
    sender, receiver = peer.attach_sender("telemetry"), peer.attach_receiver(RECEIVE)
    checking.pass_time(29)
    peer.until_quiet()
    assert sender.is_attached
    assert receiver.is_attached
    checking.pass_time(1)
    for link, claim, resource in (
        (sender, "Send", "sb://localhost/telemetry"),
        (receiver, "Listen", f"sb://localhost/{RECEIVE.lower()}"),
    ):
        error = peer.refusal(link)
        assert error.condition == "amqp:link:detach-forced"
        assert (error.description or "").startswith(
            f"Unauthorized access. '{claim}' claim(s) are required to perform this operation. "
            f"Resource: '{resource}'. TrackingId:c0ffee_G"
        )


def test_a_newer_token_keeps_the_links_that_are_open(checking: Bench) -> None:
    peer = checking.open()
    put(peer, "telemetry", checking.now + 30)
    sender = peer.attach_sender("telemetry")
    checking.pass_time(20)
    put(peer, "telemetry", checking.now + 60)
    checking.pass_time(50)
    assert peer.publish(sender, data(b"x")) == Accepted()
    checking.pass_time(10)
    assert peer.refusal(sender).condition == "amqp:link:detach-forced"


def test_a_newer_token_for_another_hub_does_not_help(checking: Bench) -> None:
    checking.add_hub("other", 1)
    peer = checking.open()
    put(peer, "telemetry", checking.now + 30)
    sender = peer.attach_sender("telemetry")
    assert put(peer, "other", checking.now + 600) == 202
    checking.pass_time(30)
    assert peer.refusal(sender).condition == "amqp:link:detach-forced"


def test_a_key_given_in_plain_never_lapses(checking: Bench) -> None:
    response = f"\0{DEFAULT_KEY_NAME}\0{DEFAULT_KEY}".encode()
    peer = checking.open(ConnectionSettings("peer", sasl_mechanism="PLAIN", sasl_response=response))
    sender = peer.attach_sender("telemetry")
    for _ in range(10):
        checking.pass_time(200, step_s=10)
        assert peer.publish(sender, data(b"x")) == Accepted()


def test_a_client_without_any_token_is_told_which_claim_it_lacks(checking: Bench) -> None:
    error = (peer := checking.open()).refusal(peer.attach_sender("telemetry"))
    assert error.condition == "amqp:unauthorized-access"
    assert (error.description or "").startswith(
        "Unauthorized access. 'Send' claim(s) are required to perform this operation. Resource: "
        "'sb://localhost/telemetry'."
    )
