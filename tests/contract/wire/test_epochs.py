"""Receivers of one partition: who gives way to whom, and when a place is free again."""

from __future__ import annotations

import pytest

from contract.wire.place import Place
from contract.wire.test_refusals import refused
from support.amqp_peer import Peer
from support.hub_messages import data, part
from support.wait import wait_until
from tidegate_amqp import ReceiverLink, Symbol
from tidegate_amqp.sections import DATA

EPOCH, NAME = Symbol("com.microsoft:epoch"), Symbol("com.microsoft:receiver-name")
STOLEN = "amqp:link:stolen"


def attach(
    peer: Peer, place: Place, epoch: int | None = None, name: str | None = None
) -> ReceiverLink:
    asked = {EPOCH: epoch, NAME: name}
    given = {key: value for key, value in asked.items() if value is not None}
    return peer.attach_receiver(place.feed(), properties=given)


def test_a_higher_epoch_takes_the_partition_from_one_without(place: Place) -> None:
    old, new = place.open(), place.open()
    loser = attach(old, place)
    assert attach(new, place, 1).is_attached
    assert refused(old, loser) == (
        STOLEN,
        "New receiver 'nil' with higher epoch of '1' is created hence current receiver 'nil' with "
        "epoch '' is getting disconnected. If you are recreating the receiver, make sure a higher "
        "epoch is used.",
    )


@pytest.mark.parametrize("epoch", [5, 6])
def test_the_latest_of_equals_and_a_higher_epoch_win(place: Place, epoch: int) -> None:
    old, new = place.open(), place.open()
    loser = attach(old, place, 5, "first")
    assert attach(new, place, epoch, "second").is_attached
    assert refused(old, loser)[1].startswith(
        f"New receiver 'second' with higher epoch of '{epoch}' is created hence current receiver "
        "'first' with epoch '5' is getting disconnected."
    )


def test_a_lower_epoch_is_refused_and_the_holder_stays(place: Place) -> None:
    holder, late = place.open(), place.open()
    held = attach(holder, place, 7, "holder")
    held.grant(10)
    condition, said = refused(late, attach(late, place, 6, "late"))
    assert condition == STOLEN
    assert said.startswith(
        "Receiver 'holder' with a higher epoch '7' already exists. Receiver 'late' with epoch 6 "
        "cannot be created."
    )
    late.publish(late.attach_sender(place.input()), data(b"x"))
    assert part(holder.messages(held, 1)[0].payload, DATA) == b"x"


def test_a_receiver_without_an_epoch_is_refused_beside_one_with_one(place: Place) -> None:
    peer = place.open()
    attach(peer, place, 0)
    condition, said = refused(peer, attach(peer, place))
    assert condition == STOLEN
    assert said.startswith(
        "At least one receiver for the endpoint is created with epoch of '0', and so non-epoch "
        "receiver is not allowed."
    )


def test_five_receivers_without_an_epoch_share_and_a_sixth_is_refused(place: Place) -> None:
    peer = place.open()
    links = [attach(peer, place, name=f"r{number}") for number in range(5)]
    assert refused(peer, attach(peer, place)) == (
        "amqp:resource-limit-exceeded",
        "Exceeded the maximum number of allowed receivers per partition in a consumer group which "
        "is 5. List of connected receivers - r0, r1, r2, r3, r4.",
    )
    links[2].detach()
    peer.until(lambda: links[2].handle not in links[2].session.links, "the detach")
    assert attach(peer, place).is_attached


def test_other_groups_and_partitions_are_not_touched(place: Place) -> None:
    peer = place.open()
    others = [
        peer.attach_receiver(place.feed("1"), properties={EPOCH: 1}),
        peer.attach_receiver(place.feed(group="analytics"), properties={EPOCH: 1}),
    ]
    attach(peer, place, 9)
    peer.until_quiet()
    assert all(link.is_attached for link in others)


def test_an_epoch_evicts_all_who_share(place: Place) -> None:
    peer = place.open()
    links = [attach(peer, place) for _ in range(5)]
    assert attach(peer, place, 0).is_attached
    assert [refused(peer, link)[0] for link in links] == [STOLEN] * 5


def test_a_receiver_that_is_evicted_gets_nothing_more(place: Place) -> None:
    old, new = place.open(), place.open()
    loser = attach(old, place, 1)
    loser.grant(100)
    winner = attach(new, place, 2)
    winner.grant(100)
    sender = new.attach_sender(place.input())
    for number in range(20):
        new.publish(sender, data(b"%d" % number))
    assert len(new.messages(winner, 20)) == 20
    old.refusal(loser)
    assert not old.messages(loser, 0)


@pytest.mark.parametrize("ending", ["detach", "end", "close", "cut", "nonsense"])
def test_a_place_is_free_again_however_its_receiver_leaves(place: Place, ending: str) -> None:
    leaving, staying = place.open(), place.open()
    link = attach(leaving, place, 9)
    if ending == "detach":
        link.detach()
    elif ending == "end":
        link.session.end()
    elif ending == "close":
        leaving.connection.close()
    elif ending == "cut":
        leaving.line.cut()
    else:
        leaving.line.write(b"nonsense")
    if ending != "cut":
        leaving.flush()
    wait_until(
        lambda: attach(staying, place).is_attached, 5, f"a free place after the other's {ending}"
    )
