"""Everything that a scripted fault may hit, as attempts that end in one of a few ways.

Rules: each attempt has a connection of its own; it ends when the hub has answered, has refused, or
has cut the connection, and it tells how long that took by the bench's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from support.amqp_peer import Peer
from support.hub_bench import Bench, token_for
from support.hub_messages import data, part, put_token, read_request
from tidegate_amqp import Accepted, Error, Link, Source, Target
from tidegate_amqp import events as happened
from tidegate_amqp.sections import APPLICATION_PROPERTIES
from tidegate_hub.ingest import read_delivery

HUB = "telemetry"
GROUP = "$Default"
RECEIVE = f"{HUB}/ConsumerGroups/{GROUP}/Partitions/0"
SEND = f"{HUB}/Partitions/0"
PATIENCE_S = 60.0
STEP_S = 0.25


class Ended(NamedTuple):
    """How an attempt ended: `done`, `refused` or `cut`."""

    how: str
    condition: str = ""
    words: str = ""
    seconds: float = 0.0


DONE = Ended("done")
Finished = Callable[[], Ended | None]


def attempt(bench: Bench, operation: str, peer: Peer | None = None) -> Ended:
    """Tries an operation, moving the clock on while nothing comes."""
    peer = peer or bench.open()
    finished = _ACTIONS[operation](bench, peer)
    started = bench.now
    peer.flush()
    while (ended := finished()) is None:
        if peer.is_over:
            ended = Ended("cut")
            break
        if not peer.pump() and not peer.is_over:
            bench.pass_time(STEP_S, STEP_S)
            assert bench.now - started < PATIENCE_S, f"{operation} never ended"
    return ended._replace(seconds=bench.now - started)


def _refused(error: Any) -> Ended:
    assert isinstance(error, Error)
    return Ended("refused", error.condition, error.description or "")


def _detached(peer: Peer, link: Link) -> Ended | None:
    found = [each.error for each in peer.of(happened.LinkDetached) if each.link is link]
    return _refused(found[0]) if found else None


def _send(_bench: Bench, peer: Peer) -> Finished:
    link = peer.attach_sender(SEND)
    delivery_id = peer.send(link, data(b"sent"))

    def finished() -> Ended | None:
        for each in peer.of(happened.Outcome):
            if each.first <= delivery_id <= each.last:
                return DONE if each.state == Accepted() else _refused(each.state.error)
        return _detached(peer, link)

    return finished


def _receive(bench: Bench, peer: Peer) -> Finished:
    log = bench.broker.hubs.get(HUB).partitions[0].log
    if log.is_empty:
        store_an_event(bench)
    link = peer.attach_receiver(RECEIVE)
    link.grant(1)

    def finished() -> Ended | None:
        if any(each.link is link for each in peer.of(happened.Delivery)):
            return DONE
        return _detached(peer, link)

    return finished


def store_an_event(bench: Bench, body: bytes = b"stored", partition: int = 0) -> None:
    """Puts an event into the log, past all faults."""
    hub = bench.broker.hubs.get(HUB)
    bench.broker.publish(hub, hub.partitions[partition], read_delivery(data(body), 0))


def _attach(_bench: Bench, peer: Peer) -> Finished:
    link = peer.begin().attach_receiver("attempt", Source(RECEIVE), Target("here"))

    def finished() -> Ended | None:
        detached = _detached(peer, link)
        return DONE if detached is None and link.is_attached and _has_ends(peer, link) else detached

    return finished


def _has_ends(peer: Peer, link: Link) -> bool:
    return peer.attach_of(link).fields[5] is not None


def _request(node: str, payload: bytes) -> Callable[[Bench, Peer], Finished]:
    def action(_bench: Bench, peer: Peer) -> Finished:
        session = peer.begin()
        answers = peer.attach_receiver(node, session)
        answers.grant(1)
        peer.send(peer.attach_sender(node, session), payload)

        def finished() -> Ended | None:
            for each in peer.of(happened.Delivery):
                told = part(each.payload, APPLICATION_PROPERTIES)
                if told["status-code"] < 300:
                    return DONE
                return Ended("refused", told["error-condition"], told["status-description"])
            return None

        return finished

    return action


_ACTIONS: dict[str, Callable[[Bench, Peer], Finished]] = {
    "send": _send,
    "receive": _receive,
    "attach": _attach,
    "management": _request("$management", read_request("partition", HUB, partition="0")),
    "token": _request("$cbs", put_token(f"sb://h/{HUB}", token_for(HUB, 1 << 33))),
}
OPERATIONS = tuple(_ACTIONS)
