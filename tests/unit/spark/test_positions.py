"""What a micro-batch reads goes to Spark and back unchanged; what is none of it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.model import BEGINNING, Position
from tidegate.spark.positions import (
    Batch,
    NotAnOffsetError,
    Turn,
    TurnRead,
    batch_from,
    batch_of,
    offset_of,
    read_from,
)

TURNS = (
    Turn("0", 5, Position("4096", 99), 230, "home-x1"),
    Turn("11", 7, BEGINNING, 0, "home-x2"),
)
GOOD: dict[str, Any] = {"epoch": 5, "offset": "4096", "after": 99, "to": 230, "member": "m"}


def test_a_batch_is_the_same_after_spark_kept_it() -> None:
    batch = batch_of(TURNS, 17)
    kept = json.loads(json.dumps(offset_of(batch)))
    assert batch_from(kept) == batch
    assert kept["turns"]["0"] == {
        **{"epoch": 5, "offset": "4096", "after": 99, "to": 230},
        "member": "home-x1",
    }
    assert TURNS[0].events == 131
    assert TURNS[1].events == 1


def test_the_offset_before_the_first_batch_has_no_turns() -> None:
    assert batch_from({}) == Batch(0)


@pytest.mark.parametrize(
    "offset",
    [
        *({"sequence": 7}, "7", [1], {"batch": 1, "turns": []}, {"batch": 1, "turns": {"0": 7}}),
        *({"batch": "1", "turns": {}}, {"batch": True, "turns": {}}),
        *({"batch": 1, "turns": {"0": GOOD | more}} for more in (
            {"to": 99}, {"after": -2}, {"offset": 4096}, {"epoch": None}, {"to": 2.5},
        )),
    ],
)  # fmt: skip
def test_what_is_no_offset_of_ours_is_refused_in_words(offset: Any) -> None:
    with pytest.raises(NotAnOffsetError, match="give the query a new one"):
        batch_from(offset)


def test_a_report_is_the_same_on_the_other_side() -> None:
    read = TurnRead(17, "0", 5, "8192", 230, 1.5, 131, 9_000, 0.2, 3, 1)
    assert read_from(json.loads(json.dumps(read.as_dict()))) == read
    assert read.position == Position("8192", 230)


@pytest.mark.parametrize(
    "more",
    [
        *({"events": -1}, {"seconds": float("nan")}, {"partition": 0}, {"offset": None}),
        *({"sequence": "230"}, {"enqueued_at": "now"}, {"lost": -1}),
    ],
)
def test_a_report_that_cannot_be_is_refused(more: dict[str, Any]) -> None:
    good = TurnRead(17, "0", 5, "8192", 230).as_dict()
    with pytest.raises(NotAnOffsetError, match="cannot be used"):
        read_from(good | more)
