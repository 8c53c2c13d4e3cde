"""What a slice holds, in plain Python: for handlers, and the measure of the faster one. Pure.

Rules: rows are added in the order of the partition, because of a column's last value. Nothing is
copied: who has to undo an addition reads the slice from its blob again.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from itertools import groupby

from tidegate.slices.layout import (
    KEYS_A_BLOCK,
    STRUCT_CODES,
    Blocks,
    Stored,
    head,
    kind_code,
    stored,
)
from tidegate.slices.naming import Version
from tidegate.slices.reading import whole
from tidegate.slices.shape import (
    KEY_BYTES,
    KEY_ROWS,
    KIND_VALUES,
    Column,
    How,
    Shape,
    SliceError,
)

Number = int | float | None
Place = tuple[str, ...]  # the key, and the kinds


class PlainContents:
    """The rows of one slice of one partition."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._columns = shape.columns
        self._hows = tuple(column.how for column in self._columns)
        self._rows: dict[Place, list[Number]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, place: Place, values: Sequence[Number]) -> None:
        """One event, or several that were counted already. None: nothing is known of it."""
        row = self._rows.get(place)
        if row is None:
            _check_place(self.shape, place)
            row = self._rows[place] = [None] * len(self._hows)
        for at, (how, value) in enumerate(zip(self._hows, values, strict=True)):
            if value is None or value != value:  # noqa: PLR0124
                continue
            before = row[at]
            if before is None or how is How.LAST:
                row[at] = value
            elif how is How.SUM:
                row[at] = before + value
            elif how is How.LEAST:
                row[at] = min(before, value)
            else:
                row[at] = max(before, value)

    def rows(self) -> Iterator[tuple[Place, tuple[Number, ...]]]:
        """All rows, sorted."""
        return ((place, tuple(self._rows[place])) for place in sorted(self._rows))

    def shaped(self, shape: Shape) -> PlainContents:
        """The same rows with the columns of another shape. Raises SliceError."""
        if shape == self.shape:
            return self
        shape.check_continues(self.shape)
        mine = {column: at for at, column in enumerate(self._columns)}
        places = [mine.get(column) for column in shape.columns]
        shaped = PlainContents(shape)
        shaped._rows = {
            place: [None if at is None else row[at] for at in places]
            for place, row in self._rows.items()
        }
        return shaped

    # --- bytes

    def encoded(self, version: Version) -> bytes:
        """The projection."""
        places = sorted(self._rows)
        if not places:
            raise SliceError(f"{version}: there is nothing to write")
        kinds = [
            sorted({place[at] for place in places}) for at in range(1, 1 + len(self.shape.kinds))
        ]
        for name, values in zip(self.shape.kinds, kinds, strict=True):
            if len(values) > KIND_VALUES:
                raise SliceError(
                    f"column '{name}': {len(values):,} different values in one slice are more than "
                    f"{KIND_VALUES:,}. What is so many is a key, not a kind."
                )
        by_column = list(zip(*(self._rows[place] for place in places), strict=True))
        columns = [
            _stored(column, values) for column, values in zip(self._columns, by_column, strict=True)
        ]
        packed = self._packed(places, kinds, columns, by_column)
        flag = self.shape.flag_at
        flags = [bool(value) and value > 0 for value in by_column[flag]] if flag is not None else []
        keys = [(key, len(list(same))) for key, same in groupby(place[0] for place in places)]
        blocks = [_block(keys[at : at + KEYS_A_BLOCK]) for at in range(0, len(keys), KEYS_A_BLOCK)]
        at, parts, first, lengths = 0, [], [], []
        for begin, (front, rows) in zip(range(0, len(keys), KEYS_A_BLOCK), blocks, strict=True):
            part = front + b"".join(packed[at : at + rows])
            at += rows
            parts.append(part)
            first.append(keys[begin][0])
            lengths.append(len(part))
        flagged = _flagged(places, packed, flags)
        told = Blocks(first, lengths, len(flagged))
        front = head(self.shape, version, kinds, columns, (len(keys), len(places)), told)
        return b"".join((front, flagged, *parts))

    def _packed(
        self,
        places: Sequence[Place],
        kinds: Sequence[Sequence[str]],
        columns: Sequence[Stored],
        by_column: Sequence[Sequence[Number]],
    ) -> list[bytes]:
        codes = [kind_code(values) for values in kinds] + [one.code for one in columns]
        pack = struct.Struct("<" + "".join(STRUCT_CODES[code] for code in codes)).pack
        numbers: list[list[int | float]] = []
        for at, values in enumerate(kinds, 1):
            numbered = {value: number for number, value in enumerate(values)}
            numbers.append([numbered[place[at]] for place in places])
        for one, found in zip(columns, by_column, strict=True):
            numbers.append(_numbers(one, found))
        return [pack(*row) for row in zip(*numbers, strict=True)]


