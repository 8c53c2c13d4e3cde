"""Clients that do not read what they asked for: the server's memory stays where it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.wire.place import Place
from support.amqp_peer import Peer, SocketLine
from support.hub_messages import batch, data
from support.hub_process import HubProcess, hub_process
from support.wait import wait_until
from tidegate_amqp import Accepted, ConnectionSettings
from tidegate_amqp.sections import BATCH_FORMAT

FEED = "telemetry/ConsumerGroups/$Default/Partitions/0"
STORED_BYTES = 200 << 20
ALLOWED_GROWTH = 30 << 20
EVENT = data(b"x" * 1_000)

pytestmark = pytest.mark.slow


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub that keeps a little in memory and the rest on disk."""
    with hub_process(
        tmp_path, "--hub", "telemetry:1", "--data", str(tmp_path / "data"), "--memory-mb", "8"
    ) as process:
        yield process


def fill(hub: HubProcess, size: int) -> int:
    """Stores so many bytes; gives the number of events."""
    together = batch(*[EVENT] * 1_000)
    count = size // len(together) + 1
    with Peer(SocketLine(hub.port)) as peer:
        link = peer.attach_sender("telemetry")
        for _ in range(count - 1):
            peer.send(link, together, message_format=BATCH_FORMAT, settled=True)
        assert peer.publish(link, together, message_format=BATCH_FORMAT) == Accepted()
    return count * 1_000


def greedy(hub: HubProcess) -> Peer:
    """A client that asks for everything and has the largest windows."""
    return Peer(
        SocketLine(hub.port),
        ConnectionSettings("greedy", incoming_window=(1 << 31) - 1),
    ).open()


def test_a_client_that_never_reads_costs_no_memory(hub: HubProcess) -> None:
    count = fill(hub, STORED_BYTES)
    before = hub.resident_bytes
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            peer = greedy(hub)
            stack.callback(peer.line.cut)
            link = peer.attach_receiver(FEED)
            link.grant(count)
            peer.flush()
        # The server has done all that it will do for them once it has served this one whole.
        reader = greedy(hub)
        stack.callback(reader.line.cut)
        wanted = reader.attach_receiver(
            FEED, selector=f"amqp.annotation.x-opt-sequence-number > '{count - 20_001}'"
        )
        wanted.grant(20_000)
        reader.messages(wanted, 20_000, 60)
        grown = hub.resident_bytes - before
    print("GROWN", grown >> 10)
    assert grown < ALLOWED_GROWTH, f"{grown >> 20} MB for clients that read nothing"


def test_a_slow_client_does_not_hold_up_the_others_and_catches_up(hub: HubProcess) -> None:
    count = fill(hub, 20 << 20)
    with greedy(hub) as slow, greedy(hub) as quick:
        links = [peer.attach_receiver(FEED) for peer in (slow, quick)]
        for peer, link in zip((slow, quick), links, strict=True):
            link.grant(count)
            peer.flush()
        quick.messages(links[1], count, 60)
        slow.messages(links[0], count, 60)


def test_clients_that_are_killed_while_they_are_owed_much_are_let_go(hub: HubProcess) -> None:
    count = fill(hub, 20 << 20)
    before = hub.resident_bytes
    for _ in range(20):
        peer = greedy(hub)
        peer.attach_receiver(FEED).grant(count)
        peer.flush()
        peer.line.cut()
    wait_until(lambda: works(hub), 5, "a place among the five receivers")
    assert hub.resident_bytes - before < ALLOWED_GROWTH


def works(hub: HubProcess) -> bool:
    with Peer(SocketLine(hub.port)) as peer:
        return peer.attach_receiver(FEED).is_attached


def test_a_client_that_is_closed_while_it_reads_nothing_frees_its_place_at_once(
    place: Place,
) -> None:
    sender = place.open()
    link = sender.attach_sender(place.input())
    for _ in range(20):
        assert sender.publish(link, data(b"x" * 1_000_000)) == Accepted()
    before = place.server.connections()
    deaf = place.open()
    epoch = {"com.microsoft:epoch": 5}
    deaf.attach_receiver(place.feed(), properties=epoch).grant(1_000)
    deaf.flush()
    hub = place.server
    wait_until(
        lambda: hub.call(lambda: any(each.is_held for each in hub._server.clients)),
        5,
        "the hub to have written as much as it will",
    )
    deaf.line.write(b"nonsense" * 100)
    other = place.open()
    wait_until(lambda: other.attach_receiver(place.feed()).is_attached, 30, "the place to be free")
    # What the hub had still to say is given up after a while, and so is the connection.
    assert place.server.connections() == before + 2, "the place was free before that"
    wait_until(lambda: place.server.connections() == before + 1, 60, "the connection to be cut")
