"""What clients leave behind, and what they may pile up: nothing, and so much."""

from __future__ import annotations

import pytest

from support.amqp_peer import DETACH
from support.hub_bench import Bench, token_for
from support.hub_messages import data, put_token, read_request, request
from support.hub_operations import RECEIVE, SEND
from tidegate_amqp.events import LinkDetached
from tidegate_hub.access import MAX_GRANTS, Access
from tidegate_hub.conditions import HubError
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME
from tidegate_hub.responder import MAX_WAITING_ANSWERS
from tidegate_hub.sas import SEND as SEND_CLAIM
from tidegate_hub.sas import KeyRule


def anything(_audience: str) -> None:
    """Every event hub exists."""


@pytest.mark.parametrize("last", ["close", "end"])
def test_a_connection_cut_by_a_fault_leaves_no_link_though_its_close_came_along(
    bench: Bench, last: str
) -> None:
    peer = bench.open()
    session = peer.begin()
    peer.attach_receiver(RECEIVE, session, properties={"com.microsoft:epoch": 5})
    sender = peer.attach_sender(SEND, session)
    bench.inject("drop_connection", times=1, on="send")
    sender.send(data(b"x"), tag=b"1")
    if last == "close":
        peer.connection.close()
    else:
        session.end()
    peer.flush()
    hub = bench.broker.hubs.get("telemetry")
    assert not hub.links
    assert not hub.partitions[0].feeds["$Default"]
    assert bench.open().attach_receiver(RECEIVE).is_attached


def test_a_client_that_takes_no_answers_has_its_link_detached(bench: Bench) -> None:
    peer = bench.open()
    session = peer.begin()
    answers = peer.attach_receiver("$management", session)
    requests = peer.attach_sender("$management", session)
    for _ in range(MAX_WAITING_ANSWERS):
        peer.publish(requests, read_request("eventhub", "telemetry"))
    assert not peer.frames(DETACH)
    peer.publish(requests, read_request("eventhub", "telemetry"))
    error = peer.refusal(answers)
    assert error.condition == "amqp:resource-limit-exceeded"
    assert (error.description or "").startswith("1001 answers wait for credit on this link")
    again = peer.attach_receiver("$management", session)
    again.grant(1)
    peer.publish(requests, read_request("eventhub", "telemetry"))
    assert peer.messages(again, 1)
    assert len(peer.of(LinkDetached)) == 1


def test_a_connection_keeps_so_many_tokens_and_drops_the_oldest() -> None:
    access = Access((KeyRule(DEFAULT_KEY_NAME, DEFAULT_KEY),), is_checked=True)
    put = {"operation": "put-token", "type": "servicebus.windows.net:sastoken"}
    for number in range(MAX_GRANTS + 1):
        name = f"hub-{number}"
        access.put_token({**put, "name": f"sb://h/{name}"}, token_for(name, 1_000), 10.0, anything)
    assert len(access._grants) == MAX_GRANTS
    with pytest.raises(HubError):
        access.require(SEND_CLAIM, "hub-0", 10.0, "hub-0")
    assert access.require(SEND_CLAIM, f"hub-{MAX_GRANTS}", 10.0, "it") == 1_000
    access.put_token({**put, "name": "sb://h/late"}, token_for("late", 9_000), 2_000.0, anything)
    assert len(access._grants) == 1


def test_a_token_that_is_refused_does_not_count_as_one(checking: Bench) -> None:
    peer = checking.open()
    session = peer.begin()
    peer.attach_receiver("$cbs", session).grant(5)
    requests = peer.attach_sender("$cbs", session)
    peer.publish(requests, put_token("sb://h/telemetry", "nonsense"))
    (client,) = checking.clients
    assert not client.access.is_proven
    peer.publish(requests, request({"operation": "put-token", "type": "jwt", "name": "x"}, "ey"))
    assert not client.access.is_proven
    token = token_for("telemetry", checking.now + 60)
    peer.publish(requests, put_token("sb://h/telemetry", token))
    assert client.access.is_proven