def plain_from(data: bytes) -> PlainContents:
    """What a projection holds."""
    told, keys = whole(data)
    contents = PlainContents(told.shape.checked())
    names = [column.name for column in told.shape.columns]
    for key, rows in keys:
        for row in rows:
            place = (key, *(str(row[name]) for name in told.shape.kinds))
            contents._rows[place] = [_number(row[name]) for name in names]
    return contents


def _number(value: str | float | None) -> Number:
    assert not isinstance(value, str)
    return value


def _check_place(shape: Shape, place: Place) -> None:
    if len(place) != 1 + len(shape.kinds):
        raise SliceError(f"{place}: write {(shape.key, *shape.kinds)}")
    for name, value in zip((shape.key, *shape.kinds), place, strict=True):
        if not isinstance(value, str) or "\0" in value:
            raise SliceError(f"column '{name}': {value!r} is no text that can be kept")
    try:
        size = len(place[0].encode())
        "".join(place[1:]).encode()
    except UnicodeEncodeError:
        raise SliceError(f"{place}: this is no Unicode text") from None
    if size > KEY_BYTES:
        raise SliceError(f"column '{shape.key}': {place[0][:40]}… has more than {KEY_BYTES} bytes")


def _stored(column: Column, values: Sequence[Number]) -> Stored:
    known = [value for value in values if value is not None]
    has_gaps = len(known) < len(values)
    if column.is_fraction or not known:
        return stored(column, None, None, has_gaps=has_gaps)
    for value in known:
        if not isinstance(value, int):
            raise SliceError(
                f"column '{column.name}': {value!r} is no whole number. Name the column in "
                "`fractions` if it is to keep such values."
            )
    least, most = min(known), max(known)
    return stored(column, int(least), int(most), has_gaps=has_gaps)


def _numbers(one: Stored, values: Sequence[Number]) -> list[int | float]:
    if one.column.is_fraction:
        # Zero has a sign in a fraction, and which one would be left to the order.
        return [math.nan if value is None else value + 0.0 for value in values]
    shift = one.shift
    return [0 if value is None else value - shift for value in values]


def _block(keys: Sequence[tuple[str, int]]) -> tuple[bytes, int]:
    """What stands in front of a block's rows, and how many these are."""
    names = [key.encode() for key, _ in keys]
    counts = [count for _, count in keys]
    if max(counts) > KEY_ROWS:
        key = next(key for key, count in keys if count > KEY_ROWS)
        raise SliceError(f"{key}: more than {KEY_ROWS:,} rows of one key in one slice")
    sizes = bytes(len(name) for name in names)
    front = len(keys).to_bytes(4, "little") + sizes + struct.pack(f"<{len(counts)}H", *counts)
    return front + b"".join(names), sum(counts)


def _flagged(places: Sequence[Place], packed: Sequence[bytes], flags: Sequence[bool]) -> bytes:
    keys: dict[str, list[bytes]] = {}
    for place, row, flag in zip(places, packed, flags, strict=False):
        if flag:
            keys.setdefault(place[0], []).append(row)
    if not keys:
        return b""
    front, _ = _block([(key, len(rows)) for key, rows in keys.items()])
    return front + b"".join(row for rows in keys.values() for row in rows)
