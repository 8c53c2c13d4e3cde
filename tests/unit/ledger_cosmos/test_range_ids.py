"""Ids of ranges: what was split is known by its parts, and of a merge nothing is guessed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tidegate.ledger.cosmos.range_ids import RangeIds
from tidegate.sources.cosmos.ranges import WHOLE, FeedRange

LOW, HIGH = FeedRange("", "7F"), FeedRange("7F", "FF")


def row(id: str, range: FeedRange, *parents: str) -> dict[str, Any]:
    return {
        "id": id,
        "minInclusive": range.low,
        "maxExclusive": range.high,
        "parents": list(parents),
    }


def known(*rows: dict[str, Any]) -> RangeIds:
    ids = RangeIds()
    ids.learn(rows)
    return ids


def test_a_range_that_was_split_is_known_by_its_parts() -> None:
    quarters = FeedRange("", "3F"), FeedRange("3F", "7F")
    ids = known(
        row("3", quarters[0], "0", "1"), row("4", quarters[1], "0", "1"), row("2", HIGH, "0")
    )
    assert (ids.range("0"), ids.range("1")) == (WHOLE, LOW)
    assert (ids.id(WHOLE), ids.id(LOW), ids.id(HIGH)) == ("0", "1", "2")
    assert (ids.has_now("0"), ids.has_now("2")) == (False, True)


def test_of_what_was_merged_nothing_is_concluded_and_what_was_seen_stays_known() -> None:
    merged = row("3", WHOLE, "0", "1", "2")
    ids = known(merged)
    assert (ids.range("1"), ids.range("0"), ids.id(WHOLE)) == (None, None, "3")
    seen = known(row("1", LOW, "0"), row("2", HIGH, "0"))
    seen.learn([merged])
    assert (seen.range("1"), seen.range("0")) == (LOW, WHOLE)
    assert seen.id(WHOLE) == "3", "the one that is there"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 15), st.integers(0, 15)), max_size=24))
def test_what_is_known_of_an_id_is_true_whatever_was_split_and_merged(
    steps: list[tuple[bool, int, int]],
) -> None:
    keys = [f"{number:02X}" for number in range(1, 0x40)]
    truth = {"0": FeedRange("", "40"), "1": FeedRange("40", "FF")}
    now = [row("0", truth["0"]), row("1", truth["1"])]
    for is_split, at, where in steps:
        first = now[at % len(now)]
        span, parents = truth[first["id"]], [*first["parents"], first["id"]]
        inner = [key for key in keys if span.low < key < span.high]
        beside = [each for each in now if each["minInclusive"] == span.high]
        made: list[FeedRange] = []
        if is_split and inner:
            middle = inner[where % len(inner)]
            made = [FeedRange(span.low, middle), FeedRange(middle, span.high)]
            gone = [first]
        elif not is_split and beside:
            made = [FeedRange(span.low, beside[0]["maxExclusive"])]
            parents += [*beside[0]["parents"], beside[0]["id"]]
            gone = [first, beside[0]]
        for each in made:
            truth[str(len(truth))] = each
            now.append(row(str(len(truth) - 1), each, *dict.fromkeys(parents)))
        if made:
            now = [each for each in now if each not in gone]
    ids = known(*now)
    assert {id: found for id in truth if (found := ids.range(id)) not in (None, truth[id])} == {}
