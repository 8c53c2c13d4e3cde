"""Faults that hit a client before it has said anything, seen from its socket."""

from __future__ import annotations

import time
from typing import Any

import pytest

from contract.wire.place import Place
from support.amqp_peer import SocketLine
from support.hub_messages import data
from support.wait import wait_until
from tidegate_amqp import Accepted

HELLO = b"AMQP\x03\x01\x00\x00"


def is_greeted(place: Place) -> bool:
    """Whether a new connection is answered; if not, it must have been cut without a word."""
    line = SocketLine(place.server.port)
    try:
        line.write(HELLO)
        answer = line.read(30)
    except ConnectionError:
        answer = b""
    finally:
        line.cut()
    assert answer is not None, "neither answered nor cut"
    return answer != b""


@pytest.mark.parametrize(
    ("kind", "parameters"), [("stop_accepting", {}), ("drop_connection", {"on": "connect"})]
)
def test_so_many_connections_are_cut_and_then_none(
    place: Place, kind: str, parameters: dict[str, Any]
) -> None:
    place.server.inject(kind, times=2, **parameters)
    assert [is_greeted(place) for _ in range(4)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("kind", "parameters"), [("stop_accepting", {}), ("drop_connection", {"on": "connect"})]
)
def test_connections_are_cut_until_the_time_is_over(
    place: Place, kind: str, parameters: dict[str, Any]
) -> None:
    started = time.monotonic()
    place.server.inject(kind, for_seconds=1.5, **parameters)
    assert not is_greeted(place)
    wait_until(lambda: is_greeted(place), 30, "a connection to be accepted again")
    assert time.monotonic() - started >= 1.5


def test_a_hub_that_stops_accepting_goes_on_serving_those_it_has(place: Place) -> None:
    peer = place.open()
    place.server.inject("stop_accepting", for_seconds=60)
    assert not is_greeted(place)
    assert peer.publish(peer.attach_sender(place.hub), data(b"x")) == Accepted()
    place.server.clear_faults()
    assert is_greeted(place)


def test_a_delayed_connection_is_served_in_full_after_the_delay(place: Place) -> None:
    place.server.inject("delay", times=1, seconds=0.5, on="connect")
    started = time.monotonic()
    peer = place.open()
    assert time.monotonic() - started >= 0.5
    assert peer.publish(peer.attach_sender(place.hub), data(b"x" * 200_000)) == Accepted()


def test_a_client_that_leaves_during_the_delay_is_forgotten(place: Place) -> None:
    before = place.server.connections()
    place.server.inject("delay", times=1, seconds=0.3, on="connect")
    line = SocketLine(place.server.port)
    line.write(HELLO)
    wait_until(lambda: place.server.connections() == before + 1, 5, "the connection")
    line.cut()
    wait_until(lambda: place.server.connections() == before, 5, "the connection to be gone")


def test_an_ended_fault_hits_nobody(place: Place) -> None:
    fault = place.server.inject("stop_accepting")
    assert not is_greeted(place)
    assert place.server.end_fault(fault)
    assert not place.server.end_fault(fault)
    assert is_greeted(place)
