"""Links: attached, refused and detached from either end, and what crosses on the wire."""

from __future__ import annotations

from typing import Any

import pytest

from support.amqp_pair import CLIENT, SERVER, Pair, all_of, begun, failure, one, said, tell
from support.amqp_samples import ATTACH_RECEIVER, ATTACH_SENDER
from tidegate_amqp import (
    ConnectionSettings,
    Described,
    Error,
    MisuseError,
    ReceiverLink,
    SenderLink,
    Source,
    Symbol,
    Target,
)
from tidegate_amqp.events import ConnectionFailed, Delivery, LinkAttached, LinkDetached
from tidegate_amqp.link import LinkState
from tidegate_amqp.performatives import Attach, Begin, Close, Detach, End, Flow, Transfer

NOT_FOUND = Error("amqp:not-found", "there is no such hub")
STOLEN = Error("amqp:link:stolen", "taken by another")


def test_an_attach_is_answered_with_what_was_asked_for() -> None:
    source = Source("from", filter={Symbol("f"): Described(Symbol("f"), "x > '1'")})
    asked = ATTACH_RECEIVER._replace(
        snd_settle_mode=1, rcv_settle_mode=1, source=source, properties={Symbol("p"): 1}
    )
    server = begun()
    attached = one(tell(server, asked), LinkAttached)
    assert isinstance(attached.link, SenderLink)
    assert attached.attach == asked
    attached.link.accept(
        attached.attach,
        max_message_size=1 << 20,
        properties={Symbol("com.microsoft:epoch"): 3},
        offered_capabilities=["shared"],
    )
    (reply,) = said(server)
    assert reply == Attach(
        name="receiver",
        handle=0,
        role=False,
        snd_settle_mode=1,
        rcv_settle_mode=1,
        source=source,
        target=Target("to"),
        initial_delivery_count=0,
        max_message_size=1 << 20,
        offered_capabilities=["shared"],
        properties={Symbol("com.microsoft:epoch"): 3},
    )


def test_a_refused_attach_has_no_ends_and_is_detached_with_the_error() -> None:
    pair = Pair()
    ours, _ = pair.session()
    link = ours.attach_receiver("receiver", Source("nowhere"), Target("here"))
    pair.pump()
    pair.forget()
    theirs = next(iter(pair.server.sessions[0].links.values()))
    theirs.refuse(NOT_FOUND)
    pair.pump()
    attached, detached = pair.at_client
    assert isinstance(attached, LinkAttached)
    assert (attached.attach.source, attached.attach.target) == (None, None)
    assert (attached.attach.snd_settle_mode, attached.attach.max_message_size) == (2, 0)
    assert detached == LinkDetached(link, NOT_FOUND)
    assert pair.at_server == []
    assert [type(each.performative) for each in pair.frames] == [Attach, Detach, Detach]
    assert pair.client.sessions[0].links == pair.server.sessions[0].links == {}


@pytest.mark.parametrize("detacher", ["client", "server"])
@pytest.mark.parametrize("error", [None, STOLEN])
def test_either_end_may_detach_a_link(detacher: str, error: Error | None) -> None:
    pair = Pair()
    at_client, at_server = pair.receiver(credit=10)
    link, events = {
        "client": (at_client, pair.at_server),
        "server": (at_server, pair.at_client),
    }[detacher]
    link.detach(error)
    link.detach(error)
    pair.pump()
    assert [each.performative for each in pair.frames] == [
        Detach(0, True, error),
        Detach(0, True, None),
    ]
    assert one(events, LinkDetached).error == error
    assert at_client.state is at_server.state is LinkState.DETACHED
    assert (at_client.credit, at_server.credit, at_server.sendable) == (0, 0, 0)


def test_detaches_that_cross_are_not_answered_twice() -> None:
    pair = Pair()
    at_client, at_server = pair.receiver()
    at_client.detach()
    at_server.detach(STOLEN)
    pair.pump()
    assert len(pair.frames) == 2
    assert pair.at_client == pair.at_server == []
    assert at_client.state is at_server.state is LinkState.DETACHED


def test_a_handle_and_a_name_may_be_used_again_after_a_detach() -> None:
    pair = Pair()
    session, _ = pair.session()
    for _ in range(3):
        link, _ = pair.receiver(session)
        assert link.handle == 0
        link.detach()
        pair.pump()


def test_what_is_under_way_after_our_detach_is_ignored() -> None:
    pair = Pair()
    sender, receiver = pair.sender(credit=10)
    sender.send(b"before", tag=b"1")
    pair.pump()
    receiver.detach(STOLEN)
    for tag in (b"2", b"3"):
        sender.send(b"crossing", tag=tag)
    pair.pump()
    assert [each.payload for each in all_of(pair.at_server, Delivery)] == [b"before"]
    assert one(pair.at_client, LinkDetached).error == STOLEN
    assert not all_of(pair.at_server, ConnectionFailed)


def test_credit_that_crosses_our_detach_is_ignored() -> None:
    pair = Pair()
    receiver, sender = pair.receiver()
    sender.detach()
    receiver.grant(50)
    pair.to_server()
    assert (pair.at_server, sender.credit) == ([], 0)


