"""What a slice holds, in arrays: many rows are merged and written in a few operations. Pure.

Rules:
- The same bytes as slices/plain.py for the same content, which a test draws.
- Nothing is changed in place: a batch that fails leaves what was before it.
- A row's place is its key, filled up with zeros to a width of eight bytes or more, and the numbers
  of its kinds, two bytes each, the high one first: so places sort as their texts do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.slices.shape import How, Shape, SliceError

Array = NDArray[Any]
Kinds = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Values:
    """A column: whole numbers or fractions, and where there are none."""

    numbers: Array
    gaps: Array | None = None  # None: every row has one

    def taken(self, at: Array) -> Values:
        return Values(self.numbers[at], None if self.gaps is None else self.gaps[at])


@dataclass(frozen=True, slots=True)
class Contents:
    """Rows of one slice of one partition: sorted, each place once."""

    shape: Shape
    width: int  # of a key within a place
    places: Array
    kinds: Kinds
    columns: tuple[Values, ...]

    def __len__(self) -> int:
        return len(self.places)

    def shaped(self, shape: Shape) -> Contents:
        """The same rows with the columns of another shape. Raises SliceError."""
        if shape == self.shape:
            return self
        shape.check_continues(self.shape)
        mine = dict(zip(self.shape.columns, self.columns, strict=True))
        none = np.ones(len(self), bool)
        columns = tuple(
            mine.get(column)
            or Values(np.zeros(len(self), np.float64 if column.is_fraction else np.int64), none)
            for column in shape.columns
        )
        return replace(self, shape=shape, columns=columns)

    def merged(self, later: Contents) -> Contents:
        """With rows that came after these."""
        if not len(self):
            return later
        old, new = _alike(self, later)
        at = np.searchsorted(old.places, new.places)
        at_most = np.minimum(at, len(old) - 1)
        is_known = old.places[at_most] == new.places
        known_at = at_most[is_known]
        columns = [
            _updated(column.how, mine, known_at, others.taken(is_known))
            for column, mine, others in zip(
                self.shape.columns, old.columns, new.columns, strict=True
            )
        ]
        unknown = np.flatnonzero(~is_known)
        if not len(unknown):
            return replace(old, columns=tuple(columns))
        # Where the new rows stand, and where the old ones, among all.
        total = len(old) + len(unknown)
        new_at = at[unknown] + np.arange(len(unknown))
        is_old = np.ones(total, bool)
        is_old[new_at] = False
        inserted = [
            _inserted(mine, others.taken(unknown), is_old, new_at)
            for mine, others in zip(columns, new.columns, strict=True)
        ]
        places = np.empty(total, old.places.dtype)
        places[is_old], places[new_at] = old.places, new.places[unknown]
        return replace(old, places=places, columns=tuple(inserted))


def empty(shape: Shape) -> Contents:
    """No rows."""
    none = tuple(Values(np.empty(0, np.int64)) for _ in shape.columns)
    return Contents(shape, 8, np.empty(0, "S16"), tuple(() for _ in shape.kinds), none)


def made(
    shape: Shape,
    keys: Array,
    codes: Sequence[Array],
    kinds: Sequence[Sequence[str]],
    columns: Sequence[Values],
) -> Contents:
    """Rows in the order in which they came; those of one place become one.

    `keys` are bytes filled up with zeros; `codes` are numbers of `kinds`, whose texts are sorted.
    """
    used: list[tuple[str, ...]] = []
    numbers: list[Array] = []
    for name, texts, found in zip(shape.kinds, kinds, codes, strict=True):
        there = np.flatnonzero(np.bincount(found, minlength=len(texts)))
        if len(there) > 1 << 16:
            raise SliceError(
                f"column '{name}': {len(there):,} different values in one slice are more than "
                f"{1 << 16:,}. What is so many is a key, not a kind."
            )
        used.append(tuple(texts[at] for at in there.tolist()))
        numbers.append(np.searchsorted(there, found))
    width = _width(keys.dtype.itemsize)
    places = _places(keys, width, numbers)
    order = np.argsort(places, kind="stable")
    places = places[order]
    sorted_columns = [column.taken(order) for column in columns]
    is_first = np.ones(len(places), bool)
    is_first[1:] = places[1:] != places[:-1]
    if not is_first.all():
        starts = np.flatnonzero(is_first)
        places = places[starts]
        sorted_columns = [
            _reduced(column.how, values, starts)
            for column, values in zip(shape.columns, sorted_columns, strict=True)
        ]
    return Contents(shape, width, places, tuple(used), tuple(sorted_columns))


# --- places


def _width(size: int) -> int:
    return max(8, (size + 7) // 8 * 8)


def _places(keys: Array, width: int, codes: Sequence[Array]) -> Array:
    front = _width(2 * len(codes)) if codes else 0
    raw = np.zeros((len(keys), width + front), np.uint8)
    given = np.ascontiguousarray(keys)
    raw[:, : given.dtype.itemsize] = given.view(np.uint8).reshape(len(keys), -1)
    for at, numbers in enumerate(codes):
        place = width + 2 * at
        raw[:, place : place + 2] = numbers.astype(">u2").view(np.uint8).reshape(len(keys), 2)
    return raw.view(f"S{raw.shape[1]}").ravel()


def raw_of(contents: Contents) -> Array:
    """The bytes of the places, a row each."""
    return contents.places.view(np.uint8).reshape(len(contents), -1)


def codes_of(contents: Contents, at: int) -> Array:
    """The numbers of a kind."""
    place = contents.width + 2 * at
    raw = np.ascontiguousarray(raw_of(contents)[:, place : place + 2])
    return raw.view(">u2").ravel().astype(np.int64)


def _alike(one: Contents, other: Contents) -> tuple[Contents, Contents]:
    """Both with the same width and the same numbers of kinds, so that places compare."""
    width = max(one.width, other.width)
    kinds = tuple(
        mine if mine == others else tuple(sorted({*mine, *others}))
        for mine, others in zip(one.kinds, other.kinds, strict=True)
    )
    return _with(one, width, kinds), _with(other, width, kinds)


def _with(contents: Contents, width: int, kinds: Kinds) -> Contents:
    if contents.width == width and contents.kinds == kinds:
        return contents
    codes = []
    for at, (mine, wanted) in enumerate(zip(contents.kinds, kinds, strict=True)):
        numbered = {text: number for number, text in enumerate(wanted)}
        there = np.array([numbered[text] for text in mine], np.int64)
        codes.append(there[codes_of(contents, at)])
    keys = np.ascontiguousarray(raw_of(contents)[:, : contents.width])
    places = _places(keys.view(f"S{contents.width}").ravel(), width, codes)
    return replace(contents, width=width, kinds=kinds, places=places)


# --- values


def _updated(how: How, mine: Values, at: Array, others: Values) -> Values:
    """The rows at `at` with what came later."""
    if not len(at):
        return mine
    joined = _joined(how, mine.taken(at), others)
    numbers = mine.numbers.copy()
    numbers[at] = joined.numbers
    if mine.gaps is None:
        return Values(numbers)
    gaps = mine.gaps.copy()
    gaps[at] = False if joined.gaps is None else joined.gaps
    return _checked(numbers, gaps)


def _joined(how: How, mine: Values, others: Values) -> Values:
    if how is How.SUM:
        numbers = mine.numbers + others.numbers  # where there is none, there is a 0
    elif how is How.LAST:
        numbers = others.numbers
    elif how is How.LEAST:
        numbers = np.minimum(mine.numbers, others.numbers)
    else:
        numbers = np.maximum(mine.numbers, others.numbers)
    if mine.gaps is None and others.gaps is None:
        return Values(numbers)
    no_mine, no_others = _gaps(mine), _gaps(others)
    if how is not How.SUM:
        numbers = np.where(no_others, mine.numbers, np.where(no_mine, others.numbers, numbers))
    return _checked(numbers, no_mine & no_others)


def _inserted(mine: Values, others: Values, is_old: Array, new_at: Array) -> Values:
    numbers = np.empty(len(is_old), mine.numbers.dtype)
    numbers[is_old], numbers[new_at] = mine.numbers, others.numbers
    if mine.gaps is None and others.gaps is None:
        return Values(numbers)
    gaps = np.empty(len(is_old), bool)
    gaps[is_old], gaps[new_at] = _gaps(mine), _gaps(others)
    # Gaps that are none would be other bytes for the same rows.
    return _checked(numbers, gaps)


def _reduced(how: How, values: Values, starts: Array) -> Values:
    """One value for each run of rows of one place, which begin at `starts`."""
    numbers, gaps = values.numbers, values.gaps
    if how is How.LAST:
        there = np.arange(len(numbers))
        if gaps is not None:
            there = np.where(gaps, -1, there)
        last = np.maximum.reduceat(there, starts)
        is_gap = last < starts
        return _checked(np.where(is_gap, 0, numbers[last]), is_gap)
    is_gap = np.zeros(len(starts), bool)
    if gaps is not None:
        is_gap = np.logical_and.reduceat(gaps, starts)
        numbers = np.where(gaps, _neutral(how, numbers.dtype), numbers)
    reduce = {How.SUM: np.add, How.LEAST: np.minimum, How.MOST: np.maximum}[how]
    return _checked(np.where(is_gap, 0, reduce.reduceat(numbers, starts)), is_gap)


def _neutral(how: How, dtype: Any) -> Any:
    if how is How.SUM:
        return 0
    if dtype.kind == "f":
        return np.inf if how is How.LEAST else -np.inf
    bounds = np.iinfo(dtype)
    return bounds.max if how is How.LEAST else bounds.min


def _gaps(values: Values) -> Array:
    return np.zeros(len(values.numbers), bool) if values.gaps is None else values.gaps


def _checked(numbers: Array, gaps: Array) -> Values:
    return Values(numbers, gaps if gaps.any() else None)
