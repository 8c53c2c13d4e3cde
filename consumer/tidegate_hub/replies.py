"""The answers of `$cbs` and `$management`, as the service words and encodes them. Pure."""

from __future__ import annotations

from tidegate_amqp.encode import (
    encode_described,
    encode_int_wide,
    encode_pairs,
    encode_string,
    encode_symbol,
)
from tidegate_amqp.sections import APPLICATION_PROPERTIES, VALUE, reply_properties
from tidegate_hub.conditions import HubError, status_code

ACCEPTED = 202
OK = 200

Pairs = list[tuple[bytes, bytes]]


def _reply(message_id: bytes, application_properties: Pairs, value: bytes = b"") -> bytes:
    encoded = encode_described(APPLICATION_PROPERTIES, encode_pairs(application_properties))
    return reply_properties(message_id) + encoded + value


def _status(code: int) -> tuple[bytes, bytes]:
    return encode_string("status-code"), encode_int_wide(code)


def token_accepted(message_id: bytes) -> bytes:
    """The answer to a token that will do."""
    described = (encode_string("status-description"), encode_string("Accepted"))
    return _reply(message_id, [_status(ACCEPTED), described])


def read_answered(message_id: bytes, value: Pairs) -> bytes:
    """The answer to a management READ."""
    operation = (encode_string("operation"), encode_string("READ"))
    body = encode_described(VALUE, encode_pairs(value))
    return _reply(message_id, [operation, _status(OK)], body)


def refused(message_id: bytes, error: HubError) -> bytes:
    """The answer to a request that failed."""
    return _reply(
        message_id,
        [
            _status(status_code(error)),
            (encode_string("status-description"), encode_string(error.description)),
            (encode_string("error-condition"), encode_symbol(error.condition)),
        ],
    )
