"""Contents in arrays to the bytes of a projection and back: see slices/layout.py. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tidegate.slices.layout import (
    FRACTION,
    KEYS_A_BLOCK,
    Blocks,
    Stored,
    head,
    kind_code,
    stored,
)
from tidegate.slices.naming import Version
from tidegate.slices.reading import Head, head_from
from tidegate.slices.shape import KEY_ROWS, Column, SliceError
from tidegate.spark.contents import Array, Contents, Values, codes_of, made, raw_of


def encoded(contents: Contents, version: Version) -> bytes:
    """The projection."""
    if not len(contents):
        raise SliceError(f"{version}: there is nothing to write")
    shape = contents.shape
    columns = [
        _stored(column, values)
        for column, values in zip(shape.columns, contents.columns, strict=True)
    ]
    rows = _packed(contents, columns)
    keys, is_first = _keys(contents)
    starts = np.flatnonzero(is_first)
    flagged = _flagged(contents, rows, keys, is_first)
    pieces = list(_blocks(keys, np.diff(starts, append=len(rows)), rows, KEYS_A_BLOCK))
    first = [_text(keys[at]) for at in range(0, len(keys), KEYS_A_BLOCK)]
    blocks = Blocks(first, [len(piece) for piece in pieces], len(flagged))
    front = head(shape, version, contents.kinds, columns, (len(keys), len(rows)), blocks)
    return b"".join((front, flagged, *pieces))


def decoded(data: bytes) -> tuple[Contents, Version]:
    """What a projection holds. Raises SliceError."""
    try:
        return _decoded(data)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        # Lengths, numbers and texts that do not fit one another.
        raise SliceError(f"this projection is damaged ({type(error).__name__}: {error})") from None


def _decoded(data: bytes) -> tuple[Contents, Version]:
    told = head_from(data)
    if len(data) != told.size:
        raise SliceError(f"this projection has {len(data)} bytes, and should have {told.size}")
    names, lengths, counts, rows = _parts(told, data)
    width = int(lengths.max())
    keys = np.zeros((len(lengths), max(width, 1)), np.uint8)
    keys[np.arange(keys.shape[1]) < lengths[:, None]] = names
    numbers = np.frombuffer(rows, _row_type(told.kinds, told.columns))
    columns = [_values(one, numbers[f"v{at}"]) for at, one in enumerate(told.columns)]
    codes = [numbers[f"k{at}"].astype(np.int64) for at in range(len(told.kinds))]
    each = keys.view(f"S{keys.shape[1]}").ravel().repeat(counts)
    return made(told.shape.checked(), each, codes, told.kinds, columns), told.version


# --- encoding


def _stored(column: Column, values: Values) -> Stored:
    gaps = values.gaps
    there = values.numbers if gaps is None else values.numbers[~gaps]
    if column.is_fraction or not len(there):
        return stored(column, None, None, has_gaps=gaps is not None)
    return stored(column, int(there.min()), int(there.max()), has_gaps=gaps is not None)


def _row_type(kinds: Any, columns: Any) -> np.dtype[Any]:
    fields = [(f"k{at}", f"<{kind_code(texts)}") for at, texts in enumerate(kinds)]
    fields += [(f"v{at}", f"<{one.code}") for at, one in enumerate(columns)]
    return np.dtype(fields)


def _packed(contents: Contents, columns: list[Stored]) -> Array:
    rows = np.empty(len(contents), _row_type(contents.kinds, columns))
    for at in range(len(contents.kinds)):
        rows[f"k{at}"] = codes_of(contents, at)
    for at, (one, values) in enumerate(zip(columns, contents.columns, strict=True)):
        if one.code == FRACTION:
            # Zero has a sign in a fraction, and which one would be left to the order.
            numbers = values.numbers + 0.0
            rows[f"v{at}"] = (
                numbers if values.gaps is None else np.where(values.gaps, np.nan, numbers)
            )
        elif values.gaps is None:
            rows[f"v{at}"] = values.numbers - one.shift
        else:
            rows[f"v{at}"] = np.where(values.gaps, 0, values.numbers - one.shift)
    return rows


def _keys(contents: Contents) -> tuple[Array, Array]:
    """The bytes of each key, a row each, and which rows of the contents are a key's first."""
    raw = raw_of(contents)
    words = raw.view(np.uint64)[:, : contents.width // 8]
    is_first = np.ones(len(raw), bool)
    is_first[1:] = (words[1:] != words[:-1]).any(axis=1)
    return raw[is_first, : contents.width], is_first


def _blocks(keys: Array, counts: Array, rows: Array, keys_a_block: int) -> Iterator[bytes]:
    if counts.max() > KEY_ROWS:
        key = _text(keys[counts.argmax()])
        raise SliceError(f"{key}: more than {KEY_ROWS:,} rows of one key in one slice")
    is_name = keys != 0
    lengths = is_name.sum(axis=1)
    names = keys[is_name].tobytes()
    sizes, numbers = lengths.astype(np.uint8).tobytes(), counts.astype("<u2").tobytes()
    packed, size = rows.tobytes(), rows.dtype.itemsize
    every = list(range(0, len(keys), keys_a_block))
    name_ends = np.append(0, lengths.cumsum())[[*every, len(keys)]].tolist()
    row_ends = (np.append(0, counts.cumsum())[[*every, len(keys)]] * size).tolist()
    for at, begin in enumerate(every):
        end = min(begin + keys_a_block, len(keys))
        yield b"".join(
            (
                (end - begin).to_bytes(4, "little"),
                sizes[begin:end],
                numbers[2 * begin : 2 * end],
                names[name_ends[at] : name_ends[at + 1]],
                packed[row_ends[at] : row_ends[at + 1]],
            )
        )


def _flagged(contents: Contents, rows: Array, keys: Array, is_first: Array) -> bytes:
    flag = contents.shape.flag_at
    if flag is None:
        return b""
    is_flagged = contents.columns[flag].numbers > 0  # where there is none, there is a 0
    if not is_flagged.any():
        return b""
    whose = (is_first.cumsum() - 1)[is_flagged]
    flagged_keys, counts = np.unique(whose, return_counts=True)
    return next(_blocks(keys[flagged_keys], counts, rows[is_flagged], len(flagged_keys)))


def _text(key: Array) -> str:
    return key[key != 0].tobytes().decode()


# --- decoding


def _parts(told: Head, data: bytes) -> tuple[Array, Array, Array, bytes]:
    """Of all blocks: the bytes of the keys, their lengths, their numbers of rows, the rows."""
    size = _row_type(told.kinds, told.columns).itemsize
    names, lengths, counts, rows = [], [], [], []
    for begin, end in pairwise(told.places):
        keys = int.from_bytes(data[begin : begin + 4], "little")
        at = begin + 4
        if at + 3 * keys > end:
            raise SliceError("this projection is cut off")
        lengths.append(np.frombuffer(data, np.uint8, keys, at))
        counts.append(np.frombuffer(data, "<u2", keys, at + keys))
        at += 3 * keys
        rows_at = at + int(lengths[-1].sum(dtype=np.int64))
        if rows_at + int(counts[-1].sum(dtype=np.int64)) * size != end:
            raise SliceError("this projection is cut off, or another blob's")
        names.append(data[at:rows_at])
        rows.append(data[rows_at:end])
    joined = np.frombuffer(b"".join(names), np.uint8)
    return joined, np.concatenate(lengths), np.concatenate(counts), b"".join(rows)


def _values(one: Stored, numbers: Array) -> Values:
    if one.code == FRACTION:
        gaps = np.isnan(numbers)
        found = np.where(gaps, 0.0, numbers)
    else:
        gaps = numbers == 0 if one.has_gaps else np.zeros(len(numbers), bool)
        found = np.where(gaps, 0, numbers.astype(np.int64) + one.shift)
    return Values(found, gaps if gaps.any() else None)
