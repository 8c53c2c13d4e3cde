"""Hypothesis strategies for AMQP values and for bytes that are nearly right."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st

from tidegate_amqp import Described, Opaque, Symbol

INTEGERS = st.integers(-(1 << 63), (1 << 64) - 1) | st.integers(-300, 300)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
SYMBOLS = st.text(st.characters(max_codepoint=127), max_size=20).map(Symbol)
OPAQUES = st.one_of(
    *(
        st.builds(Opaque, st.just(code), st.binary(min_size=width, max_size=width))
        for code, width in ((0x74, 4), (0x84, 8), (0x94, 16))
    )
)
KEYS = TEXTS | SYMBOLS | INTEGERS | st.binary(max_size=300) | st.uuids()
PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), KEYS, st.floats(allow_nan=False), OPAQUES
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=5)
        | st.dictionaries(KEYS, inner, max_size=5)
        | st.builds(Described, SYMBOLS | st.integers(0, (1 << 64) - 1), inner)
    )


VALUES = st.recursive(PLAIN, _nested, max_leaves=20)


def mutated(data: bytes, changes: list[tuple[float, int, int]]) -> bytes:
    """Changes at places of the data: a byte, or the four bytes of a size or count."""
    changed = bytearray(data)
    for place, kind, number in changes:
        at = int(place * len(changed))
        if kind == 0:
            changed[at : at + 1] = bytes((number & 0xFF,))
        elif kind == 1:
            changed[at : at + 4] = struct.pack(">I", number)
        elif kind == 2:
            del changed[at:]
        else:
            changed[at:at] = changed[max(0, at - number % 20) : at]
    return bytes(changed)


CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 3), st.integers(0, (1 << 32) - 1)),
    min_size=1,
    max_size=4,
)


def broken(valid: list[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes at random, and valid inputs with a few changes."""
    return st.binary(max_size=200) | st.builds(mutated, st.sampled_from(valid), CHANGES)
