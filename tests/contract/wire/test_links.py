"""Attaching: what the hub answers on each kind of link, field by field, and the credit it gives."""

from __future__ import annotations

import pytest

from contract.wire.desk import Desk
from contract.wire.place import Place
from support.amqp_peer import ATTACH, DETACH, FLOW, Peer
from support.hub_messages import data, put_token, request
from tidegate_amqp import Link, Symbol

# The fields of an attach, by their places.
(
    NAME,
    HANDLE,
    ROLE,
    SND_SETTLE,
    RCV_SETTLE,
    SOURCE,
    TARGET,
    UNSETTLED,
    INCOMPLETE,
    DELIVERY_COUNT,
    MAX_SIZE,
    OFFERED,
    DESIRED,
    PROPERTIES,
) = range(14)
EPOCH, TIMEOUT = Symbol("com.microsoft:epoch"), Symbol("com.microsoft:timeout")
METRICS = Symbol("com.microsoft:enable-receiver-runtime-metric")


def reply(peer: Peer, link: Link) -> list[object]:
    fields = peer.attach_of(link).fields
    assert len(fields) == 14
    return fields


def address_of(end: object) -> object:
    return end.value[0]  # type: ignore[attr-defined]


def test_a_senders_attach_is_answered_as_the_service_does(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(
        place.hub, name="to the hub", snd_settle_mode=0, properties={TIMEOUT: 60_000}
    )
    fields = reply(peer, link)
    assert fields[NAME] == "to the hub"
    assert fields[ROLE] is True
    assert (fields[SND_SETTLE], fields[RCV_SETTLE]) == (0, 0)
    assert address_of(fields[SOURCE]) == "here"
    assert address_of(fields[TARGET]) == place.hub
    assert fields[UNSETTLED] is None
    assert fields[DELIVERY_COUNT] is None
    assert fields[MAX_SIZE] == 1_048_576
    assert fields[OFFERED] is fields[DESIRED] is None
    assert fields[PROPERTIES] == {
        TIMEOUT: 60_000,
        "app-id": "",
        "auth-type": "None",
        "client-auth-id": "",
        "client-id": "peer",
        "client-ip": "127.0.0.1",
    }


def test_a_receivers_attach_is_answered_as_the_service_does(place: Place) -> None:
    peer = place.open()
    link = peer.attach_receiver(
        place.feed(),
        selector="amqp.annotation.x-opt-offset > '-1'",
        snd_settle_mode=1,
        desired_capabilities=[Symbol("com.microsoft:georeplication"), METRICS],
        properties={EPOCH: 3, TIMEOUT: 60_000},
    )
    fields = reply(peer, link)
    assert fields[ROLE] is False
    assert (fields[SND_SETTLE], fields[RCV_SETTLE]) == (1, 0)
    assert address_of(fields[SOURCE]) == place.feed()
    assert address_of(fields[TARGET]) == "here"
    assert fields[DELIVERY_COUNT] == 0
    assert fields[MAX_SIZE] == 1_048_576
    assert fields[OFFERED] is None
    assert list(fields[PROPERTIES].items()) == [  # type: ignore[attr-defined]
        (TIMEOUT, 60_000),
        (EPOCH, 3),
        ("app-id", ""),
        ("auth-type", "None"),
        ("client-auth-id", ""),
        ("client-id", "peer"),
        ("client-ip", "127.0.0.1"),
    ]


def test_a_receiver_is_always_served_settled(place: Place) -> None:
    peer = place.open()
    fields = reply(peer, peer.attach_receiver(place.feed(), snd_settle_mode=2))
    assert fields[SND_SETTLE] == 1


@pytest.mark.parametrize("node", ["$cbs", "$management", "{hub}/$management"])
def test_the_links_for_requests_are_answered_as_the_service_does(place: Place, node: str) -> None:
    peer = place.open()
    address = node.format(hub=place.hub)
    session = peer.begin()
    to_hub, from_hub = peer.attach_sender(address, session), peer.attach_receiver(address, session)
    for link in (to_hub, from_hub):
        fields = reply(peer, link)
        assert fields[MAX_SIZE] == (1 << 64) - 1
        assert fields[OFFERED] is fields[PROPERTIES] is None
    assert address_of(reply(peer, to_hub)[TARGET]) == address
    assert address_of(reply(peer, from_hub)[SOURCE]) == address
    assert reply(peer, from_hub)[DELIVERY_COUNT] == 0
    assert to_hub.credit == 100


def test_a_refused_attach_is_answered_without_ends_and_then_detached(place: Place) -> None:
    peer = place.open()
    for link in (peer.attach_sender("nowhere"), peer.attach_receiver("nowhere")):
        fields = reply(peer, link)
        assert fields[SOURCE] is fields[TARGET] is None
        assert fields[SND_SETTLE] is fields[RCV_SETTLE] is None
        assert fields[MAX_SIZE] == 0
        assert fields[PROPERTIES] is fields[OFFERED] is None
        detach = next(each for each in peer.frames(DETACH) if each.fields[0] == fields[HANDLE])
        assert detach.fields[1] is True
        condition, description, info = detach.fields[2].value
        assert (condition, info) == ("amqp:not-found", None)
        assert description.startswith("The messaging entity 'nowhere' could not be found.")
    codes = [each.code for each in peer.frames() if each.code in (ATTACH, DETACH)]
    assert codes[:2] == [ATTACH, DETACH]


def test_a_sender_without_a_token_is_given_three_hundred(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    assert link.credit == 300
    peer.outcome([peer.send(link, data(b"x")) for _ in range(100)][-1])
    peer.until(lambda: link.credit == 300, "more credit")
    assert credits(peer) == [(0, 300), (100, 300)]


@pytest.mark.parametrize(
    ("kind", "name"), [("servicebus.windows.net:sastoken", "Sas"), ("jwt", "Aad")]
)
def test_a_sender_with_a_token_is_given_a_thousand(place: Place, kind: str, name: str) -> None:
    peer = place.open()
    named = {"operation": "put-token", "type": kind, "name": f"sb://h/{place.hub}"}
    assert Desk(peer, "$cbs").told(request(named, "any"))["status-code"] == 202
    link = peer.attach_sender(place.hub)
    assert link.credit == 1_000
    assert reply(peer, link)[PROPERTIES]["auth-type"] == name  # type: ignore[index]


def test_a_sender_is_topped_up_after_a_hundred(place: Place) -> None:
    peer = place.open()
    Desk(peer, "$cbs").told(put_token(f"sb://h/{place.hub}", "any"))
    link = peer.attach_sender(place.hub, peer.begin())
    assert link.credit == 1_000
    for hundreds in range(1, 4):
        last = [peer.send(link, data(b"x")) for _ in range(99)][-1]
        peer.outcome(last)
        assert len(credits(peer)) == hundreds
        peer.publish(link, data(b"x"))
        peer.until(lambda: link.credit == 1_000, "more credit")
    assert credits(peer) == [(0, 1_000), (100, 1_000), (200, 1_000), (300, 1_000)]


def credits(peer: Peer) -> list[tuple[int, int]]:
    """(delivery-count, link-credit) of each flow of a link."""
    flows = [each.fields for each in peer.frames(FLOW) if each.fields[7]]
    assert {fields[7] for fields in flows} == {(1 << 32) - 1}  # available, on publishers' links
    return [(fields[5], fields[6]) for fields in flows]


def test_a_link_may_be_attached_again_under_its_name(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    for _ in range(3):
        peer.attach_sender(place.hub, session, name="again").detach()
        peer.until(lambda: not session.links, "the detach")
    assert len(peer.frames(ATTACH)) == 3


def test_a_handle_that_is_in_use_closes_the_connection(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    link.session.links.clear()
    link.session.attach_sender("the same handle", None, None)
    peer.until_over()
    (closed,) = [each.fields[0].value for each in peer.frames(0x18)]
    assert closed[0] == "amqp:session:handle-in-use"
