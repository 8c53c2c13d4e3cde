"""Encodes AMQP 1.0 values, one function a type, each in its shortest form.

Rules: a value that does not fit its type is a ValueError that names both (a bug of this side);
Raw bytes pass through as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from .types import Described, Opaque, Raw, Symbol

_U8 = struct.Struct(">B").pack
_U16 = struct.Struct(">H").pack
_U32 = struct.Struct(">I").pack
_U64 = struct.Struct(">Q").pack
_I32 = struct.Struct(">i").pack
_I64 = struct.Struct(">q").pack
_F64 = struct.Struct(">d").pack

NULL = b"\x40"
TRUE = b"\x41"
FALSE = b"\x42"
EMPTY_LIST = b"\x45"


def encode_boolean(value: bool) -> bytes:
    return TRUE if value else FALSE


def _packed(pack: Callable[[Any], bytes], value: Any, kind: str) -> bytes:
    try:
        return pack(value)
    except struct.error as error:
        raise ValueError(f"{value!r:.100} does not fit an AMQP {kind}") from error


def encode_ubyte(value: int) -> bytes:
    return b"\x50" + _packed(_U8, value, "ubyte")


def encode_ushort(value: int) -> bytes:
    return b"\x60" + _packed(_U16, value, "ushort")


def encode_uint(value: int) -> bytes:
    if value == 0:
        return b"\x43"
    return bytes((0x52, value)) if 0 < value < 256 else b"\x70" + _packed(_U32, value, "uint")


def encode_ulong(value: int) -> bytes:
    if value == 0:
        return b"\x44"
    return bytes((0x53, value)) if 0 < value < 256 else b"\x80" + _packed(_U64, value, "ulong")


def encode_int(value: int) -> bytes:
    return bytes((0x54, value & 0xFF)) if -128 <= value < 128 else encode_int_wide(value)


def encode_int_wide(value: int) -> bytes:
    """An int in its four-byte form, as the service writes status codes."""
    return b"\x71" + _packed(_I32, value, "int")


def encode_long(value: int) -> bytes:
    if -128 <= value < 128:
        return bytes((0x55, value & 0xFF))
    return b"\x81" + _packed(_I64, value, "long")


def encode_timestamp(milliseconds: int) -> bytes:
    return b"\x83" + _packed(_I64, milliseconds, "timestamp")


def encode_double(value: float) -> bytes:
    return b"\x82" + _F64(value)


def encode_uuid(value: UUID) -> bytes:
    return b"\x98" + value.bytes


def encode_binary(value: bytes | bytearray | memoryview) -> bytes:
    return _variable(bytes(value), 0xA0)


def encode_string(value: str) -> bytes:
    return _variable(value.encode(), 0xA1)


def encode_symbol(value: str) -> bytes:
    return _variable(value.encode("ascii"), 0xA3)


def _variable(data: bytes, short_code: int) -> bytes:
    size = len(data)
    if size < 256:
        return bytes((short_code, size)) + data
    return bytes((short_code + 0x10,)) + _U32(size) + data


def encode_list(items: Iterable[bytes]) -> bytes:
    """A list of values that are encoded already."""
    parts = list(items)
    return _compound(parts, 0xC0) if parts else EMPTY_LIST


def encode_map(mapping: Mapping[Any, Any]) -> bytes:
    """A map; keys and values are encoded generically, so pass Raw where a width matters."""
    return encode_pairs((encode(key), encode(value)) for key, value in mapping.items())


def encode_pairs(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A map of keys and values that are encoded already."""
    return _compound([part for pair in pairs for part in pair], 0xC1)


def _compound(parts: list[bytes], short_code: int) -> bytes:
    body = b"".join(parts)
    count = len(parts)
    if len(body) < 255 and count < 256:
        return bytes((short_code, len(body) + 1, count)) + body
    return bytes((short_code + 0x10,)) + _U32(len(body) + 4) + _U32(count) + body


def encode_symbols(values: Iterable[str]) -> bytes:
    """An array of symbols."""
    return _array(0xA3, [value.encode("ascii") for value in values])


def encode_strings(values: Iterable[str]) -> bytes:
    """An array of strings, each with a wide length, as Event Hubs writes partition ids."""
    return _array(0xB1, [value.encode() for value in values])


def _array(code: int, items: list[bytes]) -> bytes:
    is_short = code < 0xB0
    if is_short and any(len(item) > 255 for item in items):
        code, is_short = code + 0x10, False
    if is_short:
        body = b"".join(bytes((len(item),)) + item for item in items)
    else:
        body = b"".join(_U32(len(item)) + item for item in items)
    if len(body) < 254 and len(items) < 256:
        return bytes((0xE0, len(body) + 2, len(items), code)) + body
    return b"\xf0" + _U32(len(body) + 5) + _U32(len(items)) + bytes((code,)) + body


def encode_described(descriptor: int, body: bytes) -> bytes:
    """A value under a numeric descriptor."""
    if descriptor < 256:
        return bytes((0x00, 0x53, descriptor)) + body
    return b"\x00\x80" + _U64(descriptor) + body


def encode(value: Any) -> bytes:
    """A Python value in the AMQP type that carries it without loss; integers as long."""
    if isinstance(value, Raw):
        return value
    if value is None:
        return NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, Symbol):
        return encode_symbol(value)
    if isinstance(value, str):
        return encode_string(value)
    if isinstance(value, int):
        return encode_long(value) if -(1 << 63) <= value < 1 << 63 else encode_ulong(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return encode_binary(value)
    if isinstance(value, float):
        return encode_double(value)
    if isinstance(value, Opaque):
        return bytes((value.code,)) + value.data
    if isinstance(value, Described):
        return b"\x00" + _encode_descriptor(value.descriptor) + encode(value.value)
    return _encode_container(value)


def _encode_descriptor(descriptor: Any) -> bytes:
    is_code = type(descriptor) is int and descriptor >= 0
    return encode_ulong(descriptor) if is_code else encode(descriptor)


def _encode_container(value: Any) -> bytes:
    if isinstance(value, Mapping):
        return encode_map(value)
    if isinstance(value, list | tuple):
        return encode_list(encode(item) for item in value)
    if isinstance(value, UUID):
        return encode_uuid(value)
    raise ValueError(f"no AMQP type carries a Python {type(value).__name__}")
