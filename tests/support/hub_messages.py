"""Messages for tests of the hub, encoded piece by piece so that a test sees what it sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from tidegate_amqp.decode import decode_value
from tidegate_amqp.encode import (
    NULL,
    encode,
    encode_binary,
    encode_described,
    encode_list,
    encode_pairs,
    encode_string,
    encode_symbol,
    encode_uuid,
)
from tidegate_amqp.sections import (
    APPLICATION_PROPERTIES,
    DATA,
    MESSAGE_ANNOTATIONS,
    PROPERTIES,
    VALUE,
    sections,
)

REQUEST_ID = UUID("0123456789abcdef0123456789abcdef")


def data(body: bytes) -> bytes:
    """A message, or a part of one, that is one data section."""
    return encode_described(DATA, encode_binary(body))


def annotated(values: Mapping[str, Any]) -> bytes:
    """A message-annotations section with symbols as keys."""
    pairs = [(encode_symbol(name), encode(value)) for name, value in values.items()]
    return encode_described(MESSAGE_ANNOTATIONS, encode_pairs(pairs))


def batch(*messages: bytes) -> bytes:
    """The body of a delivery in batch format."""
    return b"".join(data(message) for message in messages)


def request(
    properties: Mapping[str, Any], value: Any = None, reply_to: str | None = "here"
) -> bytes:
    """A request on `$cbs` or `$management`."""
    to = NULL if reply_to is None else encode_string(reply_to)
    head = encode_list([encode_uuid(REQUEST_ID), NULL, NULL, NULL, to])
    pairs = [(encode_string(name), encode(each)) for name, each in properties.items()]
    body = b"" if value is None else encode_described(VALUE, encode(value))
    return (
        encode_described(PROPERTIES, head)
        + encode_described(APPLICATION_PROPERTIES, encode_pairs(pairs))
        + body
    )


def put_token(audience: str, token: str) -> bytes:
    """A request to `$cbs`, as the SDKs make it."""
    named = {"operation": "put-token", "type": "servicebus.windows.net:sastoken"}
    return request({**named, "name": audience}, token)


def read_request(kind: str, hub: str, **more: Any) -> bytes:
    """A request to `$management`; kind is `eventhub` or `partition`."""
    asked = {"operation": "READ", "type": f"com.microsoft:{kind}", "name": hub}
    return request({**asked, **more})


class Part(NamedTuple):
    """One section of a message, with its decoded value."""

    code: int
    value: Any


def parts(payload: bytes) -> list[Part]:
    """A message taken apart, in order."""
    return [
        Part(section.code, decode_value(payload, section.value)[0]) for section in sections(payload)
    ]


def part(payload: bytes, code: int) -> Any:
    """The value of the one section of this kind."""
    (found,) = [each.value for each in parts(payload) if each.code == code]
    return found
