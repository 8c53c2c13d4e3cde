"""The bytes of a slice's projection: what both encoders and the reader agree on. Pure.

    0   magic, 8 bytes: TGSLICE1
    8   length of the head, 4 bytes
    12  the head: JSON
        the flagged block: the keys that have rows above 0 in the flag's column, these rows alone
        the blocks: 64 keys each, in order, all rows

    A block: number of keys (4 bytes), the length of each key (1 byte each), the number of rows of
    each key (2 bytes each), the keys, the rows.
    A row: its kinds, each a number of `kinds` in the head (1 byte, or 2 where there are more than
    256), then its values.

Rules:
- All numbers are little-endian and unsigned. A whole number is stored as what it is above the
  least of its column, in as few bytes as that takes; where some row has none, 0 says so and the
  others are one more. A fraction is 8 bytes (IEEE 754), and not a number where there is none.
- Keys are sorted by their UTF-8 bytes, and the rows of a key by the bytes of their kinds.
- Nothing but the content goes into the bytes: not who wrote them, nor when.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.slices.naming import Version
from tidegate.slices.shape import LEAST, MOST, Column, Shape, SliceError

MAGIC = b"TGSLICE1"
HEAD_AT = 12
KEYS_A_BLOCK = 64
FRACTION = "f8"

# How a stored number is written, by its bytes: for `struct`, and for numpy.
STRUCT_CODES = {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", FRACTION: "d"}


@dataclass(frozen=True, slots=True)
class Stored:
    """How the values of a column are stored."""

    column: Column
    code: str
    base: int = 0
    has_gaps: bool = False

    @property
    def shift(self) -> int:
        """A stored number is the value less this."""
        return self.base - self.has_gaps


def stored(column: Column, least: int | None, most: int | None, *, has_gaps: bool) -> Stored:
    """How a column with such values is stored; None where no row has a value."""
    if column.is_fraction:
        return Stored(column, FRACTION, 0, has_gaps)
    if least is None or most is None:
        return Stored(column, "u1", 0, has_gaps)
    if least < LEAST or most > MOST:
        raise SliceError(f"column '{column.name}': {least} to {most} is more than can be kept")
    return Stored(column, code_for(most - least + has_gaps), least, has_gaps)


def code_for(most: int) -> str:
    """The fewest bytes that take numbers up to this."""
    return next(f"u{size}" for size in (1, 2, 4, 8) if most < 1 << (8 * size))


def kind_code(values: Sequence[str]) -> str:
    return "u1" if len(values) <= 256 else "u2"


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the blocks are, from behind the head on: the first key and the length of each."""

    first: Sequence[str]
    lengths: Sequence[int]
    flagged: int


def head(
    shape: Shape,
    version: Version,
    kinds: Sequence[Sequence[str]],
    columns: Sequence[Stored],
    counts: tuple[int, int],
    blocks: Blocks,
) -> bytes:
    """Magic, length and head; `counts` are those of the keys and the rows."""
    told: dict[str, Any] = {
        "partition": version.partition,
        "start": version.start,
        "size": shape.size_s,
        "end": version.end,
        "key": shape.key,
        "kinds": [[name, list(values)] for name, values in zip(shape.kinds, kinds, strict=True)],
        "columns": [
            [one.column.name, str(one.column.how), one.code, one.base, int(one.has_gaps)]
            for one in columns
        ],
        "flag": shape.flag,
        "keys": counts[0],
        "rows": counts[1],
        "flagged": blocks.flagged,
        "first": list(blocks.first),
        "lengths": list(blocks.lengths),
    }
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    return MAGIC + len(text).to_bytes(4, "little") + text
