"""From what a pipeline counted in a batch, as an Arrow table, to rows by partition and slice. Pure.

Rules: what cannot be kept is refused by the name of its column, with what to write instead; it is
the user's code that is to be changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.slices.shape import KEY_BYTES, LEAST, MOST, Column, Shape, SliceError
from tidegate.spark.contents import Array, Contents, Values, made

PARTITION = "partition"
SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Arrived:
    """What a batch has for a slice, and the sequence number of the last event in it."""

    end: int
    contents: Contents


def arrived(
    table: Any,
    shape: Shape,
    slice_column: str,
    turns: Mapping[str, tuple[int, int]],
    lost: Collection[str] = (),
) -> dict[str, dict[int, Arrived]]:
    """By partition and start. `turns`: from behind which event to which a partition was read;
    `lost`: partitions that were given to others meanwhile, of which nothing counts here.

    Raises SliceError.
    """
    _check_names(table, (PARTITION, slice_column, SEQUENCE, *shape.names))
    if lost:
        table = table.filter(pc.invert(pc.is_in(_texts(table, PARTITION), pa.array(sorted(lost)))))
    if not table.num_rows:
        return {}
    table = table.combine_chunks()
    partitions = pc.dictionary_encode(_texts(table, PARTITION)).combine_chunks()
    names = partitions.dictionary.to_pylist()
    whose = partitions.indices.to_numpy(zero_copy_only=False)
    starts = _starts(table, slice_column, shape.size_s)
    sequences = _whole_numbers(table, SEQUENCE)
    _check_turns(names, whose, sequences, turns)
    # In the order of the partition, because of last values.
    order = np.lexsort((sequences, starts, whose))
    whose, starts, sequences = whose[order], starts[order], sequences[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (whose[1:] != whose[:-1]) | (starts[1:] != starts[:-1])
    edges = [*np.flatnonzero(is_first).tolist(), len(order)]
    keys = _keys(table, shape.key)[order]
    kinds = [_kinds(table, name) for name in shape.kinds]
    columns = [_values(table, column).taken(order) for column in shape.columns]
    found: dict[str, dict[int, Arrived]] = {}
    for begin, end in pairwise(edges):
        part = slice(begin, end)
        contents = made(
            shape,
            keys[part],
            [codes[order[part]] for codes, _ in kinds],
            [texts for _, texts in kinds],
            [_cut(values, part) for values in columns],
        )
        by_start = found.setdefault(names[whose[begin]], {})
        by_start[int(starts[begin])] = Arrived(int(sequences[end - 1]), contents)
    return found


def _check_names(table: Any, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in table.column_names]
    if not missing:
        return
    how = {
        PARTITION: "group by the column 'partition' as well",
        SEQUENCE: "add F.max('sequence').alias('sequence') to what is aggregated",
    }
    raise SliceError(
        f"write_slices: the frame has no column '{missing[0]}', it has "
        f"{', '.join(table.column_names)}: {how.get(missing[0], 'name one that it has')}"
    )


def _check_turns(
    names: Sequence[str], whose: Array, sequences: Array, turns: Mapping[str, tuple[int, int]]
) -> None:
    for at, name in enumerate(names):
        if name not in turns:
            raise SliceError(
                f"write_slices: partition '{name}' is none of this batch's ({', '.join(turns)}): "
                "write what was counted in the frame that the pipeline was given"
            )
        after, to = turns[name]
        mine = sequences[whose == at]
        if mine.min() <= after or mine.max() > to:
            raise SliceError(
                f"write_slices: partition {name} was read from behind event {after} to {to}, and "
                f"column '{SEQUENCE}' says {mine.min()} to {mine.max()}: it is to be the highest "
                "sequence number of the events of a row"
            )


def _column(table: Any, name: str) -> Any:
    column = table.column(name)
    if column.null_count:
        raise SliceError(
            f"write_slices: column '{name}' is null in {column.null_count} rows: filter them out"
        )
    return column


def _texts(table: Any, name: str) -> Any:
    column = _column(table, name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise SliceError(
            f"write_slices: column '{name}' is {column.type}: cast it to string, as all keys are"
        )
    return column


def _whole_numbers(table: Any, name: str) -> Array:
    column = _column(table, name)
    if not pa.types.is_integer(column.type):
        raise SliceError(f"write_slices: column '{name}' is {column.type}: make it a bigint")
    return column.to_numpy().astype(np.int64, copy=False)


def _starts(table: Any, name: str, size_s: int) -> Array:
    column = _column(table, name)
    if pa.types.is_timestamp(column.type):
        ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_numpy()
        starts, rest = np.divmod(ticks, 1_000_000)
    elif pa.types.is_integer(column.type):
        starts = column.to_numpy().astype(np.int64)
        rest = np.zeros(1, np.int64)
    else:
        raise SliceError(
            f"write_slices: column '{name}' is {column.type}: write a timestamp, such as "
            "F.date_trunc('minute', …), or seconds since 1970"
        )
    if rest.any() or (starts % size_s).any() or (starts < 0).any():
        raise SliceError(
            f"write_slices: column '{name}' is not the start of a slice of {size_s} s in every row"
        )
    return starts


def _keys(table: Any, name: str) -> Array:
    texts = _texts(table, name).cast(pa.binary()).to_pylist()
    if b"\0" in b"".join(texts):
        raise SliceError(f"write_slices: a text of column '{name}' has a character NUL in it")
    longest = max(texts, key=len)
    if len(longest) > KEY_BYTES:
        raise SliceError(
            f"write_slices: column '{name}': {longest[:40]!r}… has more than {KEY_BYTES} bytes"
        )
    return np.array(texts)


def _kinds(table: Any, name: str) -> tuple[Array, list[str]]:
    """The number of each row's text, and the texts, sorted."""
    encoded = pc.dictionary_encode(_texts(table, name)).combine_chunks()
    texts = encoded.dictionary.to_pylist()
    if "\0" in "".join(texts):
        raise SliceError(f"write_slices: a text of column '{name}' has a character NUL in it")
    ranks = {text: rank for rank, text in enumerate(sorted(texts))}
    ranked = np.array([ranks[text] for text in texts], np.int64)
    return ranked[encoded.indices.to_numpy(zero_copy_only=False)], list(ranks)


