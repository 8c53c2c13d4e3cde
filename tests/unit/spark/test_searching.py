"""Turns that failed are tried again, told apart, halved, put aside: as the policy says."""

from __future__ import annotations

from dataclasses import replace

from tidegate.delivery.policy import Backoff, OnFailure, Policy
from tidegate.model import BEGINNING, Position
from tidegate.spark import searching
from tidegate.spark.positions import Turn
from tidegate.spark.searching import NEVER, Fault, Suspect

RETRY = Policy(attempts=3, backoff=Backoff(1.0, 30.0))
ASIDE = replace(RETRY, on_failure=OnFailure.DEAD_LETTER)
HALT = replace(RETRY, on_failure=OnFailure.HALT)


def turn(partition: str, to: int, after: int = -1) -> Turn:
    return Turn(partition, 1, Position(str(after), after) if after >= 0 else BEGINNING, to)


def fault(now: float = 0.0, *, blames: bool = True) -> Fault:
    return Fault("no", now, dice=0.0, blames_events=blames)


def failing(policy: Policy, suspect: Suspect, times: int, *, blames: bool = True) -> Suspect:
    """The same one, after so many failures that split nothing."""
    for _ in range(times):
        (suspect,) = searching.failed(policy, suspect, fault(suspect.not_before, blames=blames))
    return suspect


def test_waits_double_up_to_the_longest() -> None:
    (suspect,) = searching.suspected(RETRY, (turn("0", 9),), fault(100.0))
    waits = []
    for _ in range(7):
        before = suspect.not_before
        (suspect,) = searching.failed(RETRY, suspect, fault(before))
        waits.append(suspect.not_before - before)
    assert waits == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert searching.suspected(RETRY, (), fault()) == ()


def test_partitions_are_told_apart_by_halves_and_at_once_after_the_attempts() -> None:
    turns = tuple(turn(name, 9) for name in "abcde")
    suspect = failing(RETRY, Suspect(turns), 2)
    left, right = searching.failed(RETRY, suspect, fault(50.0))
    assert "".join(sorted(left.partitions)) == "ab"
    assert "".join(sorted(right.partitions)) == "cde"
    assert left.not_before == right.not_before == 50.0
    c, de = searching.failed(RETRY, right, fault(60.0))
    assert "".join(sorted(c.partitions)) == "c"
    assert "".join(sorted(de.partitions)) == "de"


def test_without_a_place_for_dead_letters_a_range_stays_whole_and_is_tried_for_ever() -> None:
    suspect = failing(RETRY, Suspect((turn("0", 9),), is_split=True), 20)
    assert suspect.turns == (turn("0", 9),)
    assert suspect.not_before < NEVER


def test_a_range_is_halved_from_the_left_until_one_event_is_left() -> None:
    suspect = failing(ASIDE, Suspect((turn("0", 7),)), 2)
    (half,) = searching.failed(ASIDE, suspect, fault())
    assert (half.turns, half.then) == ((turn("0", 3),), (7,))
    (half,) = searching.failed(ASIDE, half, fault())
    assert (half.turns, half.then) == ((turn("0", 1),), (3, 7))
    (one,) = searching.failed(ASIDE, half, fault())
    assert (one.turns, one.then) == ((turn("0", 0),), (1, 3, 7))
    # It has all attempts of its own.
    one = failing(ASIDE, one, 2)
    assert not searching.is_for_aside(ASIDE, one)
    one = failing(ASIDE, one, 1)
    assert searching.is_for_aside(ASIDE, one)
    assert one.not_before == NEVER

    following = searching.passed(one, Position("o", 0))
    assert following is not None
    assert following.turns == (Turn("0", 1, Position("o", 0), 1),)
    assert following.then == (3, 7)
    # Where the partition stands further on already, its next range begins there.
    further = searching.passed(one, Position("o", 2))
    assert further is not None
    assert (further.turns[0].events, further.then) == (1, (7,))
    assert searching.passed(one, Position("o", 7)) is None


def test_what_is_no_fault_of_the_events_splits_nothing() -> None:
    turns = (turn("0", 9), turn("1", 9))
    suspect = failing(ASIDE, Suspect(turns), 20, blames=False)
    assert suspect.turns == turns
    assert suspect.failures == 0
    half = failing(ASIDE, Suspect(turns, is_split=True), 20, blames=False)
    assert half.turns == turns
    one = failing(ASIDE, Suspect((turn("0", 0),), is_split=True), 20, blames=False)
    assert not searching.is_for_aside(ASIDE, one)


def test_a_partition_stands_still_where_that_is_asked_for() -> None:
    suspect = failing(HALT, Suspect((turn("0", 9), turn("1", 9))), 2)
    first, _ = searching.failed(HALT, suspect, fault())
    assert not searching.is_halted(HALT, first)
    first = failing(HALT, first, 3)
    assert searching.is_halted(HALT, first)
    assert first.not_before == NEVER


def test_a_suspect_is_without_the_partitions_that_stand_elsewhere() -> None:
    suspect = Suspect((turn("0", 9), turn("1", 9, after=4), turn("2", 9)))
    positions = {"0": BEGINNING, "1": Position("x", 5)}
    left = searching.left_of(suspect, positions)
    assert left is not None
    assert left.partitions == {"0"}
    assert searching.left_of(suspect, {}) is None
    assert searching.left_of(left, positions) is left