def test_an_answer_to_an_attach_that_was_given_up_attaches_nothing() -> None:
    pair = Pair()
    ours, _ = pair.session()
    link = ours.attach_receiver("receiver", Source("a"), Target("b"))
    link.detach()
    pair.to_server()
    assert [type(each).__name__ for each in pair.at_server[-2:]] == ["LinkAttached", "LinkDetached"]
    pair.pump()
    assert not all_of(pair.at_client, LinkAttached)
    assert (ours.links, ours.links_by_remote_handle) == ({}, {})
    assert link.state is LinkState.DETACHED


AT_ONCE: dict[str, list[Any]] = {
    "detach": [Detach(0, True)],
    "end": [End()],
    "close": [Close()],
    "a broken frame": [Detach(77)],
}


@pytest.mark.parametrize("leaving", AT_ONCE.values(), ids=AT_ONCE)
def test_a_peer_that_attaches_and_leaves_at_once_harms_nobody(leaving: list[Any]) -> None:
    server = begun()
    attached = one(tell(server, ATTACH_RECEIVER, *leaving), LinkAttached)
    before = said(server)
    attached.link.accept(attached.attach)
    attached.link.refuse(NOT_FOUND)
    attached.link.detach()
    assert attached.link.is_gone
    assert said(server) == []
    if leaving == AT_ONCE["detach"]:
        assert [type(each) for each in before] == [Attach, Detach]


def test_what_an_owner_does_with_a_link_that_is_gone_does_nothing() -> None:
    server = begun()
    receiver = one(tell(server, ATTACH_SENDER), LinkAttached).link
    sender = one(tell(server, ATTACH_RECEIVER), LinkAttached).link
    assert isinstance(receiver, ReceiverLink)
    assert isinstance(sender, SenderLink)
    for link in (receiver, sender):
        link.accept(ATTACH_SENDER)
    tell(server, Flow(1, 10, 1, 10, 0, 0, 5, drain=True), Detach(0, True), Detach(1, True))
    said(server)
    receiver.grant(10)
    sender.finish_drain()
    assert sender.sendable == 0
    assert said(server) == []
    with pytest.raises(MisuseError):
        sender.send(b"late", tag=b"")


def test_a_link_is_accepted_only_once() -> None:
    server = begun()
    attached = one(tell(server, ATTACH_RECEIVER), LinkAttached)
    attached.link.accept(attached.attach)
    with pytest.raises(MisuseError, match="attached, not attaching"):
        attached.link.accept(attached.attach)
    with pytest.raises(MisuseError):
        attached.link.refuse(NOT_FOUND)


def test_a_link_is_not_used_before_it_is_attached() -> None:
    pair = Pair()
    ours, _ = pair.session()
    sender = ours.attach_sender("s", Source("a"), Target("b"))
    with pytest.raises(MisuseError):
        sender.send(b"early", tag=b"")


def test_no_credit_is_given_on_a_link_that_was_asked_for_and_is_not_accepted() -> None:
    server = begun()
    attached = one(tell(server, ATTACH_SENDER), LinkAttached)
    assert isinstance(attached.link, ReceiverLink)
    with pytest.raises(MisuseError, match="attaching, not attached"):
        attached.link.grant(1)


def test_closing_with_an_error_answers_an_attach_that_waits() -> None:
    server = begun()
    tell(server, ATTACH_RECEIVER)
    server.close(STOLEN)
    attach, detach, end, close = said(server)
    assert (attach.source, attach.target, detach.error) == (None, None, STOLEN)
    assert end.error == close.error == STOLEN


def test_handles_up_to_the_limit_of_a_session_are_taken_and_no_more() -> None:
    server = begun(ConnectionSettings("server", handle_max=255))
    assert all_of(tell(server, ATTACH_SENDER._replace(handle=255)), LinkAttached)
    events = tell(server, ATTACH_SENDER._replace(handle=256, name="other"))
    assert failure(events) == "amqp:resource-limit-exceeded"


def test_an_own_attach_keeps_to_the_limit_of_the_peer() -> None:
    pair = Pair(server=ConnectionSettings("server", handle_max=1))
    ours, _ = pair.session()
    for name in ("a", "b"):
        ours.attach_sender(name, Source("x"), Target("y"))
    with pytest.raises(MisuseError, match="2 links a session"):
        ours.attach_sender("c", Source("x"), Target("y"))
    pair.pump()
    assert not all_of(pair.at_server, ConnectionFailed)


def test_links_that_both_ends_attach_do_not_share_a_handle() -> None:
    pair = Pair(client=CLIENT, server=SERVER)
    ours, theirs = pair.session()
    pair.forget()
    mine = ours.attach_sender("mine", Source("a"), Target("b"))
    yours = theirs.attach_sender("yours", Source("c"), Target("d"))
    pair.pump()
    for events in (pair.at_client, pair.at_server):
        attached = one(events, LinkAttached)
        attached.link.accept(attached.attach)
        assert isinstance(attached.link, ReceiverLink)
        attached.link.grant(1)
    pair.pump()
    mine.send(b"from the client", tag=b"")
    yours.send(b"from the server", tag=b"")
    pair.pump()
    assert one(pair.at_server, Delivery).payload == b"from the client"
    assert one(pair.at_client, Delivery).payload == b"from the server"
    assert len(ours.links) == len(theirs.links) == 2


def test_a_transfer_to_a_link_whose_peer_receives_is_refused() -> None:
    server = begun(begin=Begin(None, 1, 10, 10))
    attached = one(tell(server, ATTACH_RECEIVER), LinkAttached)
    attached.link.accept(attached.attach)
    assert failure(tell(server, Transfer(0, 0, b"", 0))) == "amqp:illegal-state"
