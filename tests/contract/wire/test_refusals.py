"""What is refused at attach, with the condition and the words of the service."""

from __future__ import annotations

import re
from typing import Any

import pytest

from contract.wire.place import Place
from support.amqp_peer import DETACH, Peer
from support.hub_messages import data
from tidegate_amqp import Accepted, Described, Error, Link, Symbol

LEARN_MORE = "To know more visit https://aka.ms/sbResourceMgrExceptions."
TRACKED = re.compile(
    r" TrackingId:[0-9a-f]{32}_G\d+, SystemTracker:\S+, Timestamp:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"
)
RANGE = (
    "The specified partition is invalid for an EventHub partition sender or receiver. "
    "It should be between 0 and 1.\nParameter name: PartitionId"
)


def words(error: Error) -> str:
    """A description without the ids at its end, which must be there."""
    text = error.description or ""
    found = TRACKED.search(text)
    assert found is not None, text
    return text[: found.start()]


def refused(peer: Peer, link: Link) -> tuple[str, str]:
    error = peer.refusal(link)
    return error.condition, words(error)


@pytest.mark.parametrize(
    ("address", "condition", "text"),
    [
        (
            "nowhere",
            "amqp:not-found",
            f"The messaging entity 'nowhere' could not be found. {LEARN_MORE}",
        ),
        ("nowhere/Partitions/0", "amqp:not-found", "The messaging entity 'nowhere/Partitions/0'"),
        ("{hub}/Partitions/2", "com.microsoft:argument-out-of-range", RANGE),
        ("{hub}/Partitions/00", "com.microsoft:argument-out-of-range", RANGE),
        ("{hub}/Partitions/-1", "com.microsoft:argument-out-of-range", RANGE),
        ("{hub}/Partitions/x", "com.microsoft:argument-out-of-range", RANGE),
        ("{hub}/Partitions/²", "com.microsoft:argument-out-of-range", RANGE),
        ("{hub}/Elsewhere/0", "amqp:not-found", "The messaging entity '{hub}/Elsewhere/0'"),
        ("", "amqp:not-found", "The messaging entity ''"),
        ("sb://[::1/x", "amqp:not-found", "The messaging entity 'x'"),
        (None, "amqp:not-found", "The messaging entity ''"),
        (7, "amqp:not-found", "The messaging entity ''"),
        (b"\xff\xfe", "amqp:not-found", "The messaging entity '\ufffd\ufffd'"),
        ("x" * 5_000, "amqp:not-found", f"The messaging entity '{'x' * 512}...' could"),
    ],
)
def test_a_sender_to_nowhere_is_refused(
    place: Place, address: Any, condition: str, text: str
) -> None:
    peer = place.open()
    named = address.format(hub=place.hub) if isinstance(address, str) else address
    found, said = refused(peer, peer.attach_sender(named, name="lost"))
    assert found == condition
    assert said.startswith(text.format(hub=place.hub))
    assert peer.publish(peer.attach_sender(place.hub), data(b"x")) == Accepted()


@pytest.mark.parametrize(
    ("address", "condition", "text"),
    [
        (
            "nowhere/ConsumerGroups/$Default/Partitions/0",
            "amqp:not-found",
            "The messaging entity 'nowhere/ConsumerGroups/$Default/Partitions/0' could not be "
            f"found. {LEARN_MORE}",
        ),
        (
            "{hub}/ConsumerGroups/nobody/Partitions/0",
            "amqp:not-found",
            "The messaging entity 'localhost:eventhub:{hub}~0|nobody' could not be found.",
        ),
        (
            "{hub}/ConsumerGroups/$Default/Partitions/2",
            "com.microsoft:argument-out-of-range",
            RANGE,
        ),
        ("{hub}", "amqp:not-found", "The messaging entity '{hub}' could"),
        ("{hub}/Partitions/0", "amqp:not-found", "The messaging entity '{hub}/Partitions/0'"),
    ],
)
def test_a_receiver_from_nowhere_is_refused(
    place: Place, address: str, condition: str, text: str
) -> None:
    peer = place.open()
    found, said = refused(peer, peer.attach_receiver(address.format(hub=place.hub)))
    assert found == condition
    assert said.startswith(text.format(hub=place.hub))


def test_an_attach_without_ends_is_refused(place: Place) -> None:
    peer = place.open()
    link = peer.begin().attach_sender("endless", None, None)
    assert refused(peer, link)[0] == "amqp:not-found"


def test_a_hub_and_a_group_are_found_whatever_their_case(place: Place) -> None:
    peer = place.open()
    assert peer.attach_receiver(place.feed(group="Analytics").upper()).is_attached


@pytest.mark.parametrize(
    "selector",
    ["", "nonsense", "amqp.annotation.x-opt-offset < '0'", "x-opt-offset > '0'", "a" * 2_000],
)
def test_a_selector_that_asks_for_no_position_is_refused(place: Place, selector: str) -> None:
    peer = place.open()
    link = peer.attach_receiver(place.feed(), selector=selector)
    shown = selector if len(selector) <= 512 else f"{selector[:512]}..."
    assert refused(peer, link) == (
        "com.microsoft:argument-error",
        f"The filter '{shown}' is not a valid amqp filter for EventHub entities",
    )


SELECTOR = Symbol("apache.org:selector-filter:string")
ALL = "amqp.annotation.x-opt-offset > '-1'"


