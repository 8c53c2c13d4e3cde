"""What comes before frames: protocol headers, SASL and Open."""

from __future__ import annotations

import pytest

from support.amqp_pair import CLIENT, SERVER, Pair, all_of, failure, one, opened, said, tell
from support.amqp_samples import OPEN, prelude
from tidegate_amqp import Connection, ConnectionSettings, MisuseError, encode, sasl
from tidegate_amqp.events import ConnectionClosed, ConnectionFailed, ConnectionOpened
from tidegate_amqp.frames import AMQP_HEADER, EMPTY_FRAME, SASL_FRAME, SASL_HEADER, frame
from tidegate_amqp.performatives import Begin, Close, Open, encode_performative


def test_both_ends_open_with_what_they_were_set_to() -> None:
    pair = Pair()
    pair.pump()
    at_server = one(pair.at_server, ConnectionOpened).open
    at_client = one(pair.at_client, ConnectionOpened).open
    assert (at_server.container_id, at_server.hostname) == ("client", "host")
    assert (at_client.container_id, at_client.hostname) == ("server_G1", "")
    assert (pair.client.peer, pair.server.peer) == (at_client, at_server)
    assert len(pair.at_client) == len(pair.at_server) == 1


@pytest.mark.parametrize("mechanism", sasl.MECHANISMS)
def test_every_mechanism_that_is_offered_is_taken(mechanism: str) -> None:
    pair = Pair(client=ConnectionSettings("client", sasl_mechanism=mechanism))
    pair.pump()
    assert all_of(pair.at_client, ConnectionOpened)


def _knows(init: sasl.SaslInit) -> bool:
    return sasl.read_plain(init.response) == ("sender", "right key")


@pytest.mark.parametrize(("key", "is_let_in"), [("right key", True), ("wrong key", False)])
def test_plain_credentials_are_judged_by_the_owner(key: str, is_let_in: bool) -> None:
    response = sasl.plain_response("sender", key)
    pair = Pair(
        client=ConnectionSettings("client", sasl_mechanism="PLAIN", sasl_response=response),
        server=ConnectionSettings("server", accepts_sasl=_knows),
    )
    pair.pump()
    assert bool(all_of(pair.at_client, ConnectionOpened)) is is_let_in
    assert bool(all_of(pair.at_server, ConnectionOpened)) is is_let_in
    if not is_let_in:
        assert "refused with code 1" in one(pair.at_client, ConnectionFailed).error.description
        assert key not in one(pair.at_server, ConnectionFailed).error.description


def test_a_plain_response_without_three_parts_ends_the_connection() -> None:
    server = Connection(ConnectionSettings("server", accepts_sasl=_knows), initiator=False)
    events = server.receive(SASL_HEADER + sasl.init_frame("PLAIN", b"only one part", "host"))
    assert failure(events) == "amqp:decode-error"


def test_a_mechanism_that_was_not_offered_is_refused() -> None:
    server = Connection(SERVER, initiator=False)
    server.receive(SASL_HEADER)
    server.take_output()
    events = server.receive(sasl.init_frame("SCRAM-SHA-256", b"", "host"))
    assert failure(events) == "amqp:illegal-state"
    assert server.take_output() == [sasl.outcome_frame(sasl.OUTCOME_AUTH)]


def test_a_client_whose_mechanism_is_not_offered_gives_up() -> None:
    client = Connection(ConnectionSettings("client", sasl_mechanism="OTHER"), initiator=True)
    events = client.receive(SASL_HEADER + sasl.mechanisms_frame())
    assert "does not offer SASL OTHER" in one(events, ConnectionFailed).error.description


def test_a_peer_that_leaves_out_sasl_is_told_which_header_is_wanted() -> None:
    server = Connection(SERVER, initiator=False)
    assert failure(server.receive(AMQP_HEADER)) == "amqp:connection:framing-error"
    assert server.take_output() == [SASL_HEADER]
    assert server.receive(SASL_HEADER) == []


@pytest.mark.parametrize("header", [b"AMQP\x00\x00\x09\x01", b"GET / HT", bytes(8)])
def test_another_protocol_is_refused(header: bytes) -> None:
    for initiator in (True, False):
        connection = Connection(SERVER, initiator=initiator)
        assert failure(connection.receive(header)) == "amqp:connection:framing-error"


