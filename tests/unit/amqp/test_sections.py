"""The sections of a message: found, read, and refused where they are not right."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from support.amqp_samples import MESSAGE
from tidegate_amqp import DecodeError, Symbol, encode
from tidegate_amqp.decode import decode_value
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    SEQUENCE,
    VALUE,
    Message,
    read_message,
    sections,
)

NAMES = {
    "amqp:header:list": HEADER,
    "amqp:delivery-annotations:map": DELIVERY_ANNOTATIONS,
    "amqp:message-annotations:map": MESSAGE_ANNOTATIONS,
    "amqp:properties:list": PROPERTIES,
    "amqp:application-properties:map": APPLICATION_PROPERTIES,
    "amqp:data:binary": DATA,
    "amqp:amqp-sequence:list": SEQUENCE,
    "amqp:amqp-value:*": VALUE,
    "amqp:footer:map": FOOTER,
}


def section(code: int, value: Any) -> bytes:
    return encode.encode_described(code, encode.encode(value))


def test_every_section_is_found_by_its_code_in_any_width_and_by_its_name() -> None:
    for name, code in NAMES.items():
        wide = b"\x80" + code.to_bytes(8, "big")
        for descriptor in (encode.encode_ulong(code), wide, encode.encode_symbol(name)):
            payload = b"\x00" + descriptor + b"\x45"
            (found,) = sections(payload)
            assert found == (code, 0, len(payload) - 1, len(payload))


def test_sections_follow_one_another_without_a_gap() -> None:
    found = list(sections(MESSAGE))
    assert [each.code for each in found] == [HEADER, 0x72, PROPERTIES, 0x74, VALUE]
    assert [each.start for each in found] == [0, *[each.end for each in found[:-1]]]
    assert found[-1].end == len(MESSAGE)
    assert list(sections(memoryview(MESSAGE))) == found


def test_an_event_of_the_shape_that_the_service_sends_is_read() -> None:
    annotations = (
        "a31b" + b"x-opt-sequence-number-epoch".hex() + "54ff"
        "a315" + b"x-opt-sequence-number".hex() + "5507"
        "a30c"
        + b"x-opt-offset".hex()
        + "a103"
        + b"144".hex()
        + "a313"
        + b"x-opt-enqueued-time".hex()
        + "8300000194b3000000"
    )
    body = "005375a003" + b"abc".hex()
    payload = bytes.fromhex(f"005372c1{len(annotations) // 2 + 1:02x}08" + annotations + body)
    first, second = sections(payload)
    assert (first.code, second.code) == (MESSAGE_ANNOTATIONS, DATA)
    stamped, _ = decode_value(payload, first.value)
    assert list(stamped.items()) == [
        (Symbol("x-opt-sequence-number-epoch"), -1),
        (Symbol("x-opt-sequence-number"), 7),
        (Symbol("x-opt-offset"), "144"),
        (Symbol("x-opt-enqueued-time"), 0x194B3000000),
    ]
    assert decode_value(payload, second.value) == (b"abc", len(payload))


BAD = {
    "no descriptor": b"\xa0\x01a",
    "an unknown section": b"\x00\x53\x79\x40",
    "an unknown name": b"\x00\xa3\x04what\x40",
    "a list for a descriptor": b"\x00\x45\x40",
    "a text in a tuple for a descriptor": b"\x00\x00\x53\x75\x40\x40",
    "a binary for a descriptor": b"\x00\xa0\x01\x75\x40",
    "a double for a descriptor": b"\x00\x82\x40\x5d\x00\x00\x00\x00\x00\x00\x40",
    "a boolean for a descriptor": b"\x00\x41\x40",
    "nothing after its descriptor": b"\x00\x53\x75",
    "data that runs past the end": b"\x00\x53\x75\xa0\x05abc",
    "a second section that is cut": b"\x00\x53\x75\xa0\x01a\x00\x53",
}


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD)
def test_what_is_no_section_is_an_error(payload: bytes) -> None:
    with pytest.raises(DecodeError):
        list(sections(payload))
    with pytest.raises(DecodeError):
        read_message(payload)


def test_a_request_is_read_with_its_id_as_it_was_encoded() -> None:
    assert read_message(MESSAGE) == Message(
        b"\x98" + UUID(int=1).bytes, "reply-to", {"operation": "READ"}, "value"
    )
    assert read_message(b"") == Message(b"\x40", None, {}, None)
    for fields in ([], ["id"], ["id", None, None, None], [None] * 5, [b"\x00" * 300] + [None] * 12):
        encoded = encode.encode(fields[0]) if fields else b"\x40"
        found = read_message(section(PROPERTIES, fields))
        assert (found.message_id, found.reply_to) == (encoded, None)


BAD_REQUESTS = {
    "properties that are a map": section(PROPERTIES, {}),
    "properties that are null": section(PROPERTIES, None),
    "properties that claim more than they hold": b"\x00\x53\x73\xc0\x02\x05\x40",
    "properties without a count": b"\x00\x53\x73\xc0\x00",
    "properties without a wide count": b"\x00\x53\x73\xd0\x00\x00\x00\x01\x05",
    "a field that runs into the next section": b"\x00\x53\x73\xc0\x03\x01\xa1\x05" + MESSAGE,
    "an address that is a number": section(PROPERTIES, [None, None, None, None, 5]),
    "application properties that are a list": section(APPLICATION_PROPERTIES, [1]),
    "a value that is malformed": b"\x00\x53\x77\xc0\x02\x05\x40",
}


@pytest.mark.parametrize("payload", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
def test_a_request_that_is_not_right_is_an_error(payload: bytes) -> None:
    with pytest.raises(DecodeError):
        read_message(payload)
