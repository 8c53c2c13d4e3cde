"""Which batch is read next and what becomes of it: one at a time, fair, nothing lost or twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tidegate.delivery.policy import Backoff, Policy
from tidegate.model import BEGINNING, PartitionEnd, Position
from tidegate.spark.admission import Limit
from tidegate.spark.positions import Batch, NotAnOffsetError, TurnRead
from tidegate.spark.searching import Fault
from tidegate.spark.turns import BatchError, Place, Turns, UnreadError

POLICY = Policy(backoff=Backoff(1.0, 30.0))
PLACES = {"0": Place("0", 5, Position("x", 9), "m"), "1": Place("1", 7, BEGINNING, "m")}
ENDS = {name: PartitionEnd(99, "y", 1.0, 1.0, 0) for name in "012"}
ALL = frozenset("01")


def planned(turns: Turns, now: float = 0.0, limit: Limit | None = None) -> Batch:
    batch = turns.plan(PLACES, ENDS, limit or Limit(), now)
    assert batch is not None
    return batch


def begun(turns: Turns, now: float = 0.0) -> Batch:
    return turns.begin(planned(turns, now), PLACES)


def read(batch: Batch, partition: str, **more: Any) -> TurnRead:
    turn = batch.turns[partition]
    whole = TurnRead(batch.number, partition, turn.epoch, "z", turn.to, 1.0, turn.events, 100)
    return replace(whole, **more)


def fault(now: float = 0.0) -> Fault:
    return Fault("no", now, 0.0)


def test_a_plan_has_what_waits_in_what_is_held_and_free() -> None:
    turns = Turns(POLICY)
    batch = planned(turns)
    assert {p: (t.epoch, t.after.sequence, t.to, t.member) for p, t in batch.turns.items()} == {
        "0": (5, 9, 99, "m"),
        "1": (7, -1, 99, "m"),
    }
    busy = {**PLACES, "0": replace(PLACES["0"], is_free=False)}
    found = turns.plan(busy, ENDS, Limit(), 0.0)
    assert found is not None
    assert set(found.turns) == {"1"}
    assert turns.plan(PLACES, {}, Limit(), 0.0) is None
    assert turns.plan({}, ENDS, Limit(), 0.0) is None


def test_what_retention_took_does_not_use_up_the_limit() -> None:
    ends = {"1": PartitionEnd(99, "y", 1.0, 1.0, 50)}
    batch = Turns(POLICY).plan(PLACES, ends, Limit(events=10), 0.0)
    assert batch is not None
    assert (batch.turns["1"].after, batch.turns["1"].to) == (BEGINNING, 59)


def test_a_budget_of_duplicates_leaves_room_for_so_many_events() -> None:
    places = {"0": replace(PLACES["0"], room=7), "1": replace(PLACES["1"], room=0)}
    batch = Turns(POLICY).plan(places, ENDS, Limit(), 0.0)
    assert batch is not None
    assert {p: t.events for p, t in batch.turns.items()} == {"0": 7}


def test_what_is_capped_ends_there_and_what_has_no_cap_is_left_out() -> None:
    batch = Turns(POLICY).plan(PLACES, ENDS, Limit(), 0.0, {"0": 20, "2": 99})
    assert batch is not None
    assert {p: t.to for p, t in batch.turns.items()} == {"0": 20}


def test_what_was_planned_binds_nobody() -> None:
    turns = Turns(POLICY)
    first, second = planned(turns), planned(turns)
    assert first.number != second.number
    with pytest.raises(BatchError, match="not under way"):
        turns.done(second.number, ALL)


def test_a_turn_begins_only_where_its_partition_is_held_and_stands_there() -> None:
    for places in (
        {"1": PLACES["1"]},
        {**PLACES, "0": replace(PLACES["0"], position=Position("x", 10))},
        {**PLACES, "0": replace(PLACES["0"], is_free=False)},
    ):
        turns = Turns(POLICY)
        assert set(turns.begin(planned(turns), places).turns) == {"1"}


def test_a_turn_is_read_under_the_epoch_that_its_partition_has_by_then() -> None:
    turns = Turns(POLICY)
    raised = {**PLACES, "0": replace(PLACES["0"], epoch=8)}
    assert turns.begin(planned(turns), raised).turns["0"].epoch == 8


def test_a_batch_of_an_earlier_life_has_a_number_of_its_own() -> None:
    kept = planned(Turns(POLICY))
    turns = Turns(POLICY)
    mine = planned(turns)
    assert mine.number == kept.number
    kept = Batch(kept.number, {"0": kept.turns["0"]})
    batch = turns.begin(kept, PLACES)
    assert batch.number != kept.number
    assert set(batch.turns) == {"0"}


def test_a_batch_is_done_once_every_turn_of_it_was_read() -> None:
    turns = Turns(POLICY)
    batch = begun(turns)
    turns.report(read(batch, "0"))
    with pytest.raises(UnreadError, match="nothing was read of partition 1"):
        turns.done(batch.number, ALL)
    turns.report(read(batch, "1"))
    turns.report(read(batch, "1", sequence=50, events=51))
    assert [each.sequence for each in turns.done(batch.number, ALL)] == [99, 50]
    # The answer may have been lost.
    assert turns.done(batch.number, ALL) == ()
    with pytest.raises(BatchError, match="not under way"):
        turns.failed(batch.number, ALL, fault())


def test_what_is_not_ours_any_more_is_neither_waited_for_nor_told() -> None:
    turns = Turns(POLICY)
    batch = begun(turns)
    turns.report(read(batch, "0"))
    turns.report(read(batch, "1"))
    assert [each.partition for each in turns.done(batch.number, {"1"})] == ["1"]


def test_reports_of_another_batch_or_epoch_do_not_count_and_what_cannot_be_is_refused() -> None:
    turns = Turns(POLICY)
    batch = begun(turns)
    turns.report(replace(read(batch, "0"), batch=batch.number + 1))
    turns.report(read(batch, "0", epoch=4))
    turns.report(replace(read(batch, "0"), partition="7"))
    with pytest.raises(UnreadError, match=r"partition 0, 1\."):
        turns.done(batch.number, ALL)
    for sequence in (8, 100):
        with pytest.raises(NotAnOffsetError, match="from 10 to 99"):
            turns.report(read(batch, "0", sequence=sequence))


def test_the_same_batch_begins_anew_without_what_is_not_ours_any_more() -> None:
    turns = Turns(POLICY)
    offered = planned(turns)
    batch = turns.begin(offered, PLACES)
    turns.report(read(batch, "0"))
    again = turns.begun_again(offered, {"0"})
    assert again == Batch(batch.number, {"0": batch.turns["0"]})
    with pytest.raises(UnreadError):
        turns.done(batch.number, {"0"})
    assert turns.begun_again(planned(turns), ALL) is None


def test_what_failed_waits_and_the_others_go_on() -> None:
    turns = Turns(POLICY)
    only = {"0": PLACES["0"]}
    first = turns.plan(only, ENDS, Limit(events=20), 0.0)
    assert first is not None
    turns.begin(first, only)
    turns.failed(first.number, ALL, fault(0.0))
    # It waits for a second; what comes meanwhile is another batch.
    other = planned(turns, 0.5)
    assert set(other.turns) == {"1"}
    turns.begin(other, PLACES)
    for partition in other.turns:
        turns.report(read(other, partition))
    turns.done(other.number, ALL)
    again = planned(turns, 1.0)
    assert {p: (t.after, t.to) for p, t in again.turns.items()} == {
        "0": (first.turns["0"].after, first.turns["0"].to)
    }
    turns.begin(again, PLACES)
    turns.report(read(again, "0"))
    turns.done(again.number, ALL)
    assert turns.suspects == ()


def test_suspects_and_the_others_take_turns() -> None:
    turns = Turns(replace(POLICY, backoff=Backoff(0.001, 0.001)))
    only, now = {"0": PLACES["0"]}, 0.0
    first = turns.plan(only, ENDS, Limit(), now)
    assert first is not None
    turns.begin(first, only)
    turns.failed(first.number, ALL, fault())
    seen = []
    for _ in range(6):
        now += 1.0
        batch = begun(turns, now)
        seen.append("".join(batch.turns))
        if "1" in batch.turns:
            turns.report(read(batch, "1"))
            turns.done(batch.number, ALL)
        else:
            turns.failed(batch.number, ALL, fault(now))
    assert seen == ["0", "1", "0", "1", "0", "1"]


def test_what_is_tried_again_is_forgotten_where_its_partition_has_moved_on() -> None:
    turns = Turns(POLICY)
    batch = begun(turns)
    turns.failed(batch.number, ALL, fault())
    moved = {"1": replace(PLACES["1"], position=Position("q", 42))}
    fresh = turns.plan(moved, ENDS, Limit(), 0.0)
    assert fresh is not None
    assert fresh.turns["1"].after.sequence == 42
    assert turns.suspects == ()
