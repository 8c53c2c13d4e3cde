"""Decodes AMQP 1.0 values from bytes.

Rules:
- Nothing is read past the end of the buffer; what does not fit is a DecodeError.
- Nesting is bounded, and so is what an array of empty or described elements can expand to: the
  memory a value takes is proportional to the bytes that carried it.
- No state: every function takes a buffer and an index and gives a value and the next index.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from .errors import DecodeError
from .types import Described, Opaque, Symbol

Buffer = bytes | bytearray | memoryview

MAX_DEPTH = 32
MAX_EMPTY_ELEMENTS = 32

_U16 = struct.Struct(">H").unpack_from
_U32 = struct.Struct(">I").unpack_from
_U64 = struct.Struct(">Q").unpack_from
_I16 = struct.Struct(">h").unpack_from
_I32 = struct.Struct(">i").unpack_from
_I64 = struct.Struct(">q").unpack_from
_F32 = struct.Struct(">f").unpack_from
_F64 = struct.Struct(">d").unpack_from

# Bytes that follow the constructor, by its high half, for the types of fixed width.
_FIXED_WIDTH = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}

_MALFORMED = (IndexError, struct.error, UnicodeDecodeError, OverflowError, ValueError, TypeError)


def decode_value(buffer: Buffer, index: int = 0) -> tuple[Any, int]:
    """The value that starts at `index`, and the index after it."""
    try:
        return _decode(buffer, index, 0)
    except _MALFORMED as error:
        raise DecodeError(f"malformed AMQP value near byte {index}: {error}") from error


def skip_value(buffer: Buffer, index: int) -> int:
    """The index after the value that starts at `index`, without building the value."""
    try:
        end = _skip(buffer, index)
    except _MALFORMED as error:
        raise DecodeError(f"malformed AMQP value near byte {index}: {error}") from error
    if end > len(buffer):
        raise DecodeError(f"AMQP value at byte {index} is cut short")
    return end


def check_value(buffer: Buffer, index: int) -> int:
    """The index after the value that starts at `index`, which `decode_value` can decode.

    Costs a third of decoding it, because nothing is built. Raises DecodeError.
    """
    try:
        end = _check_items(buffer, index, 1, 0, is_map=False)
    except _MALFORMED as error:
        raise DecodeError(f"malformed AMQP value near byte {index}: {error}") from error
    if end > len(buffer):
        raise DecodeError(f"AMQP value at byte {index} is cut short")
    return end


def _check_items(buffer: Buffer, index: int, left: int, depth: int, *, is_map: bool) -> int:
    """The index after so many values. In a map, keys are those of which an even number is left."""
    while left:
        code = buffer[index]
        step = _STEPS[code]
        if step > 1:
            index += step
        elif step:
            # Properties are a list that is mostly null, so runs are skipped at once.
            run = min(_RUN_OF_EMPTY(buffer, index).end() - index, left)  # type: ignore[union-attr]
            index += run
            left -= run
            continue
        elif code in _TEXTS8:
            start = index + 2
            index = start + buffer[index + 1]
            str(buffer[start:index], _TEXTS8[code])
        elif code in _BINARIES:
            index = _skip_plain(buffer, index + 1, code)
        elif is_map and not left & 1 and (code >= _FIRST_COMPOUND or code in _ODD_KEYS):
            key, index = _decode(buffer, index, depth)
            hash(key)  # a list or a map is no key of a dict
        else:
            index = _check_other(buffer, index, code, depth)
        left -= 1
    return index


def _check_other(buffer: Buffer, index: int, code: int, depth: int) -> int:
    if code in _SIMPLE:
        return _SIMPLE[code](buffer, index + 1)[1]
    if depth >= MAX_DEPTH:
        raise DecodeError(f"AMQP value nested deeper than {MAX_DEPTH}")
    if code == 0:
        return _check_items(buffer, index + 1, 2, depth + 1, is_map=False)
    if code not in _LISTS_AND_MAPS:
        # Arrays are rare, and so are types that do not exist.
        return _decode(buffer, index, depth)[1]
    count, start, end = (_span8 if code < _WIDE else _span32)(buffer, index + 1)
    is_map = code in (0xC1, 0xD1)
    if end > len(buffer) or count > end - start or (is_map and count % 2):
        raise DecodeError(f"AMQP list of {count} elements does not fit its {end - start} bytes")
    if _check_items(buffer, start, count, depth + 1, is_map=is_map) != end:
        raise DecodeError("the size of an AMQP list does not match its elements")
    return end


def _skip(buffer: Buffer, index: int) -> int:
    values = 1
    while values:
        code = buffer[index]
        if code:
            index = _skip_plain(buffer, index + 1, code)
            values -= 1
        else:
            # Two values stand for one: its descriptor and what that describes.
            index += 1
            values += 1
    return index


def _skip_plain(buffer: Buffer, index: int, code: int) -> int:
    high = code >> 4
    width = _FIXED_WIDTH.get(high)
    if width is not None:
        return index + width
    if high in (0xA, 0xC, 0xE):
        return index + 1 + buffer[index]
    if high in (0xB, 0xD, 0xF):
        return index + 4 + int(_U32(buffer, index)[0])
    raise DecodeError(f"unknown AMQP type 0x{code:02x}")


def _decode(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    code = buffer[index]
    simple = _SIMPLE.get(code)
    if simple is not None:
        return simple(buffer, index + 1)
    if depth >= MAX_DEPTH:
        raise DecodeError(f"AMQP value nested deeper than {MAX_DEPTH}")
    compound = _COMPOUND.get(code)
    if compound is None:
        raise DecodeError(f"unknown AMQP type 0x{code:02x}")
    return compound(buffer, index + 1, depth + 1)


def _constant(value: Any) -> Callable[[Buffer, int], tuple[Any, int]]:
    return lambda _buffer, index: (value, index)


def _byte(buffer: Buffer, index: int) -> tuple[Any, int]:
    return buffer[index], index + 1


def _signed_byte(buffer: Buffer, index: int) -> tuple[Any, int]:
    value = buffer[index]
    return (value - 256 if value > 127 else value), index + 1


def _number(unpack: Callable[..., Any], width: int) -> Callable[[Buffer, int], tuple[Any, int]]:
    return lambda buffer, index: (unpack(buffer, index)[0], index + width)


def _char(buffer: Buffer, index: int) -> tuple[Any, int]:
    point = _U32(buffer, index)[0]
    if 0xD800 <= point < 0xE000:
        raise DecodeError(f"0x{point:x} is half of a character")
    return chr(point), index + 4


def _uuid(buffer: Buffer, index: int) -> tuple[Any, int]:
    return UUID(bytes=_take(buffer, index, 16)), index + 16


def _decimal(code: int, width: int) -> Callable[[Buffer, int], tuple[Any, int]]:
    return lambda buffer, index: (Opaque(code, _take(buffer, index, width)), index + width)


def _take(buffer: Buffer, index: int, size: int) -> bytes:
    end = index + size
    if end > len(buffer):
        raise DecodeError(f"AMQP value at byte {index} is cut short")
    return bytes(buffer[index:end])


def _binary8(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = buffer[index]
    return _take(buffer, index + 1, size), index + 1 + size


def _binary32(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = _U32(buffer, index)[0]
    return _take(buffer, index + 4, size), index + 4 + size


def _string8(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = buffer[index]
    return _take(buffer, index + 1, size).decode(), index + 1 + size


def _string32(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = _U32(buffer, index)[0]
    return _take(buffer, index + 4, size).decode(), index + 4 + size


def _symbol8(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = buffer[index]
    return Symbol(_take(buffer, index + 1, size).decode("ascii")), index + 1 + size


def _symbol32(buffer: Buffer, index: int) -> tuple[Any, int]:
    size = _U32(buffer, index)[0]
    return Symbol(_take(buffer, index + 4, size).decode("ascii")), index + 4 + size


def _described(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    descriptor, index = _decode(buffer, index, depth)
    value, index = _decode(buffer, index, depth)
    return Described(descriptor, value), index


def _span8(buffer: Buffer, index: int) -> tuple[int, int, int]:  # count, first element, end
    return buffer[index + 1], index + 2, index + 1 + buffer[index]


def _span32(buffer: Buffer, index: int) -> tuple[int, int, int]:
    return _U32(buffer, index + 4)[0], index + 8, index + 4 + int(_U32(buffer, index)[0])


def _elements(buffer: Buffer, span: tuple[int, int, int], depth: int) -> tuple[list[Any], int]:
    count, index, end = span
    if end > len(buffer) or count > end - index:
        raise DecodeError(f"AMQP list of {count} elements does not fit its {end - index} bytes")
    values = []
    for _ in range(count):
        value, index = _decode(buffer, index, depth)
        values.append(value)
    if index != end:
        raise DecodeError("the size of an AMQP list does not match its elements")
    return values, end


def _pairs(values: list[Any], end: int) -> tuple[Any, int]:
    if len(values) % 2:
        raise DecodeError("an AMQP map has a key without a value")
    return dict(zip(values[::2], values[1::2], strict=True)), end


def _map8(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    return _pairs(*_elements(buffer, _span8(buffer, index), depth))


def _map32(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    return _pairs(*_elements(buffer, _span32(buffer, index), depth))


def _array(buffer: Buffer, span: tuple[int, int, int], depth: int) -> tuple[Any, int]:
    count, index, end = span
    if count == 0 and index == end:
        # The official Python SDK leaves out the constructor of no elements.
        return [], end
    if end > len(buffer) or index >= end:
        raise DecodeError("AMQP array is cut short")
    descriptor: Any = None
    is_described = buffer[index] == 0
    if is_described:
        if depth >= MAX_DEPTH:
            raise DecodeError(f"AMQP value nested deeper than {MAX_DEPTH}")
        # Each element is a described value: one level more, as where it stands by itself.
        depth += 1
        descriptor, index = _decode(buffer, index + 1, depth)
    code = buffer[index]
    index += 1
    is_empty = _FIXED_WIDTH.get(code >> 4) == 0
    if count > (MAX_EMPTY_ELEMENTS if is_empty else end - index):
        raise DecodeError(f"AMQP array of {count} elements does not fit its {end - index} bytes")
    simple, compound = _SIMPLE.get(code), _COMPOUND.get(code)
    if code == 0 or (simple is None and (compound is None or depth >= MAX_DEPTH)):
        raise DecodeError(f"AMQP array of unsuitable type 0x{code:02x} or nested too deeply")
    values = []
    for _ in range(count):
        if compound is not None:
            value, index = compound(buffer, index, depth + 1)
        elif simple is not None:
            value, index = simple(buffer, index)
        values.append(Described(descriptor, value) if is_described else value)
        if is_empty:
            values *= count
        if is_empty or index > end:
            break
    if index != end:
        raise DecodeError("the size of an AMQP array does not match its elements")
    return values, end


def _array8(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    return _array(buffer, _span8(buffer, index), depth)


def _array32(buffer: Buffer, index: int, depth: int) -> tuple[Any, int]:
    return _array(buffer, _span32(buffer, index), depth)


_SIMPLE: dict[int, Callable[[Buffer, int], tuple[Any, int]]] = {
    0x40: _constant(None),
    0x41: _constant(True),
    0x42: _constant(False),
    0x43: _constant(0),
    0x44: _constant(0),
    0x45: lambda _buffer, index: ([], index),
    0x50: _byte,
    0x51: _signed_byte,
    0x52: _byte,
    0x53: _byte,
    0x54: _signed_byte,
    0x55: _signed_byte,
    0x56: lambda buffer, index: (buffer[index] != 0, index + 1),
    0x60: _number(_U16, 2),
    0x61: _number(_I16, 2),
    0x70: _number(_U32, 4),
    0x71: _number(_I32, 4),
    0x72: _number(_F32, 4),
    0x73: _char,
    0x74: _decimal(0x74, 4),
    0x80: _number(_U64, 8),
    0x81: _number(_I64, 8),
    0x82: _number(_F64, 8),
    0x83: _number(_I64, 8),
    0x84: _decimal(0x84, 8),
    0x94: _decimal(0x94, 16),
    0x98: _uuid,
    0xA0: _binary8,
    0xA1: _string8,
    0xA3: _symbol8,
    0xB0: _binary32,
    0xB1: _string32,
    0xB3: _symbol32,
}
_COMPOUND: dict[int, Callable[[Buffer, int, int], tuple[Any, int]]] = {
    0x00: _described,
    0xC0: lambda buffer, index, depth: _elements(buffer, _span8(buffer, index), depth),
    0xC1: _map8,
    0xD0: lambda buffer, index, depth: _elements(buffer, _span32(buffer, index), depth),
    0xD1: _map32,
    0xE0: _array8,
    0xF0: _array32,
}

_FIRST_COMPOUND, _WIDE = 0xC0, 0xD0
_BINARIES = frozenset((0xA0, 0xB0))
_TEXTS8 = {0xA1: "utf-8", 0xA3: "ascii"}
_LISTS_AND_MAPS = frozenset((0xC0, 0xC1, 0xD0, 0xD1))
_CHAR, _EMPTY_LIST = 0x73, 0x45
_ODD_KEYS = frozenset((0x00, _EMPTY_LIST))
# Null, true, false and the zeros: values of their constructor alone.
_RUN_OF_EMPTY = re.compile(rb"[\x40-\x44]+").match
# How many bytes a value takes whose type is of fixed width and allows every value; 0: another type.
_STEPS = bytes(
    1 + _FIXED_WIDTH[code >> 4]
    if code in _SIMPLE and code not in (_CHAR, _EMPTY_LIST) and code >> 4 in _FIXED_WIDTH
    else 0
    for code in range(256)
)
