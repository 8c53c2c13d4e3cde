"""Reads projections: one home costs one or two range reads, whatever the slice holds.

    async def read(offset: int, length: int) -> bytes: ...     # a range of one blob

    found = await home_in(read, "home-000017")
    if found is not None:
        for row in found.rows:              # {"kind": "smoke", "count": 1, "alarms": 1, ...}
            ...

Rules:
- The first read is FIRST_READ bytes: the head, and all of a small slice. A name's bytes never
  change, so whoever keeps a `Head` by its name pays one read for each further home.
- What is not a whole projection is a SliceError, never a wrong answer.
"""

from __future__ import annotations

import json
import struct
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from tidegate.slices.layout import HEAD_AT, MAGIC, STRUCT_CODES, Stored, kind_code
from tidegate.slices.naming import Version
from tidegate.slices.shape import Column, How, Shape, SliceError

FIRST_READ = 8192
# What JSON ends with that nests too deeply, or has numbers that nothing here can hold.
_TOO_MUCH = (RecursionError, OverflowError)

Value = str | int | float | None
Row = Mapping[str, Value]
Read = Callable[[int, int], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Head:
    """What stands in front of a projection's rows."""

    version: Version
    shape: Shape
    kinds: tuple[tuple[str, ...], ...]
    columns: tuple[Stored, ...]
    keys: int
    rows: int
    flagged: int
    first: tuple[str, ...]
    # Where each block begins, and where the last ends; the flagged one is in front of them.
    places: tuple[int, ...] = field(repr=False)

    def block_of(self, key: str) -> tuple[int, int] | None:
        """Offset and length of the block that has this key, if any has."""
        at = bisect_right(self.first, key) - 1
        if at < 0:
            return None
        return self.places[at], self.places[at + 1] - self.places[at]

    @property
    def flagged_block(self) -> tuple[int, int]:
        return self.places[0] - self.flagged, self.flagged

    @property
    def size(self) -> int:
        """Bytes of the whole projection."""
        return self.places[-1]


@dataclass(frozen=True, slots=True)
class KeyRows:
    """What a slice holds of one key."""

    version: Version
    key: str
    rows: tuple[Row, ...]
    flag: str = ""

    @property
    def flagged(self) -> tuple[Row, ...]:
        """The rows with something in the flag's column: the alarms."""
        return tuple(row for row in self.rows if self.flag and row[self.flag])


def head_size(data: bytes) -> int:
    """How many bytes the head takes, from the first 12 of a projection."""
    if len(data) < HEAD_AT or data[: len(MAGIC)] != MAGIC:
        raise SliceError("this blob is no projection of a slice")
    return HEAD_AT + int.from_bytes(data[len(MAGIC) : HEAD_AT], "little")


def head_from(data: bytes) -> Head:
    """The head at the beginning of some bytes."""
    size = head_size(data)
    if len(data) < size:
        raise SliceError("this projection is cut off within its head")
    try:
        return _head(json.loads(data[HEAD_AT:size]), size)
    except (AttributeError, KeyError, TypeError, ValueError, *_TOO_MUCH) as error:
        raise SliceError(f"the head of this projection cannot be read: {error}") from None


def _head(told: dict[str, Any], size: int) -> Head:
    columns = [
        Stored(Column(name, How(how), code == "f8"), code, base, bool(has_gaps))
        for name, how, code, base, has_gaps in told["columns"]
    ]

    def named(how: How) -> tuple[str, ...]:
        return tuple(one.column.name for one in columns if one.column.how is how)

    shape = Shape(
        told["key"],
        tuple(name for name, _ in told["kinds"]),
        sums=named(How.SUM),
        least=named(How.LEAST),
        most=named(How.MOST),
        last=named(How.LAST),
        fractions=tuple(one.column.name for one in columns if one.column.is_fraction),
        flag=told["flag"],
        size_s=told["size"],
    )
    _check_numbers(told)
    flagged = told["flagged"]
    return Head(
        Version(told["partition"], told["start"], told["end"]),
        shape,
        tuple(tuple(values) for _, values in told["kinds"]),
        tuple(columns),
        told["keys"],
        told["rows"],
        flagged,
        tuple(told["first"]),
        tuple(accumulate(told["lengths"], initial=size + flagged)),
    )


def _check_numbers(told: dict[str, Any]) -> None:
    """Raises ValueError where what says how long things are does not fit together."""
    counts = (told["keys"], told["rows"], told["flagged"], told["size"], *told["lengths"])
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("its lengths are no whole numbers")
    if len(told["first"]) != len(told["lengths"]) or not all(
        isinstance(key, str) for key in told["first"]
    ):
        raise ValueError("it has not one first key for each block")
    if not all(code in STRUCT_CODES and type(base) is int for *_, code, base, _ in told["columns"]):
        raise ValueError("it has columns of an unknown kind")


async def read_head(read: Read, first_read: int = FIRST_READ) -> tuple[Head, bytes]:
    """The head, and the bytes that came with it."""
    data = await read(0, first_read)
    size = head_size(data)
    if size > len(data):
        data += await read(len(data), size - len(data))
    return head_from(data), data


async def home_in(read: Read, home: str, head: Head | None = None) -> KeyRows | None:
    """What the slice holds of one home; None where nothing. `head`: one that was read before."""
    data = b""
    if head is None:
        head, data = await read_head(read)
    place = head.block_of(home)
    if place is None:
        return None
    rows = dict(block_rows(head, await _range(read, data, place), (home,))).get(home)
    return None if rows is None else KeyRows(head.version, home, rows, head.shape.flag)


async def flagged_in(read: Read, head: Head | None = None) -> dict[str, tuple[Row, ...]]:
    """The flagged rows of all homes: who had an alarm in this slice."""
    data = b""
    if head is None:
        head, data = await read_head(read)
    if not head.flagged:
        return {}
    return dict(block_rows(head, await _range(read, data, head.flagged_block)))


async def _range(read: Read, known: bytes, place: tuple[int, int]) -> bytes:
    offset, length = place
    if offset + length <= len(known):
        return known[offset : offset + length]
    return await read(offset, length)


def whole(data: bytes) -> tuple[Head, Iterator[tuple[str, tuple[Row, ...]]]]:
    """All that a projection holds."""
    head = head_from(data)
    if len(data) != head.size:
        raise SliceError(f"this projection has {len(data)} bytes, and should have {head.size}")

    def rows() -> Iterator[tuple[str, tuple[Row, ...]]]:
        for begin, end in pairwise(head.places):
            yield from block_rows(head, data[begin:end])

    return head, rows()


def block_rows(
    head: Head, block: bytes, only: Collection[str] | None = None
) -> Iterator[tuple[str, tuple[Row, ...]]]:
    """The keys of a block and their rows; of some keys alone where these are named. SliceError."""
    try:
        yield from _block_rows(head, block, only)
    except (LookupError, TypeError, ValueError, OverflowError, struct.error) as error:
        # Lengths, numbers and texts that do not fit one another.
        raise SliceError(f"this projection is damaged ({type(error).__name__}: {error})") from None


def _block_rows(
    head: Head, block: bytes, only: Collection[str] | None
) -> Iterator[tuple[str, tuple[Row, ...]]]:
    if len(block) < 4:
        raise SliceError("this projection is cut off")
    keys = int.from_bytes(block[:4], "little")
    names_at = 4 + 3 * keys
    lengths = block[4 : 4 + keys]
    counts = struct.unpack_from(f"<{keys}H", block, 4 + keys)
    form = row_form(head)
    rows_at = names_at + sum(lengths)
    if len(block) != rows_at + sum(counts) * form.size:
        raise SliceError("this projection is cut off, or another blob's")
    for length, count in zip(lengths, counts, strict=True):
        key = block[names_at : names_at + length].decode()
        end = rows_at + count * form.size
        if only is None or key in only:
            packed = form.iter_unpack(block[rows_at:end])
            yield key, tuple(_row(head, numbers) for numbers in packed)
        names_at, rows_at = names_at + length, end


def row_form(head: Head) -> struct.Struct:
    """How a row's numbers are packed."""
    codes = [kind_code(values) for values in head.kinds] + [one.code for one in head.columns]
    return struct.Struct("<" + "".join(STRUCT_CODES[code] for code in codes))


def _row(head: Head, numbers: tuple[int | float, ...]) -> Row:
    row: dict[str, Value] = {}
    for name, values, number in zip(head.shape.kinds, head.kinds, numbers, strict=False):
        row[name] = values[int(number)]
    for one, number in zip(head.columns, numbers[len(head.kinds) :], strict=True):
        if one.code == "f8":
            row[one.column.name] = None if number != number else number  # noqa: PLR0124
        elif one.has_gaps and number == 0:
            row[one.column.name] = None
        else:
            row[one.column.name] = int(number) + one.shift
    return row
