"""How far turns of a change feed read: tables for the odd cases, and random feeds for the rules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.delivery.policy import Policy
from tidegate.model import (
    Checkpoint,
    LeaseState,
    Listing,
    Owner,
    Ownership,
    PartitionEnd,
    PartitionId,
    Position,
)
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import FeedRange
from tidegate.spark.admission import Limit
from tidegate.spark.feed_bounds import FeedEnd, bounded, planned, range_ends, waiting_in_feeds
from tidegate.spark.positions import RangeEnd, Turn, batch_from, batch_of, offset_of
from tidegate.spark.turns import Place as Held
from tidegate.spark.turns import Turns

WHOLE, PARTITION = FeedRange("", "FF"), "-ff"
LOW, HIGH = FeedRange("", "80"), FeedRange("80", "FF")


def place(**lsns: int) -> Position:
    """Of one feed, or of a low and a high one."""
    ranges = {"whole": WHOLE, "low": LOW, "high": HIGH}
    feeds = [Feed(ranges[name], f'"{lsn}"', lsn) for name, lsn in lsns.items()]
    return Place("rid", tuple(feeds)).position


def end(*ends: tuple[FeedRange, int, int]) -> FeedEnd:
    return FeedEnd(0, "", None, 0.0, ends=tuple(RangeEnd(r.id, b, e) for r, b, e in ends))


def turn(at: Position, seen: FeedEnd, events: int) -> Turn:
    return Turn(PARTITION, 1, at, at.sequence + events, ends=range_ends(seen))


def bounds(at: Position, seen: FeedEnd, events: int) -> list[int]:
    return [each.bound for each in bounded(turn(at, seen, events))[1]]


def test_one_feed_takes_as_many_as_it_is_given_and_never_more_than_there_were() -> None:
    seen = end((WHOLE, 10, 50))
    assert bounds(place(whole=10), seen, 15) == [25]
    assert bounds(place(whole=10), seen, 400) == [50]


def test_feeds_of_different_numbers_are_each_bound_by_their_own() -> None:
    seen = end((LOW, 1000, 1100), (HIGH, 20, 30))
    at = place(low=1000, high=20)
    assert planned(PARTITION, at, seen).sequence == 20 + 110
    assert bounds(at, seen, 110) == [1100, 30]
    # What is not enough for both goes to the first: its own numbers say nothing of the other's.
    assert bounds(at, seen, 60) == [1060, 20]
    assert bounds(at, seen, 105) == [1100, 25]


def test_numbers_in_which_nothing_waits_use_up_no_limit() -> None:
    seen = end((LOW, 900, 950), (HIGH, 500, 510))
    at = place(low=-1, high=-1)
    found = planned(PARTITION, at, seen)
    waits = found.sequence - (found.begins_at or 0) + 1
    assert waits == 60
    assert bounds(at, found, (found.begins_at or 0) - at.sequence - 1) == [900, 500]
    assert bounds(at, found, (found.begins_at or 0) - at.sequence - 1 + 30) == [930, 500]


@pytest.mark.parametrize(
    ("at", "seen", "expected"),
    [
        # Asked before the split: no half is read beyond what the whole had.
        (place(low=10, high=10), end((WHOLE, 10, 30)), [30, 30]),
        # Asked before the merge: what is sure of both.
        (place(whole=10), end((LOW, 10, 90), (HIGH, 10, 40)), [40]),
        # Nobody asked of the upper keys.
        (place(low=10, high=10), end((LOW, 10, 30)), [30, 10]),
        (place(whole=10), end((LOW, 10, 30)), [10]),
        # An old answer of what is handled by now.
        (place(whole=60), end((WHOLE, 10, 30)), [60]),
    ],
)
def test_what_is_not_sure_is_taken_to_be_less(
    at: Position, seen: FeedEnd, expected: list[int]
) -> None:
    assert bounds(at, seen, 1_000) == expected


def test_a_stream_that_ends_stops_in_each_range_where_that_was_when_it_began() -> None:
    seen = end((LOW, 10, 100), (HIGH, 10, 100))
    at = place(low=10, high=10)
    found = planned(PARTITION, at, seen, {LOW.id: 40, HIGH.id: 15})
    assert bounds(at, found, 1_000) == [40, 15]
    # Ranges that were one then, and two that became one.
    assert bounds(at, planned(PARTITION, at, seen, {WHOLE.id: 40}), 1_000) == [40, 40]
    whole = place(whole=10)
    until = {LOW.id: 40, HIGH.id: 15}
    assert bounds(whole, planned(PARTITION, whole, end((WHOLE, 10, 99)), until), 1_000) == [40]


def test_a_turn_of_a_feed_is_the_same_after_spark_has_kept_it() -> None:
    seen = end((LOW, 900, 950), (HIGH, 500, 510))
    made = turn(place(low=-1, high=-1), seen, 12)
    assert batch_from(offset_of(batch_of([made], 3))).turns == {PARTITION: made}


feeds = st.tuples(st.integers(-1, 60), st.integers(0, 40), st.integers(0, 60))


@given(low=feeds, high=feeds, most=st.integers(1, 50))
def test_turns_come_to_the_end_of_every_feed_and_never_stand_still(
    low: tuple[int, int, int], high: tuple[int, int, int], most: int
) -> None:
    """(place, numbers without changes, numbers with changes) of two feeds of one partition."""
    ends = [(LOW, low[0] + low[1], sum(low)), (HIGH, high[0] + high[1], sum(high))]
    seen, at = end(*ends), place(low=low[0], high=high[0])
    turns = Turns(Policy())
    for _ in range(200):
        held = Held(PARTITION, 4, at)
        batch = turns.plan(
            {PARTITION: held}, {PARTITION: planned(PARTITION, at, seen)}, Limit(most), 0.0
        )
        if batch is None:
            break
        made = batch.turns[PARTITION]
        whole, found = bounded(made)
        taken = [
            each.bound - max(each.feed.lsn, b) for each, (_, b, _) in zip(found, ends, strict=True)
        ]
        assert sum(max(each, 0) for each in taken) <= most
        assert any(each.bound > each.feed.lsn for each in found)
        moved = replace(whole, feeds=tuple(replace(each.feed, lsn=each.bound) for each in found))
        assert made.after.sequence <= moved.lsn <= made.to
        at = moved.position
    else:
        raise AssertionError("the turns came to no end")
    stands = [each.feed.lsn for each in bounded(turn(at, seen, 0))[1]]
    for lsn, (_, base, last) in zip(stands, ends, strict=True):
        assert last in (base, lsn), "all that waited was read"


# --- a stream that is to end


def listing(
    checkpoints: dict[PartitionId, Position], owners: dict[PartitionId, str] | None = None
) -> Listing:
    return Listing(
        {
            id: Ownership(id, "", LeaseState.LEASED, Owner(name), 1, "", 0.0)
            for id, name in (owners or {}).items()
        },
        {id: Checkpoint(id, "", position, 1, "") for id, position in checkpoints.items()},
        {},
        None,
        0.0,
    )


def waiting(
    until: dict[PartitionId, int],
    found: Listing,
    held: dict[PartitionId, PartitionEnd] | None = None,
    positions: dict[PartitionId, Position] | None = None,
) -> set[PartitionId]:
    return set(waiting_in_feeds(until, held or {}, positions or {}, found, {"ours"}, FeedRanges()))


def test_what_is_still_to_come_is_waited_for_by_its_range_and_not_by_its_name() -> None:
    until = {"-ff": 40}
    ended = Place("rid", (Feed(WHOLE, '"20"', 20),), into=("-80", "80-ff")).position
    halves = {"-80", "80-ff"}
    assert waiting(until, listing({})) == {"-ff"}, "nobody has begun it"
    assert waiting(until, listing({"-ff": ended})) == halves, "both are on their way"
    assert waiting(until, listing({"-ff": ended}, {"-80": "other"})) == {"80-ff"}
    assert waiting(until, listing({"-ff": place(whole=39)})) == {"-ff"}
    assert waiting(until, listing({"-ff": place(whole=40)})) == set()


def test_what_we_hold_is_waited_for_while_it_has_changes_up_to_there() -> None:
    at, seen = place(whole=10), end((WHOLE, 10, 99))
    there = listing({PARTITION: at}, {PARTITION: "ours"})

    def of(until: int, seen: FeedEnd) -> set[PartitionId]:
        held = {PARTITION: planned(PARTITION, at, seen, {PARTITION: until})}
        return waiting({PARTITION: until}, there, dict(held), {PARTITION: at})

    assert of(40, seen) == {PARTITION}
    # Numbers that no change has are not waited for.
    assert of(40, end((WHOLE, 60, 99))) == set()
    assert of(40, end((WHOLE, 10, 10))) == set()
