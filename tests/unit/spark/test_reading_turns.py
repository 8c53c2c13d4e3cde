"""How far a turn was read: what is over, what is lost, and what can never come."""

from __future__ import annotations

import pytest

from tidegate.model import BEGINNING, PartitionEnd, Position
from tidegate.ports import SourceError
from tidegate.spark.positions import Turn
from tidegate.spark.reading_turns import Progress


def turn(after: int = 99, to: int = 199) -> Turn:
    return Turn("3", 5, Position(str(after), after) if after >= 0 else BEGINNING, to)


def end(sequence: int, *, is_empty: bool = False) -> PartitionEnd:
    return PartitionEnd(sequence, str(sequence), None if is_empty else 1.0, 2.0)


def took(progress: Progress, first: int, last: int) -> None:
    progress.took(first, Position(str(last), last), 1.0, last - first + 1, 10)


def test_a_turn_is_over_with_its_last_event() -> None:
    progress = Progress.of(turn())
    took(progress, 100, 150)
    is_over = [progress.is_over]
    took(progress, 151, 199)
    assert [*is_over, progress.is_over] == [False, True]
    assert (progress.events, progress.lost, progress.bytes) == (100, 0, 20)
    assert progress.at == Position("199", 199)


def test_what_retention_took_before_an_event_is_lost() -> None:
    progress = Progress.of(turn())
    took(progress, 120, 199)
    assert (progress.events, progress.lost) == (80, 20)


def test_nothing_is_lost_before_the_first_event_of_a_stream() -> None:
    progress = Progress.of(turn(after=-1))
    took(progress, 120, 199)
    assert progress.lost == 0


def test_what_is_not_read_past_is_not_lost_yet() -> None:
    progress = Progress.of(turn())
    progress.heard(500, end(600))
    assert progress.is_over
    assert (progress.events, progress.lost) == (0, 0)
    assert progress.at == Position("99", 99)


def test_a_turn_whose_next_event_is_behind_it_is_passed_to_its_end() -> None:
    progress = Progress.of(turn())
    progress.passed()
    assert progress.is_over
    # What comes next is found by the offset of what was read last.
    assert progress.at == Position("99", 199)
    assert (progress.events, progress.lost) == (0, 100)
    begun = Progress.of(turn(after=-1))
    begun.passed()
    assert (begun.at, begun.lost) == (Position("-1", 199), 0)


def test_events_that_are_still_there_are_waited_for() -> None:
    progress = Progress.of(turn())
    progress.heard(150, end(600))
    assert not progress.is_over


def test_an_emptied_partition_ends_its_turn() -> None:
    progress = Progress.of(turn())
    progress.heard(100, end(199, is_empty=True))
    assert progress.is_over


def test_a_hub_that_never_had_these_events_is_named() -> None:
    with pytest.raises(SourceError, match=r"up to 199.*that 7 is its last") as caught:
        Progress.of(turn()).heard(0, end(7))
    assert caught.value.is_fatal


def test_events_that_come_again_are_refused() -> None:
    progress = Progress.of(turn())
    took(progress, 100, 150)
    progress.check(151)
    with pytest.raises(SourceError, match="event 150 came after 150"):
        progress.check(150)
