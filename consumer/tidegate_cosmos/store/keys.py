"""Partition keys: what a container says of them, an item's own, and where they hash to. Pure.

Rules:

- A value is None, a bool, a number, a text, or UNDEFINED where the item has nothing of that kind at
  the path: nothing at all, an object or a list.
- The effective key of values is the text of hexadecimal digits by which ranges are divided. It is
  worked out exactly as the official SDKs do it: version 2 (and `MultiHash`) by a hash of 128 bits
  whose two highest bits are cleared, version 1 by a hash of 32 bits with the values behind it.
- Effective keys are compared as texts, in upper case; all lie from "" to below "FF".
- Fewer values than a hierarchical key has paths are a prefix: a span of effective keys.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeGuard

from tidegate_cosmos.store.murmur import murmur3_32, murmur3_128

LEAST: Final = ""
BEYOND: Final = "FF"
_PATHS_MAX: Final = 3
_LONGEST_V1: Final = 100
# A step in quotes may hold slashes, and quotes behind a backslash.
_STEP: Final = re.compile(r"""/(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)'|([^/"'][^/]*))""")
_PATH: Final = re.compile(f"(?:{_STEP.pattern})+")


class _Undefined:
    """The type of UNDEFINED: no value at all, which is not null."""

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED: Final = _Undefined()
Value = None | bool | int | float | str | _Undefined


class KeyProblem(ValueError):
    """A partition key, or what a container says of it, that cannot be."""


@dataclass(frozen=True, slots=True)
class Span:
    """The effective keys from `least` to below `beyond`."""

    least: str = LEAST
    beyond: str = BEYOND

    def holds(self, key: str) -> bool:
        return self.least <= key < self.beyond

    def meets(self, other: Span) -> bool:
        """Whether there are keys that lie in both."""
        return self.least < other.beyond and other.least < self.beyond


@dataclass(frozen=True, slots=True)
class KeyDefinition:
    """Where an item has its partition key, and how it is hashed."""

    paths: tuple[tuple[str, ...], ...]
    kind: str = "Hash"
    version: int = 2

    def values_of(self, document: Mapping[str, Any]) -> tuple[Value, ...]:
        """The partition key that an item says by itself. Raises KeyProblem."""
        return tuple(_value_at(document, path) for path in self.paths)

    def span_of(self, values: Sequence[Value]) -> Span:
        """The effective keys of these values: one for all paths, many for a prefix."""
        key = self.effective(tuple(values))
        return Span(key, f"{key}FF" if len(values) < len(self.paths) else f"{key}00")

    def effective(self, values: tuple[Value, ...]) -> str:
        """The effective key of these values. Raises KeyProblem."""
        if len(values) > len(self.paths) or (self.kind == "Hash" and len(values) > 1):
            raise KeyProblem(
                f"expected {len(self.paths)} values of a partition key, found {len(values)}"
            )
        if not values:
            return LEAST
        return _effective(tuple((type(value), value) for value in values), self.version)


def definition_of(described: object) -> KeyDefinition:
    """What `partitionKey` of a container says. Raises KeyProblem."""
    if not isinstance(described, dict):
        raise KeyProblem("partitionKey: expected an object with paths")
    paths = described.get("paths")
    kind = described.get("kind", "Hash")
    version = described.get("version", 1)
    if not isinstance(paths, list) or not 1 <= len(paths) <= _PATHS_MAX:
        raise KeyProblem(f"partitionKey.paths: expected a list of 1 to {_PATHS_MAX} paths")
    if kind not in ("Hash", "MultiHash") or (kind == "Hash" and len(paths) > 1):
        raise KeyProblem('partitionKey.kind: expected "Hash" with one path, or "MultiHash"')
    if version not in (1, 2) or (kind == "MultiHash" and version != 2):
        raise KeyProblem('partitionKey.version: expected 1 or 2, and 2 for "MultiHash"')
    return KeyDefinition(tuple(map(_steps, paths)), kind, int(version))


def values_from_header(parts: object) -> tuple[Value, ...]:
    """The values that a request names, where {} stands for none. Raises KeyProblem."""
    if not isinstance(parts, list):
        raise KeyProblem("expected the values of a partition key in a list")
    values = tuple(UNDEFINED if part == {} else part for part in parts)
    if not all(map(_is_value, values)):
        raise KeyProblem("a partition key is a text, a number, a truth value or null")
    return values


def _steps(path: object) -> tuple[str, ...]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise KeyProblem(f"partitionKey.paths: expected a path such as /home, found {path!r:.60}")
    return tuple("".join(found.groups("")) for found in _STEP.finditer(path))


def _value_at(document: Mapping[str, Any], path: tuple[str, ...]) -> Value:
    found: object = document
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return UNDEFINED
        found = found[step]
    return found if _is_value(found) else UNDEFINED


def _is_value(value: object) -> TypeGuard[Value]:
    return value is None or isinstance(value, bool | int | float | str | _Undefined)


# The type is part of what is remembered, as True and 1 are equal.
@lru_cache(maxsize=65_536)
def _effective(typed: tuple[tuple[type, Any], ...], version: int) -> str:
    values = [value for _, value in typed]
    if version == 1:
        return _version_1(values[0])
    return "".join(_version_2(value) for value in values)


def _version_2(value: Value) -> str:
    first, second = murmur3_128(_hashed_form(value, b"\xff"))
    return f"{(second << 64 | first) & ((1 << 126) - 1):032X}"


def _version_1(value: Value) -> str:
    short = value[:_LONGEST_V1] if isinstance(value, str) else value
    hashed = float(murmur3_32(_hashed_form(short, b"\0")))
    return (ordered_number(hashed) + _ordered_form(short)).hex().upper()


def _hashed_form(value: Value, text_end: bytes) -> bytes:
    match value:
        case None:
            return b"\x01"
        case bool():
            return b"\x03" if value else b"\x02"
        case int() | float():
            return b"\x05" + struct.pack("<d", float(value))
        case str():
            return b"\x08" + value.encode("utf-8", "surrogatepass") + text_end
        case _:
            return b"\x00"


def _ordered_form(value: Value) -> bytes:
    """A value such that its bytes sort as the values do."""
    match value:
        case int() | float() if not isinstance(value, bool):
            return ordered_number(float(value))
        case str():
            text = value.encode("utf-8", "surrogatepass")
            is_short = len(text) <= _LONGEST_V1
            shifted = bytes((byte + 1) & 0xFF for byte in text[: _LONGEST_V1 + 1])
            return b"\x08" + shifted + (b"\0" if is_short else b"")
        case _:
            return _hashed_form(value, b"")


def ordered_number(value: float) -> bytes:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    sign = 1 << 63
    ordered = bits ^ sign if bits < sign else (~bits + 1) & (2 * sign - 1)
    # Eight bits, then seven at a time, each followed by whether there are more.
    out = bytearray((0x05, ordered >> 56))
    rest = (ordered << 8) & (2 * sign - 1)
    chunks = []
    while rest:
        chunks.append(rest >> 56 | 1)
        rest = (rest << 7) & (2 * sign - 1)
    out += bytes(chunks[:-1])
    out.append((chunks[-1] if chunks else 0) & 0xFE)
    return bytes(out)
