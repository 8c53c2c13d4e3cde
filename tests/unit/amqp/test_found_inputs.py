"""Inputs that once broke something, kept so that they do not do it again."""

from __future__ import annotations

import pytest

from support.amqp_owner import Owner
from support.amqp_pair import Pair, begun, failure, one, said, tell
from support.amqp_samples import prelude
from tidegate_amqp import AmqpError, Connection, ConnectionSettings, Described, Source, Target
from tidegate_amqp.decode import decode_value, skip_value
from tidegate_amqp.encode import encode
from tidegate_amqp.events import LinkAttached, SessionBegun
from tidegate_amqp.frames import frame
from tidegate_amqp.performatives import Attach, Begin, decode_performative, encode_performative
from tidegate_amqp.sections import read_message

PERFORMATIVES = {
    "an empty list": "005311c00f0860000052015264526452ff404540",
    "an empty array": "005311c0120860000052015264526452ffe002 00a34040".replace(" ", ""),
    "an empty array without a constructor": "005311c0110860000052015264526452ffe001004040",
}


@pytest.mark.parametrize("text", PERFORMATIVES.values(), ids=PERFORMATIVES)
def test_a_begin_that_offers_no_capability_at_all_is_written_again_as_the_same(text: str) -> None:
    data = bytes.fromhex(text)
    found, end = decode_performative(data, 0, len(data))
    assert end == len(data)
    encoded = encode_performative(found)
    assert decode_performative(encoded, 0, len(encoded))[0] == found == Begin(0, 1, 100, 100, 255)


def nested_arrays_of_described_elements(levels: int) -> bytes:
    array = b"\x01\x00"
    for _ in range(levels):
        content = b"\x01\x00\x43\xe0" + array
        array = bytes([len(content)]) + content
    return b"\xe0" + array


@pytest.mark.parametrize("levels", range(1, 24))
def test_an_array_of_described_elements_that_is_read_can_be_written_and_read_again(
    levels: int,
) -> None:
    try:
        value, _ = decode_value(nested_arrays_of_described_elements(levels))
    except AmqpError as error:
        assert levels > 10, "that is not deep"
        assert "nested" in str(error)
        return
    assert decode_value(encode(value))[0] == value


# What a peer put in place of a source, and whether that may be.
ECHOED = {
    "half of a character in the address": ("005328c00601730000d800", False),
    "a capability that is not ASCII": ("005328d0000000120000000b" + "40" * 10 + "a102c3a9", False),
    "a policy that is not ASCII": ("005328c007034040a102c3a9", False),
    "a number": ("5205", False),
    "a description with a negative code": ("0054ff45", True),
    "a description by nothing": ("004045", True),
    "another performative": (encode_performative(Begin(None, 1, 1, 1)).hex(), False),
    "a target": (encode_performative(Target("there")).hex(), False),
    "a source that says nothing": ("00532845", True),
    "capabilities as one symbol": ("005328d0000000110000000b" + "40" * 10 + "a30161", True),
}


@pytest.mark.parametrize(("source", "is_taken"), ECHOED.values(), ids=ECHOED)
def test_a_source_of_any_form_is_refused_or_can_be_given_back(source: str, is_taken: bool) -> None:
    fields = bytes.fromhex("a1017243414040" + source + "40" * 8)
    body = b"\x00\x53\x12\xd0" + (len(fields) + 4).to_bytes(4, "big") + b"\x00\x00\x00\x0e" + fields
    server = begun()
    events = server.receive(frame(0, body))
    if not is_taken:
        assert failure(events) == "amqp:decode-error"
        return
    attached = one(events, LinkAttached)
    attached.link.accept(attached.attach)
    (reply,) = said(server)
    assert repr(reply.source) == repr(attached.attach.source)


def test_an_empty_list_of_capabilities_is_written_as_null() -> None:
    encoded = encode_performative(Source(outcomes=[], capabilities=[]))
    assert encoded.hex() == "005328c0" + "0c0b" + "4043404342" + "40" * 6


def test_skipping_knows_descriptors_of_descriptors() -> None:
    nested = bytes.fromhex("00 00 53 01 40 53 02 a1 01 61".replace(" ", ""))
    value, end = decode_value(nested)
    assert skip_value(nested, 0) == end
    assert value == Described(Described(1, None), 2)


def test_a_list_of_many_empty_arrays_stays_small() -> None:
    empty = b"\xf0\x00\x00\x00\x05\x00\x00\xff\xff\x40"
    body = empty * 6_000
    data = b"\xd0" + (len(body) + 4).to_bytes(4, "big") + (6_000).to_bytes(4, "big") + body
    with pytest.raises(AmqpError):
        decode_value(data)


def test_a_section_without_its_count_is_an_error_of_words() -> None:
    with pytest.raises(AmqpError):
        read_message(b"\x00\x53\x73\xc0\x00")


def test_a_close_is_heard_after_the_session_on_its_channel_has_ended() -> None:
    pair = Pair()
    ours, _ = pair.session()
    ours.end()
    pair.pump()
    pair.client.close()
    pair.pump()
    assert pair.server.is_closed
    assert pair.client.is_closed


def test_an_attach_with_every_field_null_but_three_is_read() -> None:
    events = tell(begun(), Attach("bare", 3, True, None, None))
    assert one(events, LinkAttached).attach == Attach("bare", 3, True)


# Frames from a peer to an initiator that has opened, as the fuzzer found them.
TO_AN_INITIATOR = {
    "a begin on another channel that takes one link": [
        frame(1, bytes.fromhex("005311c00d08405201526452645200404040"))
    ],
    "an answer that takes one link": [frame(0, encode_performative(Begin(0, 1, 9, 9, 0)))],
}


@pytest.mark.parametrize("frames", TO_AN_INITIATOR.values(), ids=TO_AN_INITIATOR)
def test_an_initiator_survives_what_the_fuzzer_found(frames: list[bytes]) -> None:
    owner = Owner(Connection(ConnectionSettings("found"), initiator=True))
    for piece in [*prelude(initiator=True)[:5], *frames]:
        owner.take(piece)
    begun_now = one(owner.events, SessionBegun).session
    assert [each.name for each in begun_now.links.values()] == ["in"]
    assert not owner.connection.is_closed


def test_a_name_that_came_as_a_symbol_is_kept_as_the_string_that_it_should_be() -> None:
    fields = "a306" + b"sender".hex() + "520142" + "40" * 11
    data = bytes.fromhex("005312c0170e" + fields)
    found, end = decode_performative(data, 0, len(data))
    assert end == len(data)
    assert type(found.name) is str
    encoded = encode_performative(found)
    assert repr(decode_performative(encoded, 0, len(encoded))[0]) == repr(found)
