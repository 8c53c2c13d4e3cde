"""Outcomes: neighbours are told together, different outcomes never are, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.amqp_pair import Pair, all_of, begun, one, said, tell
from support.amqp_samples import BEGIN
from tidegate_amqp import Accepted, Error, Modified, Rejected, Released
from tidegate_amqp.events import Delivery, Outcome
from tidegate_amqp.performatives import Detach, Disposition

OUTCOMES = (
    Accepted(),
    Released(),
    Rejected(Error("amqp:not-allowed", "no")),
    Rejected(Error("amqp:not-allowed", "another no")),
    Rejected(None),
    Modified(True),
    Modified(False),
)


def test_neighbours_with_one_outcome_are_told_together() -> None:
    pair = Pair()
    sender, _ = pair.sender(credit=100)
    ids = [sender.send(b"%d" % number, tag=b"") for number in range(50)]
    pair.to_server()
    for delivery in all_of(pair.at_server, Delivery):
        delivery.link.settle(delivery.delivery_id, Accepted())
    pair.to_client()
    (outcome,) = all_of(pair.at_client, Outcome)
    assert outcome == Outcome(sender.session, ids[0], ids[-1], True, Accepted())


def test_outcomes_of_different_kinds_are_told_apart_although_they_are_equal_tuples() -> None:
    accepted: tuple[object, ...] = Accepted()
    assert accepted == Released()
    server = begun()
    session = server.sessions[0]
    session.settle(0, 0, Accepted())
    session.settle(1, 1, Released())
    session.settle(2, 2, Released())
    assert said(server) == [
        Disposition(True, 0, None, True, Accepted()),
        Disposition(True, 1, 2, True, Released()),
    ]
    session.settle(3, 3, Accepted())
    session.settle(4, 4, Rejected(None))
    first, second = said(server)
    assert (type(first.state), type(second.state)) == (Accepted, Rejected)


def test_a_gap_is_not_settled_with_its_neighbours() -> None:
    server = begun()
    session = server.sessions[0]
    for first in (0, 2, 3, 7):
        session.settle(first, first, Accepted())
    assert [each[1:3] for each in said(server)] == [(0, None), (2, 3), (7, None)]


@given(
    outcomes=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(OUTCOMES)), max_size=20),
    start=st.sampled_from([0, (1 << 32) - 5]),
)
@settings(max_examples=60, deadline=None)
def test_every_delivery_gets_the_outcome_that_it_was_given(
    outcomes: list[tuple[int, object]], start: int
) -> None:
    server = begun()
    session = server.sessions[0]
    expected, number = [], start
    for step, outcome in outcomes:
        number = (number + step) & 0xFFFFFFFF
        session.settle(number, number, outcome)
        expected.append((number, type(outcome), outcome))
    found = [
        (delivery, type(each.state), each.state)
        for each in said(server)
        for delivery in range(each.first, (each.first if each.last is None else each.last) + 1)
    ]
    assert found == expected


def test_outcomes_are_told_at_the_end_of_what_arrived_together() -> None:
    pair = Pair()
    sender, receiver = pair.sender(credit=10)
    sender.send(b"a", tag=b"")
    pair.to_server()
    receiver.settle(0, Accepted())
    assert pair.server.output == []
    pair.server.receive(b"")
    assert said(pair.server) == [Disposition(True, 0, None, True, Accepted())]


def test_outcomes_are_told_before_the_detach_of_their_link() -> None:
    pair = Pair()
    _, receiver = pair.sender(credit=10)
    receiver.settle(0, Accepted())
    receiver.settle(1, Released())
    receiver.detach()
    kinds = [type(each).__name__ for each in said(pair.server)]
    assert kinds == ["Disposition", "Disposition", "Detach"]


def test_outcomes_are_told_before_the_detach_that_answers_the_peer() -> None:
    pair = Pair()
    _, receiver = pair.sender(credit=10)
    receiver.settle(0, Accepted())
    tell(pair.server, Detach(0, True))
    assert [type(each).__name__ for each in said(pair.server)] == ["Disposition", "Detach"]


def test_nothing_is_settled_after_the_session_or_the_connection() -> None:
    for finish in ("end", "close", "fail"):
        pair = Pair()
        _, receiver = pair.sender(credit=10)
        if finish == "end":
            receiver.session.end()
        elif finish == "close":
            pair.server.close()
        else:
            tell(pair.server, BEGIN)
        said(pair.server)
        receiver.settle(0, Accepted())
        assert said(pair.server) == []


@pytest.mark.parametrize("last", [None, 9])
def test_outcomes_of_a_sender_are_not_taken_for_outcomes_of_ours(last: int | None) -> None:
    server = begun()
    assert tell(server, Disposition(False, 3, last, True, Accepted())) == []
    outcome = one(tell(server, Disposition(True, 3, last, True, Accepted())), Outcome)
    assert (outcome.first, outcome.last) == (3, 3 if last is None else last)
