"""The sections of an encoded AMQP message: header, annotations, properties, body, footer.

Rules: walks and slices, decodes only what is asked for; every section lies within the payload or
it is a DecodeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .decode import Buffer, decode_value, skip_value
from .encode import NULL, encode_described, encode_list
from .errors import DecodeError

HEADER = 0x70
DELIVERY_ANNOTATIONS = 0x71
MESSAGE_ANNOTATIONS = 0x72
PROPERTIES = 0x73
APPLICATION_PROPERTIES = 0x74
DATA = 0x75
SEQUENCE = 0x76
VALUE = 0x77
FOOTER = 0x78

BATCH_FORMAT = 0x80013700

_NAMES = {
    "amqp:header:map": HEADER,
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

_SMALL_ULONG = 0x53
_PROPERTY_FIELDS = 13
_MESSAGE_ID = 0
_REPLY_TO = 4
_CORRELATION_ID = 5


class Section(NamedTuple):
    """A section in place: it is payload[start:end] and its value is payload[value:end]."""

    code: int
    start: int
    value: int
    end: int


def sections(payload: Buffer, skip: Callable[[Buffer, int], int] = skip_value) -> Iterator[Section]:
    """The sections of a message in the order in which they stand.

    `skip` finds the end of each value: `check_value` also checks that it can be decoded.
    """
    index, size = 0, len(payload)
    while index < size:
        start = index
        if payload[index] != 0:
            raise DecodeError(f"no message section at byte {index}: 0x{payload[index]:02x}")
        descriptor: Any
        if index + 2 < size and payload[index + 1] == _SMALL_ULONG:
            # As every known peer writes it.
            descriptor, value = payload[index + 2], index + 3
        else:
            descriptor, value = decode_value(payload, index + 1)
        code = _NAMES.get(descriptor) if isinstance(descriptor, str) else descriptor
        if type(code) is not int or not HEADER <= code <= FOOTER:
            raise DecodeError(f"unknown message section {descriptor!r:.100} at byte {index}")
        index = skip(payload, value)
        yield Section(code, start, value, index)


class Message(NamedTuple):
    """What a request or reply on a management-like link carries."""

    message_id: bytes  # as it was encoded, so that it can be echoed exactly
    reply_to: str | None
    application_properties: dict[Any, Any]
    value: Any


def read_message(payload: bytes) -> Message:
    """The parts of a request that an answer depends on."""
    message_id, reply_to = NULL, None
    application_properties: dict[Any, Any] = {}
    value = None
    for section in sections(payload):
        if section.code == PROPERTIES:
            items = _raw_items(payload, section)
            if items:
                message_id = items[_MESSAGE_ID]
            if len(items) > _REPLY_TO:
                reply_to, _ = decode_value(items[_REPLY_TO])
                if not isinstance(reply_to, str | None):
                    raise DecodeError("the address to reply to is not a string")
        elif section.code == APPLICATION_PROPERTIES:
            application_properties, _ = decode_value(payload, section.value)
            if not isinstance(application_properties, dict):
                raise DecodeError("the application properties are not a map")
        elif section.code == VALUE:
            value, _ = decode_value(payload, section.value)
    return Message(message_id, reply_to, application_properties, value)


def _raw_items(payload: bytes, section: Section) -> list[bytes]:
    """The encoded fields of a list, without decoding them."""
    encoded = payload[section.value : section.end]
    if encoded[0] == 0x45:
        return []
    if encoded[0] == 0xC0:
        count, index = int.from_bytes(encoded[2:3], "big"), 3
    elif encoded[0] == 0xD0:
        count, index = int.from_bytes(encoded[5:9], "big"), 9
    else:
        raise DecodeError("the properties of a message are not a list")
    if index > len(encoded):
        raise DecodeError("the properties of a message are cut short")
    items = []
    for _ in range(min(count, _PROPERTY_FIELDS)):
        end = skip_value(encoded, index)
        items.append(encoded[index:end])
        index = end
    return items


def reply_properties(correlation_id: bytes) -> bytes:
    """A properties section that answers the message whose encoded id is given."""
    fields = [NULL] * _PROPERTY_FIELDS
    fields[_CORRELATION_ID] = correlation_id
    return encode_described(PROPERTIES, encode_list(fields))
