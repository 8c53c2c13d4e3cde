"""Where answers of `$cbs` and `$management` go, and when."""

from __future__ import annotations

import pytest

from contract.wire.desk import Desk
from contract.wire.place import Place
from support.amqp_peer import DISPOSITION, TRANSFER
from support.hub_messages import part, put_token, read_request, request
from tidegate_amqp.sections import VALUE

HUB_TYPE = "com.microsoft:eventhub"


def test_many_requests_at_once_are_answered_in_their_order(place: Place) -> None:
    desk = Desk(place.open(), "$management")
    names = [str(number % 2) for number in range(60)]
    for name in names:
        desk.peer.send(desk.requests, read_request("partition", place.hub, partition=name))
    answers = desk.peer.messages(desk.answers, 60)
    assert [part(each.payload, VALUE)["partition"] for each in answers] == names


@pytest.mark.parametrize("node", ["$cbs", "$management"])
def test_the_outcome_of_a_request_comes_before_its_answer(place: Place, node: str) -> None:
    desk = Desk(place.open(), node)
    asked = {
        "$cbs": put_token(f"sb://h/{place.hub}", "any"),
        "$management": read_request("eventhub", place.hub),
    }
    for _ in range(3):
        desk.peer.send(desk.requests, asked[node])
    desk.peer.messages(desk.answers, 3)
    came = [each for each in desk.peer.frames() if each.code in (DISPOSITION, TRANSFER)]
    assert [each.code for each in came] == [DISPOSITION, TRANSFER] * 3
    # role, first, last, settled: each request has an outcome of its own
    assert [each.fields[:4] for each in came[::2]] == [[True, n, None, True] for n in range(3)]


def test_an_answer_goes_to_the_link_that_the_request_names(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    first = peer.attach_receiver("$management", session, reply_to="first")
    second = peer.attach_receiver("$management", session, reply_to="second")
    for link in (first, second):
        link.grant(5)
    requests = peer.attach_sender("$management", session)
    asked = request({"operation": "READ", "type": HUB_TYPE, "name": place.hub}, None, "second")
    peer.publish(requests, asked)
    assert len(peer.messages(second, 1)) == 1
    assert not peer.messages(first, 0)


def test_an_answer_waits_for_credit(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    answers = peer.attach_receiver("$management", session)
    requests = peer.attach_sender("$management", session)
    peer.publish(requests, read_request("eventhub", place.hub))
    assert not peer.frames(TRANSFER)
    answers.grant(1)
    assert len(peer.messages(answers, 1)) == 1


def test_a_request_that_is_no_message_ends_its_link_alone(place: Place) -> None:
    peer = place.open()
    desk = Desk(peer, "$management")
    peer.send(desk.requests, b"nonsense")
    assert peer.refusal(desk.requests).condition == "amqp:decode-error"
    assert peer.attach_sender(place.hub).is_attached
