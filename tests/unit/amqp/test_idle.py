"""Time: a quiet connection is kept alive, a silent peer is given up, and it is told why."""

from __future__ import annotations

import pytest

from support.amqp_pair import CLIENT, Pair, all_of, begun, opened, said, tell
from support.amqp_samples import BEGIN, OPEN
from tidegate_amqp import Connection, ConnectionSettings
from tidegate_amqp.events import ConnectionClosed
from tidegate_amqp.frames import EMPTY_FRAME, frame
from tidegate_amqp.performatives import Close, Detach, End, encode_performative

FORCED = "amqp:connection:forced"


def patient(idle_time_out: int | None) -> Connection:
    """A server whose peer wants to hear of it at least so often."""
    server = opened(peer=OPEN._replace(idle_time_out=idle_time_out))
    server.receive(b"", now=0.0)
    return server


def test_an_empty_frame_is_sent_when_half_of_the_patience_of_the_peer_is_used() -> None:
    server = patient(60_000)
    for now, written in [(1.0, []), (29.9, []), (30.0, [EMPTY_FRAME])]:
        assert server.tick(now) == []
        assert server.take_output(now) == written
    server.tick(59.0)
    assert server.take_output(59.0) == []
    server.tick(60.0)
    assert server.take_output(60.0) == [EMPTY_FRAME]


def test_what_is_written_counts_as_a_sign_of_life() -> None:
    server = patient(60_000)
    tell(server, BEGIN)
    assert server.take_output(29.0)
    server.tick(58.0)
    assert server.take_output(58.0) == []


def test_no_empty_frame_is_added_to_what_waits_to_be_written() -> None:
    server = patient(1_000)
    tell(server, BEGIN)
    server.tick(50.0)
    assert EMPTY_FRAME not in server.take_output(50.0)


@pytest.mark.parametrize("idle_time_out", [None, 0])
def test_a_peer_without_a_time_out_gets_no_empty_frames(idle_time_out: int | None) -> None:
    server = patient(idle_time_out)
    server.tick(239.0)
    assert server.take_output(239.0) == []


def test_a_silent_peer_is_told_on_link_session_and_connection() -> None:
    pair = Pair(server=ConnectionSettings("hub_G1", inactivity_limit_ms=240_000))
    pair.receiver()
    server = pair.server
    server.receive(b"", now=10.0)
    assert server.tick(249.9) == []
    server.take_output(249.9)
    assert server.tick(250.0) == [ConnectionClosed(None)]
    detach, end, close = said(server)
    assert (type(detach), type(end), type(close)) == (Detach, End, Close)
    assert detach.error == end.error == close.error
    assert close.error.condition == FORCED
    assert close.error.description == (
        "The connection was inactive for more than the allowed 240000 milliseconds and is closed "
        "by container 'hub_G1'."
    )
    assert server.is_closed
    assert server.tick(1_000.0) == server.receive(EMPTY_FRAME) == []


def test_an_empty_frame_of_the_peer_keeps_the_connection() -> None:
    server = begun()
    for now in range(0, 2_000, 100):
        server.receive(EMPTY_FRAME, now=float(now))
        assert server.tick(now + 99.0) == []
    assert not server.is_closed


def test_a_peer_that_never_answers_our_close_is_given_up_without_another_word() -> None:
    server = begun()
    server.close()
    assert said(server) == [Close()]
    server.tick(200.0)
    assert server.take_output() == []
    assert all_of(server.tick(240.0), ConnectionClosed)
    assert server.take_output() == []


def test_no_empty_frame_follows_a_close() -> None:
    server = patient(10_000)
    server.close()
    server.take_output()
    server.tick(100.0)
    assert server.take_output() == []


def test_the_handshake_is_not_timed_here() -> None:
    client = Connection(CLIENT, initiator=True)
    assert client.tick(10_000.0) == []
    assert not client.is_closed


def test_time_counts_from_when_the_connection_was_made() -> None:
    server = Connection(ConnectionSettings("s"), initiator=False, now=1_000.0)
    pair = Pair()
    data = b"".join(pair.client.take_output(1_000.0))
    server.receive(data, now=1_000.0)
    assert server.tick(1_200.0) == []
    server.receive(frame(0, encode_performative(Close())), now=1_200.0)
    assert server.is_closed
