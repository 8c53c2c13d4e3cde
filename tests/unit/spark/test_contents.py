"""Contents in arrays are those in plain Python: the same rows, the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.slice_rows import SHAPE, Counted, counted_rows, plain
from tidegate.slices.naming import Version

np = pytest.importorskip("numpy", reason="numpy comes with the layer `spark`")

from tidegate.spark.contents import Contents, Values, empty, made  # noqa: E402
from tidegate.spark.projecting import decoded, encoded  # noqa: E402

VERSION = Version("3", 1_769_900_340, 4711)


def arrays(rows: Sequence[Counted]) -> Contents:
    """Rows as a frame brings them."""
    if not rows:
        return empty(SHAPE)
    kinds = [sorted({row.place[at] for row in rows} | {"unused"}) for at in (1, 2)]
    columns = []
    for at, column in enumerate(SHAPE.columns):
        values = [row.values[at] for row in rows]
        gaps = np.array([value is None for value in values])
        numbers = np.array(
            [0 if value is None else value for value in values],
            np.float64 if column.is_fraction else np.int64,
        )
        columns.append(Values(numbers, gaps if gaps.any() else None))
    return made(
        SHAPE,
        np.array([row.place[0].encode() for row in rows]),
        [np.array([kinds[at].index(row.place[at + 1]) for row in rows]) for at in (0, 1)],
        kinds,
        columns,
    )


ZERO = (1, 0, None, None, 0, None)
NOTHING_LAST = (1, 0, None, None, None, None)


@settings(deadline=None)
@given(counted_rows(), st.lists(st.integers(0, 200), max_size=5))
# A gap that a value fills, beside a row that is new.
@example(
    [
        Counted(("0", "", ""), ZERO),
        Counted(("0", "", ""), NOTHING_LAST),
        Counted(("", "", ""), ZERO),
    ],
    [1],
)
def test_rows_merged_in_any_portions_have_the_bytes_of_plain_python(
    rows: list[Counted], cuts: list[int]
) -> None:
    contents = empty(SHAPE)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for begin, end in pairwise(edges):
        contents = contents.merged(arrays(rows[begin:end])) if begin < end else contents
    assert encoded(contents, VERSION) == plain(rows).encoded(VERSION)


@settings(deadline=None)
@given(counted_rows(), counted_rows(60))
def test_what_is_read_from_a_blob_goes_on_as_if_it_had_never_left(
    rows: list[Counted], more: list[Counted]
) -> None:
    stored, version = decoded(encoded(arrays(rows), VERSION))
    assert version == VERSION
    assert encoded(stored, VERSION) == encoded(arrays(rows), VERSION)
    assert encoded(stored.merged(arrays(more)), VERSION) == plain([*rows, *more]).encoded(VERSION)


@settings(deadline=None)
@given(counted_rows(), counted_rows(60))
def test_a_merge_changes_nothing_of_what_was_there(
    rows: list[Counted], more: list[Counted]
) -> None:
    contents = arrays(rows)
    before = encoded(contents, VERSION)
    contents.merged(arrays(more))
    assert encoded(contents, VERSION) == before
