"""Connections and sessions: the fields that the service was recorded to send."""

from __future__ import annotations

import contextlib
import re

import pytest

from contract.wire.place import Place
from support.amqp_peer import BEGIN, CLOSE, DETACH, END, OPEN
from tidegate_amqp import ConnectionSettings, Source, Target
from tidegate_amqp import events as happened
from tidegate_hub.testing import running_hub

SASL_HEADER = bytes.fromhex("414d515003010000")
AMQP_HEADER = bytes.fromhex("414d515000010000")
# sasl-mechanisms with one array of symbols; sasl-outcome 0 with 'Welcome!'.
MECHANISMS = "005340c02601e02304a3" + "".join(
    f"{len(name):02x}{name.hex()}" for name in (b"MSSBCBS", b"PLAIN", b"ANONYMOUS", b"EXTERNAL")
)
WELCOME = "005344c00d025000a008" + b"Welcome!".hex()


def sasl_frame(body: str) -> bytes:
    size = 8 + len(body) // 2
    return size.to_bytes(4, "big") + bytes.fromhex("02010000" + body)


@pytest.mark.parametrize("mechanism", ["ANONYMOUS", "MSSBCBS", "EXTERNAL", "PLAIN"])
def test_every_mechanism_that_the_service_offers_is_welcome(place: Place, mechanism: str) -> None:
    peer = place.connect(
        ConnectionSettings("peer", sasl_mechanism=mechanism, sasl_response=b"\0name\0key")
    )
    peer.open()
    expected = SASL_HEADER + sasl_frame(MECHANISMS) + sasl_frame(WELCOME) + AMQP_HEADER
    assert bytes(peer.received[: len(expected)]) == expected


def test_open_has_the_limits_of_the_service(place: Place) -> None:
    peer = place.open()
    (opened,) = peer.frames(OPEN)
    container, hostname, frame_size, channels, idle_ms, *rest = opened.fields
    assert re.fullmatch(r"[0-9a-f]{32}_G\d+", container)
    assert (hostname, frame_size, channels, idle_ms) == ("", 65_536, 4_999, 120_000)
    assert rest == [None] * 5


def test_two_connections_have_names_of_their_own_in_one_container(place: Place) -> None:
    names = [place.open().frames(OPEN)[0].fields[0] for _ in range(2)]
    assert names[0] != names[1]
    assert names[0].split("_")[0] == names[1].split("_")[0]


def test_begin_has_the_windows_of_the_service(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    (begun,) = peer.frames(BEGIN)
    # remote-channel, next-outgoing-id, incoming-window, outgoing-window, handle-max
    assert begun.fields == [session.channel, 1, 5_000, 65_536, 255, None, None, None]
    assert begun.channel == session.channel


def test_plain_detach_end_and_close_carry_no_error(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    link = peer.attach_sender(place.hub, session)
    link.detach()
    session.end()
    peer.connection.close()
    peer.until_over()
    answers = [each for each in peer.frames() if each.code in (DETACH, END, CLOSE)]
    assert [(each.code, each.fields[-1]) for each in answers] == [
        (DETACH, None),
        (END, None),
        (CLOSE, None),
    ]
    assert answers[0].fields[1] is True


def test_a_session_takes_256_links_and_no_more(place: Place) -> None:
    peer = place.open()
    session = peer.begin()
    for _ in range(256):
        peer.attach_sender(place.hub, session)
    session.remote_handle_max = 1_000  # as a peer that does not look at the limit
    session.attach_sender("one too many", Source("here"), Target(place.hub))
    error = peer.next(happened.ConnectionClosed).error
    assert error is not None
    assert error.condition == "amqp:resource-limit-exceeded"
    assert "handle 256 exceeds the 255 of a session: use more sessions" in (error.description or "")


def test_two_sessions_take_more_than_256_links(place: Place) -> None:
    peer = place.open()
    for session in (peer.begin(), peer.begin()):
        links = [peer.attach_sender(place.hub, session) for _ in range(150)]
        assert all(link.is_attached for link in links)
    assert len({each.channel for each in peer.frames(BEGIN)}) == 2


def test_two_clients_share_a_hub(place: Place) -> None:
    before = place.server.connections()
    one, two = place.open(), place.open()
    assert place.server.connections() == before + 2
    assert one.attach_sender(place.hub).is_attached
    assert two.attach_sender(place.hub.upper()).is_attached


@pytest.mark.parametrize("form", ["{}", "/{}", "amqps://host.example:5671/{}", "sb://h/{}/"])
def test_an_address_may_be_a_path_or_a_uri(place: Place, form: str) -> None:
    assert place.open().attach_sender(form.format(place.hub)).is_attached


def test_the_hub_says_a_word_to_all_when_it_stops() -> None:
    with contextlib.ExitStack() as stack:
        with running_hub() as hub:
            place = Place(hub, stack)
            peer = place.open()
            link = peer.attach_sender(place.hub)
        peer.until_over()
    assert peer.refusal(link).condition == "amqp:connection:forced"
    error = peer.of(happened.ConnectionClosed)[0].error
    assert error is not None
    assert error.description is not None
    assert error.description.startswith("The hub is stopping; closed by container '")
