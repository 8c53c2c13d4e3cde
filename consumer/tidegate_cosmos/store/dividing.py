"""Where the ranges of a container begin, and where one is split in two. Pure.

Rules: ranges of a new container hold equal shares of what keys hash to. A split is in the middle of
the range's share as well, not of its items, unless a place is named.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from tidegate_cosmos.store.keys import BEYOND, LEAST, Span, ordered_number
from tidegate_cosmos.store.problems import Malformed

_V1_SIZE = 1 << 32
_V2_SIZE = 1 << 126
_DIGITS = set("0123456789ABCDEF")


def spans_of(ranges: int, version: int) -> list[Span]:
    """The spans of a new container with so many ranges."""
    size = _V1_SIZE if version == 1 else _V2_SIZE
    inner = [_key(size * index // ranges, version) for index in range(1, ranges)]
    edges = [LEAST, *inner, BEYOND]
    return [Span(least, beyond) for least, beyond in pairwise(edges)]


def middle_of(span: Span, version: int) -> str:
    """The effective key in the middle of a span."""
    low, high = _number(span.least, version), _number(span.beyond, version)
    if high - low < 2:
        raise Malformed("The range cannot be split any further: all its keys hash to one number.")
    return _key((low + high) // 2, version)


def checked_place(at: str, span: Span) -> str:
    """An effective key that somebody names for a split. Raises Malformed."""
    place = at.upper()
    if not place or not set(place) <= _DIGITS or not span.least < place < span.beyond:
        raise Malformed(
            f'A range from "{span.least}" to "{span.beyond}" is split at an effective partition '
            f"key between the two, in hexadecimal digits; found {at[:80]!r}."
        )
    return place


def _key(number: int, version: int) -> str:
    if version == 1:
        return ordered_number(float(number)).hex().upper()
    return f"{number:032X}"


def _number(key: str, version: int) -> int:
    """The number of the first key that is not below this one."""
    size = _V1_SIZE if version == 1 else _V2_SIZE
    if key == BEYOND:
        return size
    if version == 1:
        return bisect_left(range(size), key, key=lambda number: _key(number, 1))
    return min(int(key[:32].ljust(32, "0"), 16), size) if key else 0
