"""A hub that checks tokens: what opens with which token, and what PLAIN is worth."""

from __future__ import annotations

import pytest

from contract.wire.desk import Desk
from contract.wire.place import Place
from contract.wire.test_refusals import refused
from support.amqp_peer import Peer
from support.hub_bench import token_for
from support.hub_messages import data, put_token, read_request
from tidegate_amqp import Accepted, ConnectionSettings
from tidegate_hub.connection_string import DEFAULT_KEY, DEFAULT_KEY_NAME

LATER = 1 << 32


def put(peer: Peer, path: str, expires_at: int = LATER, key: str = DEFAULT_KEY) -> int:
    desk = Desk(peer, "$cbs")
    told = desk.told(put_token(f"sb://h/{path}", token_for(path, expires_at, key)))
    desk.leave()
    return int(told["status-code"])


def plain(name: str, key: str) -> ConnectionSettings:
    response = f"\0{name}\0{key}".encode()
    return ConnectionSettings("peer", sasl_mechanism="PLAIN", sasl_response=response)


@pytest.mark.parametrize("address", ["{hub}", "{hub}/Partitions/0"])
def test_without_a_token_nothing_can_be_sent(checked: Place, address: str) -> None:
    peer = checked.open()
    named = address.format(hub=checked.hub)
    assert refused(peer, peer.attach_sender(named)) == (
        "amqp:unauthorized-access",
        "Unauthorized access. 'Send' claim(s) are required to perform this operation. "
        f"Resource: 'sb://localhost/{named.lower()}'.",
    )


def test_without_a_token_nothing_can_be_received(checked: Place) -> None:
    peer = checked.open()
    assert refused(peer, peer.attach_receiver(checked.feed())) == (
        "amqp:unauthorized-access",
        "Unauthorized access. 'Listen' claim(s) are required to perform this operation. "
        f"Resource: 'sb://localhost/{checked.feed().lower()}'.",
    )


@pytest.mark.parametrize("path", ["", "{hub}", "{HUB}"])
def test_a_token_for_the_hub_or_the_namespace_opens_everything_of_it(
    checked: Place, path: str
) -> None:
    peer = checked.open()
    named = path.format(hub=checked.hub, HUB=checked.hub.upper())
    assert put(peer, named) == 202
    sender = peer.attach_sender(checked.input())
    assert peer.publish(sender, data(b"x")) == Accepted()
    assert peer.attach_receiver(checked.feed()).is_attached


def test_a_token_for_another_hub_opens_nothing(checked: Place) -> None:
    peer = checked.open()
    checked.server.add_hub(f"{checked.hub}-other", 1)
    assert put(peer, f"{checked.hub}-other") == 202
    assert refused(peer, peer.attach_sender(checked.hub))[0] == "amqp:unauthorized-access"
    assert peer.attach_sender(f"{checked.hub}-other").is_attached


def test_a_refused_token_opens_nothing(checked: Place) -> None:
    peer = checked.open()
    assert put(peer, checked.hub, key="wrong") == 401
    assert put(peer, checked.hub, expires_at=1) == 401
    assert refused(peer, peer.attach_sender(checked.hub))[0] == "amqp:unauthorized-access"


def test_a_token_counts_for_its_own_connection_alone(checked: Place) -> None:
    one, other = checked.open(), checked.open()
    assert put(one, checked.hub) == 202
    assert refused(other, other.attach_sender(checked.hub))[0] == "amqp:unauthorized-access"


def test_plain_with_the_key_opens_everything(checked: Place) -> None:
    peer = checked.open(plain(DEFAULT_KEY_NAME, DEFAULT_KEY))
    assert peer.attach_sender(checked.hub).is_attached
    assert peer.attach_receiver(checked.feed()).is_attached


@pytest.mark.parametrize(
    ("name", "key"),
    [(DEFAULT_KEY_NAME, "wrong"), ("nobody", DEFAULT_KEY), ("", ""), (DEFAULT_KEY_NAME, "")],
)
def test_plain_with_anything_else_is_refused_by_the_outcome(
    checked: Place, name: str, key: str
) -> None:
    peer = checked.connect(plain(name, key))
    peer.until_over()
    # sasl-outcome with code 1 (auth), and not a word about what was wrong.
    assert peer.received.endswith(bytes.fromhex("0000001102010000005344c00402500140"))
    assert not peer.frames()


def test_plain_that_is_not_even_that_is_refused(checked: Place) -> None:
    settings = ConnectionSettings("peer", sasl_mechanism="PLAIN", sasl_response=b"one part")
    peer = checked.connect(settings)
    peer.until_over()
    assert not peer.frames()


def test_names_of_hubs_are_not_guarded_by_tokens(checked: Place) -> None:
    peer = checked.open()
    assert refused(peer, peer.attach_sender("nowhere"))[0] == "amqp:not-found"


def asked(peer: Peer, place: Place) -> dict[str, object]:
    """What `$management` answers to a request that carries no token."""
    return Desk(peer, "$management").told(read_request("eventhub", place.hub))


def test_management_without_a_token_of_its_own_needs_a_right_of_the_connection(
    checked: Place,
) -> None:
    peer = checked.open()
    told = asked(peer, checked)
    assert told["status-code"] == 401
    assert told["error-condition"] == "amqp:unauthorized-access"
    assert "'Listen' claim(s) are required" in str(told["status-description"])
    checked.server.add_hub(f"{checked.hub}-other", 1)
    assert put(peer, f"{checked.hub}-other") == 202
    assert asked(peer, checked)["status-code"] == 401
    assert put(peer, checked.hub) == 202
    assert asked(peer, checked)["status-code"] == 200


def test_management_without_a_token_is_open_to_plain_with_the_key(checked: Place) -> None:
    assert asked(checked.open(plain(DEFAULT_KEY_NAME, DEFAULT_KEY)), checked)["status-code"] == 200