def _values(table: Any, column: Column) -> Values:
    found = table.column(column.name)
    kind = found.type
    is_whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    if not (is_whole or (column.is_fraction and pa.types.is_floating(kind))):
        raise SliceError(f"write_slices: column '{column.name}' is {kind}: {_remedy(column, kind)}")
    wanted = pa.float64() if column.is_fraction else pa.int64()
    if found.null_count or column.is_fraction:
        gaps = found.is_null(nan_is_null=True).to_numpy()
        found = pc.fill_null(found.cast(wanted), 0)
    else:
        gaps = None
    numbers = found.cast(wanted).to_numpy()
    if gaps is not None:
        numbers = np.where(gaps, 0, numbers)
        gaps = gaps if gaps.any() else None
    if not column.is_fraction and (numbers.min() < LEAST or numbers.max() > MOST):
        raise SliceError(f"write_slices: column '{column.name}' has more than can be kept")
    return Values(numbers, gaps)


def _remedy(column: Column, kind: Any) -> str:
    if pa.types.is_floating(kind) and column.how == "sum":
        return (
            "a sum of fractions depends on the order in which they are added up, and a replay "
            "would leave other bytes. Sum whole numbers, such as thousandths"
        )
    if pa.types.is_floating(kind):
        return f"add fractions=['{column.name}'] to keep fractions, or cast it to bigint"
    return "cast it to bigint, or to double and name it in fractions"


def _cut(values: Values, part: slice) -> Values:
    gaps = None if values.gaps is None else values.gaps[part]
    return Values(values.numbers[part], gaps if gaps is not None and gaps.any() else None)
