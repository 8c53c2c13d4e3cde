"""Limits for one peer: unfinished deliveries, links, attaches, and frames in one turn."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_pair import Pair, all_of, begun, failure, one, said, tell
from tidegate_amqp import Connection, ConnectionSettings, Source, Target
from tidegate_amqp.events import ConnectionFailed, Delivery, Event
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Flow,
    Transfer,
    encode_performative,
)

KILO = b"x" * 1_000


def limited(**limits: int) -> ConnectionSettings:
    return ConnectionSettings("server_G1", **limits)  # type: ignore[arg-type]


def part(handle: int, delivery_id: int | None = None, *, more: bool = True) -> Transfer:
    return Transfer(handle, delivery_id, None if delivery_id is None else b"t", more=more)


def two_senders(**limits: int) -> Pair:
    """A server with two links on which it receives."""
    pair = Pair(server=limited(**limits))
    session, _ = pair.session()
    for name in ("one", "two"):
        session.attach_sender(name, Source("here"), Target("there"))
    pair.pump()
    for link in pair.server.sessions[0].links.values():
        link.accept(Attach(link.name, link.handle, role=False))
        link.grant(10)  # type: ignore[attr-defined]
    pair.pump()
    return pair


def test_a_connection_keeps_nothing_of_a_delivery_that_it_gave_to_its_owner() -> None:
    server = two_senders().server
    events = tell(server, part(0, 0, more=False), payload=KILO)
    delivery = one(events, Delivery)
    del events
    assert [each for each in gc.get_referrers(delivery) if isinstance(each, list)] == []


def test_deliveries_that_are_not_whole_are_bounded_for_all_links_together() -> None:
    server = two_senders(max_unfinished_bytes=3_000).server
    tell(server, part(0, 0), payload=KILO)
    tell(server, part(1, 1), payload=KILO)
    tell(server, part(0), payload=KILO)
    assert server.unfinished_bytes == 3_000
    events = tell(server, part(1), payload=b"x")
    assert failure(events) == "amqp:resource-limit-exceeded"
    error = one(events, ConnectionFailed).error
    assert str(error) == (
        "3001 bytes of unfinished deliveries exceed the maximum of 3000 for one connection"
    )
    assert isinstance(said(server)[-1], Close)


def test_a_delivery_that_becomes_whole_makes_room_for_the_next() -> None:
    server = two_senders(max_unfinished_bytes=3_000).server
    for number in range(20):
        tell(server, part(0, number), payload=KILO)
        tell(server, part(0), payload=KILO)
        (delivery,) = all_of(tell(server, part(0, more=False), payload=KILO), Delivery)
        assert delivery.payload == KILO * 3
        assert server.unfinished_bytes == 0
        delivery.link.grant(10)


def test_parts_are_forgotten_with_their_delivery_link_session_or_connection() -> None:
    for what in ("aborted", "detached", "detached here", "ended", "ended here", "released"):
        server = two_senders().server
        tell(server, part(0, 0), payload=KILO)
        tell(server, part(1, 1), payload=KILO)
        session = server.sessions[0]
        link = session.links[0]
        if what == "aborted":
            tell(server, Transfer(0, aborted=True))
        elif what == "detached":
            tell(server, Detach(0, closed=True))
        elif what == "detached here":
            link.detach()
        elif what == "ended":
            tell(server, End())
        elif what == "ended here":
            session.end()
        else:
            server.release()
            assert not server.sessions
            assert not server.output
        is_one = what in ("aborted", "detached", "detached here")
        assert server.unfinished_bytes == (1_000 if is_one else 0), what
        assert not link._parts  # type: ignore[attr-defined]


def test_many_small_parts_take_as_much_as_their_bytes() -> None:
    server = two_senders().server
    tell(server, part(0, 0), payload=b"ab")
    for _ in range(100):
        tell(server, *[part(0)] * 40, payload=b"ab")
    parts = server.sessions[0].links[0]._parts  # type: ignore[attr-defined]
    assert isinstance(parts, bytearray)
    assert len(parts) == 2 * 4_001


def test_a_message_over_the_limit_of_its_link_holds_nothing() -> None:
    server = two_senders().server
    server.sessions[0].links[0].max_message_size = 1_500  # type: ignore[attr-defined]
    tell(server, part(0, 0), payload=KILO)
    assert server.unfinished_bytes == 1_000
    tell(server, part(0), payload=KILO)
    assert server.unfinished_bytes == 0
    (delivery,) = all_of(tell(server, part(0, more=False), payload=KILO), Delivery)
    assert (delivery.size, delivery.payload) == (3_000, b"")


def test_links_are_bounded_for_all_sessions_together_and_those_that_go_make_room() -> None:
    server = begun(limited(max_links=3))
    tell(server, Begin(None, 1, 100, 100), channel=1)
    for channel in (0, 1):
        tell(server, Attach(f"of {channel}", 0, role=False), channel=channel)
    for _ in range(10):
        tell(server, Attach("one more", 1, role=False))
        tell(server, Detach(1, closed=True))
    assert server.link_count == 2
    tell(server, Attach("third", 1, role=False), channel=1)
    assert failure(tell(server, Attach("fourth", 2, role=False))) == "amqp:resource-limit-exceeded"


def test_an_attach_has_a_largest_size() -> None:
    server = begun(limited(max_attach_size=500))
    assert not all_of(tell(server, Attach("x" * 400, 0, role=False)), ConnectionFailed)
    events = tell(server, Attach("x" * 500, 1, role=False))
    assert failure(events) == "amqp:resource-limit-exceeded"


def test_what_waits_for_the_window_of_a_session_is_counted_until_it_is_sent() -> None:
    pair = Pair(client=ConnectionSettings("client", incoming_window=1, max_frame_size=512))
    _, sender = pair.receiver(credit=10)
    server = pair.server
    sender.send(b"x" * 5_000, tag=b"t", settled=True)
    assert 4_000 < server.waiting_bytes < 6_000
    pair.pump()
    assert server.waiting_bytes == 0
    for forget in (sender.detach, sender.session.end, server.release):
        server.waiting_bytes = 0
        sender.session._waiting.append((sender.handle, KILO))
        server.waiting_bytes = 1_000
        forget()
        assert server.waiting_bytes in (0, 1_000)
        sender.session.release()
        assert server.waiting_bytes == 0


FLOW = Flow(None, 100, 1, 100, echo=True)


@given(step=st.integers(1, 7), split=st.integers(0, 300))
@settings(max_examples=60, deadline=None)
def test_taking_a_few_frames_at_a_time_gives_the_same_in_the_same_order(
    step: int, split: int
) -> None:
    sent = []
    for number in range(5):
        sent += [Transfer(0, number, b"t", more=True), Transfer(0), FLOW, Flow(None, 9, 1, 9)]
    found = []
    for frames_a_turn in (None, step):
        server = two_senders().server
        server.settings = replace(server.settings, frames_a_turn=frames_a_turn)
        data = _written(sent)
        events = [*all_at_once(server, data[:split]), *all_at_once(server, data[split:])]
        deliveries = [(each.delivery_id, each.payload) for each in all_of(events, Delivery)]
        kinds = [type(each).__name__ for each in events]
        found.append((deliveries, kinds, said(server)))
    assert found[0] == found[1]
    assert len(found[0][0]) == 5


def all_at_once(server: Connection, data: bytes) -> list[Event]:
    events = server.receive(data)
    while server.has_more:
        events += server.receive(b"")
    return events


def _written(performatives: Sequence[object]) -> bytes:
    return b"".join(frame(0, encode_performative(each)) for each in performatives)


def test_so_many_frames_are_taken_and_the_rest_waits() -> None:
    server = begun(limited(frames_a_turn=10))
    tell(server, *[FLOW] * 25)
    assert len(said(server)) == 10
    assert server.has_more
    assert server.receive(b"") == []
    assert len(said(server)) == 10
    # What arrives meanwhile comes behind the rest.
    assert all_at_once(server, _written([FLOW])) == []
    assert len(said(server)) == 6
