"""Attaching: what the hub answers on each kind of link, field by field, and the credit it gives."""

from __future__ import annotations

import pytest

from contract.wire.desk import Desk
from contract.wire.place import Place
from support.amqp_peer import ATTACH, DETACH, FLOW, OPEN, Peer
from support.hub_bench import token_for
from support.hub_messages import data, put_token, request
from tidegate_amqp import Described, Link, Symbol

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
SELECTOR = Symbol("apache.org:selector-filter:string")
ANY_NUMBER = (1 << 32) - 1
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
        place.hub,
        name="to the hub",
        snd_settle_mode=0,
        rcv_settle_mode=1,
        properties={TIMEOUT: 60_000},
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
    hub_name = peer.frames(OPEN)[0].fields[0]
    assert fields[PROPERTIES] == {TIMEOUT: 60_000, "com.microsoft:tracking-id": hub_name}


def test_a_sender_to_a_partition_is_told_who_it_is_for_the_service(place: Place) -> None:
    peer = place.open()
    put(peer, place)
    link = peer.attach_sender(place.input(), properties={TIMEOUT: 60_000}, rcv_settle_mode=1)
    fields = reply(peer, link)
    assert fields[RCV_SETTLE] == 0
    assert fields[PROPERTIES] == {
        TIMEOUT: 65_000,
        "app-id": "RootManageSharedAccessKey",
        "auth-type": "NamespaceSAS",
        "client-id": "peer",
    }


def test_a_link_that_says_nothing_of_itself_is_told_nothing(place: Place) -> None:
    peer = place.open()
    for link in (
        peer.attach_sender(place.hub),
        peer.attach_sender(place.input()),
        peer.attach_receiver(place.feed()),
    ):
        assert reply(peer, link)[PROPERTIES] is None


def test_a_receivers_attach_is_answered_as_the_service_does(place: Place) -> None:
    peer = place.open()
    put(peer, place)
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
        (TIMEOUT, 65_000),
        ("app-id", "RootManageSharedAccessKey"),
        ("auth-type", "NamespaceSAS"),
        ("client-id", "peer"),
        (EPOCH, 3),
        ("client-auth-id", "RootManageSharedAccessKey"),
        ("client-auth-type", 2),
        ("client-ip", "127.0.0.1"),
        ("client-network-type", 1),
    ]


@pytest.mark.parametrize("mode", [0, 1])
def test_a_receiver_settles_as_it_asked_to(place: Place, mode: int) -> None:
    peer = place.open()
    assert reply(peer, peer.attach_receiver(place.feed(), rcv_settle_mode=mode))[RCV_SETTLE] == mode


@pytest.mark.parametrize("descriptor", [SELECTOR, 0x468C00000004, 0x137000000A])
def test_a_selector_comes_back_with_the_code_of_the_service(
    place: Place, descriptor: str | int
) -> None:
    peer = place.open()
    text = "amqp.annotation.x-opt-offset > '-1'"
    link = peer.attach_receiver(place.feed(), filters={SELECTOR: Described(descriptor, text)})
    source = reply(peer, link)[SOURCE]
    assert source.value[7] == {SELECTOR: Described(0x137000000A, text)}  # type: ignore[attr-defined]
    assert bytes.fromhex("0080000000137000000a") in peer.attach_of(link).raw


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
    assert credits(peer) == [(0, 100, 0)]


def put(peer: Peer, place: Place) -> None:
    """Puts a token that the key signed."""
    desk = Desk(peer, "$cbs")
    token = token_for(place.hub, 1 << 32)
    assert desk.told(put_token(f"sb://h/{place.hub}", token))["status-code"] == 202
    desk.leave()


def test_a_connection_has_one_pair_of_links_to_cbs(place: Place) -> None:
    peer = place.open()
    first, second = peer.begin(), peer.begin()
    peer.attach_sender("$cbs", first), peer.attach_receiver("$cbs", first)
    for link in (peer.attach_sender("$cbs", second), peer.attach_receiver("$cbs", second)):
        error = peer.refusal(link)
        assert error.condition == "amqp:not-allowed"
        assert (error.description or "").startswith(
            "A link to connection 'peer' $cbs node has already been opened. TrackingId:"
        )
    assert place.open().attach_sender("$cbs").is_attached
    first.end()
    assert peer.attach_sender("$cbs", second).is_attached
    assert Desk(peer, "$management").answers.is_attached
    assert Desk(peer, "$management").answers.is_attached


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


def test_a_sender_that_names_no_partition_is_given_three_hundred(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.hub)
    assert link.credit == 300
    peer.outcome([peer.send(link, data(b"x")) for _ in range(100)][-1])
    peer.until(lambda: link.credit == 300, "more credit")
    assert credits(peer) == [(0, 300, 0), (100, 300, ANY_NUMBER)]


@pytest.mark.parametrize(
    ("kind", "name"), [("servicebus.windows.net:sastoken", "NamespaceSAS"), ("jwt", "AAD")]
)
def test_a_sender_is_told_the_kind_of_its_token(place: Place, kind: str, name: str) -> None:
    peer = place.open()
    named = {"operation": "put-token", "type": kind, "name": f"sb://h/{place.hub}"}
    assert Desk(peer, "$cbs").told(request(named, "any"))["status-code"] == 202
    link = peer.attach_sender(place.input(), properties={TIMEOUT: 60_000})
    assert reply(peer, link)[PROPERTIES]["auth-type"] == name  # type: ignore[index]


def test_a_sender_to_a_partition_is_topped_up_after_a_hundred(place: Place) -> None:
    peer = place.open()
    link = peer.attach_sender(place.input())
    assert link.credit == 1_000
    for hundreds in range(1, 4):
        last = [peer.send(link, data(b"x")) for _ in range(99)][-1]
        peer.outcome(last)
        assert len(credits(peer)) == hundreds
        peer.publish(link, data(b"x"))
        peer.until(lambda: link.credit == 1_000, "more credit")
    assert credits(peer) == [
        (0, 1_000, 0),
        (100, 1_000, ANY_NUMBER),
        (200, 1_000, ANY_NUMBER),
        (300, 1_000, ANY_NUMBER),
    ]


def credits(peer: Peer) -> list[tuple[int, int, int]]:
    """(delivery-count, link-credit, available) of each flow that gives credit."""
    flows = [each.fields for each in peer.frames(FLOW) if each.fields[6]]
    return [(fields[5], fields[6], fields[7]) for fields in flows]


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
