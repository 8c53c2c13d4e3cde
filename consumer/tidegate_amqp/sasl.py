"""The SASL layer that comes before AMQP: frames of its own, one round of it in practice.

Pure: bytes of frame bodies in, bytes of frames out. The mechanisms are those that Event Hubs
offers; MSSBCBS, ANONYMOUS and EXTERNAL prove nothing here (the token comes later, on `$cbs`),
PLAIN carries a key name and a key that the caller judges.
"""

from __future__ import annotations

from typing import NamedTuple

from .decode import decode_value
from .encode import (
    NULL,
    encode_binary,
    encode_described,
    encode_list,
    encode_string,
    encode_symbol,
    encode_symbols,
    encode_ubyte,
)
from .errors import DecodeError
from .frames import SASL_FRAME, frame
from .types import Described

MECHANISMS_CODE = 0x40
INIT_CODE = 0x41
OUTCOME_CODE = 0x44

OUTCOME_OK = 0
OUTCOME_AUTH = 1

MECHANISMS = ("MSSBCBS", "PLAIN", "ANONYMOUS", "EXTERNAL")


class SaslInit(NamedTuple):
    mechanism: str
    response: bytes


class PlainCredentials(NamedTuple):
    user: str
    password: str


def _sasl_frame(code: int, *fields: bytes) -> bytes:
    return frame(0, encode_described(code, encode_list(fields)), kind=SASL_FRAME)


def mechanisms_frame() -> bytes:
    return _sasl_frame(MECHANISMS_CODE, encode_symbols(MECHANISMS))


def init_frame(mechanism: str, response: bytes, hostname: str) -> bytes:
    return _sasl_frame(
        INIT_CODE, encode_symbol(mechanism), encode_binary(response), encode_string(hostname)
    )


def outcome_frame(code: int) -> bytes:
    welcome = encode_binary(b"Welcome!") if code == OUTCOME_OK else NULL
    return _sasl_frame(OUTCOME_CODE, encode_ubyte(code), welcome)


def _fields(body: bytes, code: int, name: str) -> list[object]:
    value, _ = decode_value(body)
    if not isinstance(value, Described) or value.descriptor != code:
        raise DecodeError(f"expected {name}, found {value!r:.100}")
    if not isinstance(value.value, list) or not value.value:
        raise DecodeError(f"{name} has no fields")
    return value.value


def read_init(body: bytes) -> SaslInit:
    fields = _fields(body, INIT_CODE, "sasl-init")
    mechanism = fields[0]
    response = fields[1] if len(fields) > 1 else b""
    if not isinstance(mechanism, str) or not isinstance(response, bytes | None):
        raise DecodeError("sasl-init: the mechanism or the response is of the wrong type")
    return SaslInit(str(mechanism), response or b"")


def read_mechanisms(body: bytes) -> list[str]:
    offered = _fields(body, MECHANISMS_CODE, "sasl-mechanisms")[0]
    return [str(item) for item in offered] if isinstance(offered, list) else [str(offered)]


def read_outcome(body: bytes) -> int:
    code = _fields(body, OUTCOME_CODE, "sasl-outcome")[0]
    if type(code) is not int:
        raise DecodeError("sasl-outcome: the code is not a number")
    return code


def plain_response(user: str, password: str) -> bytes:
    """What a client answers, as the tests of the hub do."""
    return b"\x00" + user.encode() + b"\x00" + password.encode()


def read_plain(response: bytes) -> PlainCredentials:
    parts = response.split(b"\x00")
    if len(parts) != 3:
        raise DecodeError("sasl-init: a PLAIN response has three parts")
    try:
        return PlainCredentials(parts[1].decode(), parts[2].decode())
    except UnicodeDecodeError as error:
        raise DecodeError("sasl-init: a PLAIN response is not UTF-8") from error
