"""A stream that ends somewhere waits for what is ours to read, and for nothing else."""

from __future__ import annotations

from dataclasses import replace

from tidegate.model import (
    NO_ROSTER,
    Checkpoint,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    PartitionEnd,
    PartitionId,
    Position,
)
from tidegate.spark.waiting import lags, waiting

OURS = frozenset({"driver-x1"})
UNTIL = {"0": 9}


def listing(owner: str | None, handled: int | None = None) -> Listing:
    state = LeaseState.LEASED if owner else LeaseState.AVAILABLE
    row = Ownership("0", "e", state, Owner(owner) if owner else None, 1, "n", 0.0)
    found: dict[PartitionId, Checkpoint] = {}
    if handled is not None:
        found["0"] = Checkpoint("0", "e", Position("x", handled), 1, "n")
    return Listing({"0": row}, found, {}, None, 0.0)


def end(sequence: int, begins_at: int = 0) -> PartitionEnd:
    return PartitionEnd(sequence, "x", 1.0, 1.0, begins_at)


def test_what_we_hold_is_waited_for_until_it_is_read() -> None:
    assert waiting(UNTIL, {"0": Position("x", 8)}, {}, None, OURS) == {"0"}
    assert not waiting(UNTIL, {"0": Position("x", 9)}, {}, None, OURS)
    assert not waiting({"0": -1}, {"0": Position()}, {}, None, OURS)


def test_what_nobody_holds_is_on_its_way_to_us() -> None:
    assert waiting(UNTIL, {}, {}, None, OURS)
    assert waiting(UNTIL, {}, {}, listing(None), OURS)
    assert waiting(UNTIL, {}, {}, listing(None, 8), OURS)
    assert not waiting(UNTIL, {}, {}, listing(None, 9), OURS)
    assert waiting(UNTIL, {}, {}, listing("driver-x1", 8), OURS)


def test_what_another_member_holds_or_what_is_paused_is_not_waited_for() -> None:
    assert not waiting(UNTIL, {}, {}, listing("pod", 2), OURS)
    free = listing(None)
    for roster in (replace(NO_ROSTER, is_paused=True), replace(NO_ROSTER, paused=frozenset("0"))):
        assert not waiting(UNTIL, {}, {}, replace(free, roster=roster), OURS)


def test_what_retention_took_is_not_waited_for() -> None:
    held = {"0": Position("x", 2)}
    assert waiting(UNTIL, held, {"0": end(20, 9)}, None, OURS)
    assert not waiting(UNTIL, held, {"0": end(20, 10)}, None, OURS)


def test_the_lag_is_what_is_left_of_what_is_held() -> None:
    held = {"0": Position("x", 4), "1": Position("x", 4), "2": Position("x", 4)}
    assert lags(held, {"0": end(9), "1": end(9, 8), "7": end(100)}) == {"0": 5, "1": 2}