BAD_SASL = {
    "no SASL frame": frame(0, b"\x00\x53\x41\x45"),
    "larger than a SASL frame may be": frame(0, bytes(5_000), SASL_FRAME),
    "smaller than its own header": b"\x00\x00\x00\x07\x02\x01\x00\x00",
    "a body before the end of the header": b"\x00\x00\x00\x0c\x01\x01\x00\x00\x00\x53\x41\x45",
    "a body behind the end": b"\x00\x00\x00\x0c\x04\x01\x00\x00\x00\x53\x41\x45",
    "no field": frame(0, b"\x00\x53\x41\x45", SASL_FRAME),
    "a mechanism that is a number": frame(0, b"\x00\x53\x41\xc0\x03\x01\x52\x05", SASL_FRAME),
    "an outcome where init is due": sasl.outcome_frame(0),
    "nothing but an empty frame": EMPTY_FRAME,
}


@pytest.mark.parametrize("data", BAD_SASL.values(), ids=BAD_SASL)
def test_a_bad_sasl_frame_ends_the_connection(data: bytes) -> None:
    server = Connection(SERVER, initiator=False)
    assert failure(server.receive(SASL_HEADER + data)) in (
        "amqp:connection:framing-error",
        "amqp:decode-error",
    )
    assert server.is_closed


def test_an_outcome_that_is_no_number_does_not_let_in() -> None:
    client = Connection(CLIENT, initiator=True)
    client.receive(SASL_HEADER + sasl.mechanisms_frame())
    outcome = encode.encode_described(sasl.OUTCOME_CODE, encode.encode_list([encode.FALSE]))
    assert failure(client.receive(frame(0, outcome, SASL_FRAME))) == "amqp:decode-error"


@pytest.mark.parametrize("step", [1, 2, 3, 7, 8, 9, 50])
def test_a_handshake_may_arrive_in_any_pieces(step: int) -> None:
    pair = Pair()
    while pair.to_server(step) | pair.to_client(step):
        pass
    assert all_of(pair.at_client, ConnectionOpened)
    assert all_of(pair.at_server, ConnectionOpened)


def test_a_client_that_sends_everything_at_once_is_served() -> None:
    server = Connection(SERVER, initiator=False)
    events = server.receive(b"".join(prelude(initiator=False)))
    assert [type(event).__name__ for event in events] == [
        "ConnectionOpened",
        "SessionBegun",
        "LinkAttached",
        "LinkAttached",
    ]


def test_a_second_open_is_refused() -> None:
    server = opened()
    assert failure(tell(server, OPEN)) == "amqp:illegal-state"
    (close,) = said(server)
    assert close.error.condition == "amqp:illegal-state"


def test_a_frame_before_open_is_refused() -> None:
    server = Connection(SERVER, initiator=False)
    for piece in prelude(initiator=False)[:3]:
        server.receive(piece)
    assert failure(tell(server, Begin(None, 1, 1, 1))) == "amqp:illegal-state"


def test_a_close_in_place_of_open_is_answered_with_open_and_close() -> None:
    server = Connection(SERVER, initiator=False)
    for piece in prelude(initiator=False)[:3]:
        server.receive(piece)
    server.take_output()
    assert one(tell(server, Close()), ConnectionClosed).error is None
    assert [type(each) for each in said(server)] == [Open, Close]


@pytest.mark.parametrize("stage", range(4))
def test_closing_during_the_handshake_says_nothing_more(stage: int) -> None:
    server = Connection(SERVER, initiator=False)
    for piece in prelude(initiator=False)[:stage]:
        server.receive(piece)
    server.take_output()
    server.close()
    assert (server.take_output(), server.is_closed) == ([], True)
    assert server.receive(b"anything") == []


def test_nothing_can_be_begun_before_the_peer_has_opened() -> None:
    client = Connection(CLIENT, initiator=True)
    with pytest.raises(MisuseError):
        client.begin()


@pytest.mark.parametrize(("offered", "used"), [(512, 512), (1, 512), ((1 << 32) - 1, 65_536)])
def test_the_frame_size_of_the_peer_is_kept_to(offered: int, used: int) -> None:
    server = opened(peer=OPEN._replace(max_frame_size=offered))
    assert server.peer_max_frame_size == used


def test_a_sasl_frame_after_the_handshake_is_refused() -> None:
    server = opened()
    body = encode_performative(Begin(None, 1, 1, 1))
    assert failure(server.receive(frame(0, body, SASL_FRAME))) == "amqp:illegal-state"
