"""Credit: a sender never exceeds it, a receiver enforces it, and drain gives it back."""

from __future__ import annotations

import pytest

from support.amqp_pair import Pair, all_of, begun, one, said, tell
from support.amqp_samples import ATTACH_RECEIVER, ATTACH_SENDER
from tidegate_amqp import Connection, ConnectionSettings, MisuseError, ReceiverLink, SenderLink
from tidegate_amqp.events import CreditChanged, Delivery, LinkAttached, LinkDetached
from tidegate_amqp.performatives import Attach, Detach, Flow, Transfer

MAX = (1 << 32) - 1


def sending(attach: Attach = ATTACH_RECEIVER) -> tuple[Connection, SenderLink]:
    """A server with a link on which the test receives."""
    server = begun()
    attached = one(tell(server, attach), LinkAttached)
    attached.link.accept(attached.attach)
    said(server)
    assert isinstance(attached.link, SenderLink)
    return server, attached.link


def receiving(credit: int) -> tuple[Connection, ReceiverLink]:
    """A server with a link on which the test sends."""
    server = begun()
    attached = one(tell(server, ATTACH_SENDER), LinkAttached)
    attached.link.accept(attached.attach)
    assert isinstance(attached.link, ReceiverLink)
    attached.link.grant(credit)
    said(server)
    return server, attached.link


def test_nothing_is_sent_without_credit() -> None:
    pair = Pair()
    sender, receiver = pair.sender()
    assert sender.sendable == 0
    with pytest.raises(MisuseError, match="no credit"):
        sender.send(b"too early", tag=b"")
    receiver.grant(2)
    pair.pump()
    assert one(pair.at_client, CreditChanged).link is sender
    for _ in range(2):
        sender.send(b"allowed", tag=b"")
    assert (sender.credit, sender.sendable) == (0, 0)
    with pytest.raises(MisuseError, match="no credit"):
        sender.send(b"one too many", tag=b"")
    pair.pump()
    assert len(all_of(pair.at_server, Delivery)) == 2
    assert (receiver.credit, receiver.delivery_count) == (0, 2)


def test_credit_that_crosses_deliveries_is_counted_once() -> None:
    pair = Pair()
    sender, receiver = pair.sender(credit=10)
    for _ in range(4):
        sender.send(b"under way", tag=b"")
    receiver.grant(10)
    pair.to_client()
    assert sender.credit == 6
    pair.pump()
    assert (sender.credit, receiver.credit) == (6, 6)


def test_a_delivery_beyond_credit_detaches_the_link() -> None:
    server, link = receiving(credit=2)
    transfers = [Transfer(1, number, b"", 0) for number in range(4)]
    events = tell(server, *transfers)
    assert [type(each) for each in events] == [Delivery, Delivery, LinkDetached]
    (detach,) = said(server)
    assert detach.error.condition == "amqp:link:transfer-limit-exceeded"
    link.grant(10)
    assert tell(server, Detach(1, True)) == []
    assert said(server) == []


def test_continuations_of_a_delivery_need_no_more_credit() -> None:
    server, link = receiving(credit=1)
    events = tell(server, Transfer(1, 0, b"", 0, more=True), Transfer(1, more=True), Transfer(1))
    assert len(all_of(events, Delivery)) == 1
    assert link.credit == 0


@pytest.mark.parametrize(
    ("delivery_count", "link_credit", "credit"),
    [
        (None, 10, 7),
        (0, 10, 7),
        (3, 10, 10),
        (0, 2, 0),
        (0, 0, 0),
        (0, None, 0),
        (0, MAX, MAX - 3),
        (3, 1 << 31, 1 << 31),
        (9, 4, 4),
    ],
)
def test_credit_counts_from_what_the_receiver_has_seen(
    delivery_count: int | None, link_credit: int | None, credit: int
) -> None:
    server, link = sending()
    tell(server, Flow(1, 100, 1, 100, 0, 0, 3))
    for _ in range(3):
        link.send(b"", tag=b"")
    tell(server, Flow(1, 100, 1, 100, 0, delivery_count, link_credit))
    assert link.credit == credit


def test_credit_that_comes_with_the_attach_is_kept_until_the_link_is_accepted() -> None:
    server = begun()
    events = tell(server, ATTACH_RECEIVER, Flow(1, 100, 1, 100, 0, 0, 7))
    assert [type(each) for each in events] == [LinkAttached, CreditChanged]
    attached = one(events, LinkAttached)
    assert isinstance(attached.link, SenderLink)
    assert attached.link.sendable == 0
    attached.link.accept(attached.attach)
    assert attached.link.sendable == 7


