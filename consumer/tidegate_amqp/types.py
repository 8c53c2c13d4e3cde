"""AMQP values that Python has no type of its own for.

Everything else maps to plain Python: null None, boolean bool, every integer and timestamp int,
float and double float, char and string str, binary bytes, uuid UUID, list and array list, map dict.
Integers lose their width when they are decoded; where a width matters on the way out, encode with
the function for that width and wrap the bytes in Raw.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Symbol(str):
    """A symbolic value: ASCII text from an agreed set, such as a capability or an error name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class Described(NamedTuple):
    """A value with a descriptor that says how to read it."""

    descriptor: Any
    value: Any


class Raw(bytes):
    """Bytes that are an encoded AMQP value already; the encoder passes them through."""

    __slots__ = ()


class Opaque(NamedTuple):
    """A value of a type we carry but do not interpret (the decimals)."""

    code: int
    data: bytes
