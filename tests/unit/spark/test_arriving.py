"""What a pipeline counted, sorted out; what cannot be kept is refused by its column."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.slices.naming import Version
from tidegate.slices.plain import plain_from
from tidegate.slices.shape import Shape, SliceError

pa = pytest.importorskip("pyarrow", reason="pyarrow comes with the layer `spark`")

from tidegate.spark.arriving import arrived  # noqa: E402
from tidegate.spark.projecting import encoded  # noqa: E402

SHAPE = Shape("home", ("kind",), sums=("count",), last=("warmth",), fractions=("warmth",)).checked()
START = 1_769_900_340
TURNS = {"0": (9, 30), "1": (-1, 50)}


def frame(**other: Any) -> Any:
    columns = {
        "partition": ["0", "1", "0", "0"],
        "minute": pa.array([START, START, START + 60, START], pa.int64()),
        "sequence": pa.array([12, 3, 20, 11], pa.int64()),
        "home": ["b", "c", "b", "b"],
        "kind": ["door", "door", "door", "door"],
        "count": pa.array([1, 2, 3, 4], pa.int64()),
        "warmth": [1.5, None, 2.5, 3.5],
    } | other
    return pa.table({name: column for name, column in columns.items() if column is not None})


def rows(found: Any) -> Any:
    contents = plain_from(encoded(found.contents, Version("0", START, found.end)))
    return list(contents.rows())


def test_rows_go_to_their_partition_and_slice_and_the_highest_number_is_the_end() -> None:
    found = arrived(frame(), SHAPE, "minute", TURNS)
    assert {name: sorted(slices) for name, slices in found.items()} == {
        "0": [START, START + 60],
        "1": [START],
    }
    first = found["0"][START]
    assert first.end == 12
    # Two rows of one place become one; the last is the one of the higher number.
    assert rows(first) == [(("b", "door"), (5, 1.5))]
    assert rows(found["1"][START]) == [(("c", "door"), (2, None))]


def test_a_slice_may_be_said_as_a_timestamp() -> None:
    moment = datetime.fromtimestamp(START, UTC)
    found = arrived(frame(minute=[moment] * 4), SHAPE, "minute", TURNS)
    assert list(found["0"]) == [START]


def test_a_frame_without_rows_has_nothing() -> None:
    assert arrived(frame().slice(0, 0), SHAPE, "minute", TURNS) == {}


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("sequence", None, "F.max('sequence')"),
        ("partition", None, "group by the column 'partition'"),
        ("count", None, "no column 'count'"),
        ("home", ["a", None, "b", "c"], "'home' is null in 1 rows: filter them out"),
        ("home", [1, 2, 3, 4], "'home' is int64: cast it to string"),
        ("home", ["a\0", "b", "c", "d"], "character NUL"),
        ("home", ["é" * 128, "b", "c", "d"], "more than 255 bytes"),
        ("kind", ["a\0", "b", "c", "d"], "character NUL"),
        ("minute", [START + 1] * 4, "not the start of a slice of 60 s"),
        ("minute", ["x"] * 4, "date_trunc"),
        ("count", [0.5] * 4, "thousandths"),
        ("count", ["1"] * 4, "cast it to bigint"),
        ("count", [1 << 62] * 4, "more than can be kept"),
        ("partition", ["0", "7", "0", "0"], "partition '7' is none of this batch's"),
        ("sequence", [12, 3, 31, 11], "read from behind event 9 to 30"),
        ("sequence", [9, 3, 20, 11], "read from behind event 9 to 30"),
        ("sequence", [1.0] * 4, "make it a bigint"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_its_column(column: str, values: Any, said: str) -> None:
    with pytest.raises(SliceError) as error:
        arrived(frame(**{column: values}), SHAPE, "minute", TURNS)
    assert said in str(error.value)


def test_fractions_are_kept_only_where_that_is_said() -> None:
    shape = Shape("home", ("kind",), sums=("count",), last=("warmth",)).checked()
    with pytest.raises(SliceError, match=r"fractions=\['warmth'\]"):
        arrived(frame(), shape, "minute", TURNS)