@pytest.mark.parametrize(
    ("filters", "condition", "text"),
    [
        (
            {SELECTOR: None},
            "amqp:not-allowed",
            "contains invalid filter type. System only support Jms or Apache selector filter type "
            "but we found type 'null' associated with key 'apache.org:selector-filter:string'.",
        ),
        (
            {SELECTOR: Described(SELECTOR, 7)},
            "amqp:not-allowed",
            "found type 'int' associated with key 'apache.org:selector-filter:string'.",
        ),
        (
            {Symbol("com.example:sql"): Described(Symbol("com.example:sql"), "x = 1")},
            "amqp:not-allowed",
            "found type 'com.example:sql' associated with key 'com.example:sql'.",
        ),
        (
            {SELECTOR: Described(SELECTOR, ALL), Symbol("more"): Described(SELECTOR, ALL)},
            "com.microsoft:argument-error",
            f"The filter '{ALL}, {ALL}' is not a valid amqp filter for EventHub entities",
        ),
    ],
)
def test_a_filter_that_is_no_selector_or_not_the_only_one_is_refused(
    place: Place, filters: dict[Any, Any], condition: str, text: str
) -> None:
    peer = place.open()
    found, said = refused(peer, peer.attach_receiver(place.feed(), filters=filters))
    assert found == condition
    assert said.endswith(text)


@pytest.mark.parametrize(
    "filters",
    [
        {SELECTOR: Described(SELECTOR, ALL)},
        {SELECTOR: Described(0x468C00000004, ALL)},
        {SELECTOR: ALL},
        {Symbol("jms-selector"): Described(0x468C00000004, ALL)},
    ],
)
def test_a_selector_is_taken_in_every_form_in_which_clients_send_it(
    place: Place, filters: dict[Any, Any]
) -> None:
    assert place.open().attach_receiver(place.feed(), filters=filters).is_attached


def test_an_offset_beyond_the_end_is_refused_with_the_last_one(place: Place) -> None:
    peer = place.open()
    selector = "amqp.annotation.x-opt-offset > '0'"
    assert refused(peer, peer.attach_receiver(place.feed(), selector=selector)) == (
        "com.microsoft:argument-error",
        "The supplied offset '0' is invalid. The last offset in the system is '-1'",
    )
    peer.publish(peer.attach_sender(place.input()), data(b"x"))
    assert peer.attach_receiver(place.feed(), selector=selector).is_attached
    link = peer.attach_receiver(place.feed(), selector="amqp.annotation.x-opt-offset > '144'")
    assert refused(peer, link)[1] == (
        "The supplied offset '144' is invalid. The last offset in the system is '0'"
    )


def test_a_sequence_number_beyond_the_end_is_refused_with_the_last_one(place: Place) -> None:
    peer = place.open()
    peer.publish(peer.attach_sender(place.input()), data(b"x"))
    selector = "amqp.annotation.x-opt-sequence-number > '{}'"
    link = peer.attach_receiver(place.feed(), selector=selector.format(1))
    assert refused(peer, link) == (
        "com.microsoft:argument-error",
        "The supplied sequence number '1' is invalid. The last sequence number in the system is "
        "'0'",
    )
    assert peer.attach_receiver(place.feed(), selector=selector.format(0)).is_attached


def test_refused_links_use_up_no_handles(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    for _ in range(300):
        peer.refusal(peer.attach_receiver(place.feed("9"), session))
    assert len(peer.frames(DETACH)) == 300
    assert peer.attach_receiver(place.feed(), session).is_attached


def test_grown_hubs_tell_their_links_to_attach_again(place: Place) -> None:
    peer = place.open()
    sender, receiver = peer.attach_sender(place.hub), peer.attach_receiver(place.feed())
    place.server.grow_hub(place.hub, 3)
    for link in (sender, receiver):
        assert refused(peer, link) == ("com.microsoft:entity-updated", "Entity was updated.")
    assert peer.attach_receiver(place.feed("2")).is_attached


def test_growing_to_what_it_is_already_disturbs_nobody(place: Place) -> None:
    peer = place.open()
    sender = peer.attach_sender(place.hub)
    place.server.grow_hub(place.hub, 2)
    assert peer.publish(sender, data(b"x")) == Accepted()


def test_an_error_names_the_place_where_it_happened(place: Place) -> None:
    peer = place.open()
    link = peer.attach_receiver(place.feed())
    place.server.inject("detach_link", hub=place.hub)
    said = peer.refusal(link).description or ""
    assert f"SystemTracker:localhost:eventhub:{place.hub}~0|$Default," in said


@pytest.mark.parametrize(
    ("address", "tracker"),
    [
        ("{hub}/ConsumerGroups/$Default/Partitions/9", "localhost:eventhub:{hub}~9|$Default"),
        ("{hub}/ConsumerGroups/nobody/Partitions/0", "localhost:eventhub:{hub}~0|nobody"),
        ("nowhere/ConsumerGroups/$Default/Partitions/0", "localhost"),
    ],
)
def test_a_refusal_names_the_place_as_far_as_it_exists(
    place: Place, address: str, tracker: str
) -> None:
    peer = place.open()
    error = peer.refusal(peer.attach_receiver(address.format(hub=place.hub)))
    assert f" SystemTracker:{tracker.format(hub=place.hub)}, " in (error.description or "")