def test_draining_gives_back_what_is_not_used() -> None:
    pair = Pair()
    receiver, sender = pair.receiver(credit=10)
    sender.send(b"the only one", tag=b"")
    receiver.grant(10, drain=True)
    pair.pump()
    assert (sender.drain, sender.credit) == (True, 9)
    sender.finish_drain()
    assert (sender.drain, sender.credit, sender.delivery_count) == (False, 0, 10)
    pair.pump()
    assert (receiver.credit, receiver.delivery_count) == (0, 10)
    assert pair.frames[-1].performative[4:9] == (0, 10, 0, 0, True)
    receiver.grant(5)
    pair.pump()
    assert (sender.credit, sender.sendable) == (5, 5)


def test_there_is_nothing_to_finish_where_no_drain_was_asked_for() -> None:
    server, link = sending()
    tell(server, Flow(1, 100, 1, 100, 0, 0, 3))
    link.finish_drain()
    assert said(server) == []
    assert link.credit == 3


def test_the_count_of_deliveries_wraps() -> None:
    pair = Pair()
    sender, receiver = pair.sender(initial_delivery_count=MAX - 1)
    receiver.grant(5)
    pair.pump()
    assert (receiver.delivery_count, sender.credit) == (MAX - 1, 5)
    for _ in range(4):
        sender.send(b"x", tag=b"")
    receiver.grant(5)
    pair.to_client()
    assert sender.credit == 1
    pair.pump()
    assert receiver.delivery_count == sender.delivery_count == 2
    assert receiver.credit == sender.credit == 1


def test_delivery_ids_wrap_and_every_delivery_arrives() -> None:
    pair = Pair()
    receiver, sender = pair.receiver(credit=10)
    assert sender.session.take_delivery_id(MAX - 1) == 0
    sender.send_run(b"abcd", [1, 2, 3, 4])
    pair.pump()
    found = [(each.delivery_id, each.payload) for each in all_of(pair.at_client, Delivery)]
    assert found == [(MAX - 1, b"a"), (MAX, b"b"), (0, b"c"), (1, b"d")]
    assert receiver.credit == 6


@pytest.mark.parametrize("handle", [None, 0])
def test_an_echo_is_answered_with_the_state_of_session_and_link(handle: int | None) -> None:
    server, _ = sending()
    tell(server, Flow(1, 100, 1, 100, 0, 0, 3))
    tell(server, Flow(1, 100, 1, 100, handle, 0 if handle == 0 else None, 3, echo=True))
    (flow,) = said(server)
    assert (flow.handle, flow.echo) == (handle, False)
    assert flow[5:7] == ((0, 3) if handle == 0 else (None, None))


def test_an_aborted_delivery_uses_credit_and_is_not_told() -> None:
    server, link = receiving(credit=3)
    aborted = Transfer(1, aborted=True)
    events = tell(
        server,
        Transfer(1, 0, b"", 0, more=True),
        aborted,
        Transfer(1, 1, b"", 0, aborted=True),
        Transfer(1, 2, b"", 0),
    )
    assert [each.delivery_id for each in all_of(events, Delivery)] == [2]
    assert (link.credit, link.delivery_count, link.in_delivery) == (0, 3, False)
    assert all_of(tell(server, Transfer(1, 3, b"", 0, aborted=True)), LinkDetached)


def test_deliveries_under_way_when_credit_is_taken_back_are_still_received() -> None:
    pair = Pair()
    sender, receiver = pair.sender(credit=5)
    for _ in range(3):
        sender.send(b"under way", tag=b"")
    receiver.grant(1)
    assert receiver.credit == 1
    pair.pump()
    assert len(all_of(pair.at_server, Delivery)) == 3
    assert (receiver.credit, sender.credit) == (0, 0)
    assert not receiver.is_gone
    receiver.grant(2)
    pair.pump()
    assert sender.credit == 2


def test_credit_that_crosses_the_answer_to_a_drain_is_not_lost() -> None:
    pair = Pair()
    receiver, sender = pair.receiver()
    receiver.grant(5, drain=True)
    pair.to_server()
    sender.finish_drain()
    receiver.grant(8)
    pair.pump()
    assert receiver.credit == sender.credit == 3
    sender.send_run(b"abc", [1, 2, 3])
    pair.pump()
    assert len(all_of(pair.at_client, Delivery)) == 3
    assert not receiver.is_gone


def test_a_drain_is_finished_after_the_deliveries_that_wait_for_the_window() -> None:
    pair = Pair(client=ConnectionSettings("c", max_frame_size=512, incoming_window=2))
    receiver, sender = pair.receiver()
    receiver.grant(5, drain=True)
    pair.pump()
    large = b"x" * 5_000
    sender.send(large, tag=b"")
    sender.finish_drain()
    sender.finish_drain()
    pair.pump()
    assert [each.payload for each in all_of(pair.at_client, Delivery)] == [large]
    assert (receiver.credit, receiver.delivery_count) == (sender.credit, 5) == (0, 5)
    assert len([each for each in pair.frames if each.performative[8:9] == (True,)]) == 2
