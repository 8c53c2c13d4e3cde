"""Runs: settled deliveries of one frame, many at a time, with nothing else changed by it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_pair import Pair, all_of, one
from tidegate_amqp import ReceiverLink, SenderLink, Source, Target
from tidegate_amqp.events import CreditChanged, Delivery, LinkAttached, LinkDetached, Run
from tidegate_amqp.performatives import Flow

LARGE = 100_000


def flowing(links: int = 1, credit: int = 1_000) -> tuple[Pair, list[SenderLink]]:
    """A client that takes runs, and the server's ends of its links."""
    pair = Pair()
    session, _ = pair.session()
    for number in range(links):
        link = session.attach_receiver(f"r{number}", Source("a"), Target("b"))
        link.take_runs()
        link.grant(credit)
    pair.to_server()
    senders = []
    for attached in all_of(pair.at_server, LinkAttached):
        attached.link.accept(attached.attach)
        assert isinstance(attached.link, SenderLink)
        senders.append(attached.link)
    pair.pump()
    pair.forget()
    return pair, senders


def run_of(sender: SenderLink, *messages: bytes) -> None:
    ends, at = [], 0
    for message in messages:
        at += len(message)
        ends.append(at)
    sender.send_run(b"".join(messages), ends)


def taken(pair: Pair) -> list[tuple[str, bytes]]:
    """What arrived at the client, in order, however it was told."""
    found: list[tuple[str, bytes]] = []
    for event in pair.at_client:
        if isinstance(event, Run):
            found += [(event.link.name, bytes(payload)) for payload in event.payloads]
        elif isinstance(event, Delivery):
            found.append((event.link.name, event.payload))
    return found


def test_credit_right_behind_an_attach_is_given_in_the_same_round_trip() -> None:
    pair, (sender,) = flowing(credit=7)
    assert sender.credit == 7
    run_of(sender, b"one")
    pair.pump()
    assert taken(pair) == [("r0", b"one")]


def test_that_early_credit_does_not_name_a_count_that_is_not_known_yet() -> None:
    pair = Pair()
    session, _ = pair.session()
    pair.forget()
    session.attach_receiver("r", Source("a"), Target("b")).grant(5)
    pair.to_server()
    (flow,) = [each.performative for each in pair.frames if isinstance(each.performative, Flow)]
    assert (flow.delivery_count, flow.link_credit) == (None, 5)
    assert one(pair.at_server, CreditChanged).link.credit == 5


def test_many_events_come_as_few_runs() -> None:
    pair, (sender,) = flowing()
    run_of(sender, *[b"event %d" % number for number in range(500)])
    pair.pump()
    assert taken(pair) == [("r0", b"event %d" % number) for number in range(500)]
    assert all_of(pair.at_client, Delivery) == []
    assert len(all_of(pair.at_client, Run)) == 1


def test_runs_use_credit_like_any_delivery() -> None:
    pair, (sender,) = flowing(credit=10)
    run_of(sender, *[b"x"] * 6)
    pair.pump()
    (link,) = [each for each in links_of(pair) if isinstance(each, ReceiverLink)]
    assert (link.credit, link.expected, link.delivery_count) == (4, 4, 6)


def links_of(pair: Pair) -> list[Any]:
    (session,) = pair.client.sessions.values()
    return list(session.links.values())


def test_a_run_beyond_credit_is_taken_as_far_as_credit_goes_and_detaches_the_link() -> None:
    pair, (sender,) = flowing(credit=10)
    sender.credit = 20
    run_of(sender, *[b"x"] * 15)
    pair.pump()
    assert len(taken(pair)) == 10
    detached = one(pair.at_client, LinkDetached)
    assert detached.error is None
    told = one(pair.at_server, LinkDetached).error
    assert told is not None
    assert told.condition == "amqp:link:transfer-limit-exceeded"


def test_a_handle_that_another_link_got_does_not_mean_the_earlier_one() -> None:
    pair, (sender,) = flowing()
    run_of(sender, b"a", b"b", b"c")
    pair.pump()
    links_of(pair)[0].detach()
    pair.pump()
    (session,) = pair.client.sessions.values()
    link = session.attach_receiver("again", Source("a"), Target("b"))
    link.take_runs()
    link.grant(10)
    pair.forget()
    pair.to_server()
    attached = one(pair.at_server, LinkAttached)
    attached.link.accept(attached.attach)
    assert isinstance(attached.link, SenderLink)
    run_of(attached.link, b"d", b"e")
    pair.pump()
    assert taken(pair) == [("again", b"d"), ("again", b"e")]


def test_what_comes_after_a_detach_was_sent_is_ignored() -> None:
    pair, (sender,) = flowing()
    run_of(sender, b"a", b"b")
    pair.pump()
    pair.forget()
    links_of(pair)[0].detach()
    run_of(sender, b"late", b"later")
    pair.to_client()
    assert taken(pair) == []


SENDS = st.lists(
    st.tuples(
        st.integers(0, 2), st.lists(st.sampled_from([0, 1, 40, 300, LARGE]), min_size=1, max_size=6)
    ),
    max_size=12,
)


@settings(deadline=None)  # a large event in small pieces takes its time
@given(SENDS, st.sampled_from([0, 1, 7, 33, 1_000, 70_000]))
def test_whatever_comes_in_whatever_pieces_is_told_once_and_in_order(
    sends: list[tuple[int, list[int]]], step: int
) -> None:
    if any(LARGE in sizes for _, sizes in sends):
        step = max(step, 100) if step else 0
    pair, senders = flowing(links=3)
    sent = []
    for number, (at, sizes) in enumerate(sends):
        messages = [bytes([number]) * size for size in sizes]
        run_of(senders[at], *messages)
        sent += [(senders[at].name, message) for message in messages]
    while pair.to_client(step) | pair.to_server():
        pass
    got = taken(pair)
    for name in ("r0", "r1", "r2"):
        assert [each for each in got if each[0] == name] == [
            each for each in sent if each[0] == name
        ]


@pytest.mark.parametrize("length", [0, 8, 20])
def test_a_frame_that_says_too_small_a_length_ends_the_connection(length: int) -> None:
    pair, (sender,) = flowing()
    run_of(sender, b"a", b"b")
    data = b"".join(pair.server.take_output())
    pair.client.receive(data)
    size = len(data) // 2
    broken = length.to_bytes(4, "big") + data[4:size]
    assert all_of(pair.client.receive(broken), Run) == []
    assert pair.client.is_closed
