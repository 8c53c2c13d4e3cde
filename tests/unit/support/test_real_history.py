"""The simulator's checkers find in a real run what they find in a simulated one."""

from __future__ import annotations

from support.handled_log import Given
from support.ledger_watch import Checkpoint
from support.real_history import judged

WELL = [
    Given(1.0, "a#1", "0", 1, 0, 9),
    Given(2.0, "a#1", "0", 1, 10, 19),
    Given(4.0, "b#2", "0", 2, 15, 24),
]
STORED = [Checkpoint(9, 1, 1.5), Checkpoint(14, 2, 3.0), Checkpoint(24, 2, 5.0)]


def names(batches: list[Given], stored: list[Checkpoint], events: int = 25) -> list[str]:
    return [found.checker for found in judged(batches, {"0": stored}, {"0": events})]


def test_a_run_that_keeps_the_properties_is_well() -> None:
    assert names(WELL, STORED) == []


def test_an_epoch_of_two_members_is_found() -> None:
    assert names([*WELL, Given(6.0, "a#3", "0", 2, 25, 29)], STORED, 30) == ["P1"]


def test_a_checkpoint_of_an_older_epoch_is_found() -> None:
    assert names(WELL, [*STORED, Checkpoint(24, 1, 6.0)]) == ["P1"]


def test_what_nobody_handled_is_found_in_the_end_and_under_a_checkpoint() -> None:
    assert names(WELL, STORED, 26) == ["P2"]
    assert names(WELL, [*STORED, Checkpoint(30, 2, 6.0)]) == ["P2"]


def test_a_checkpoint_that_goes_back_is_found() -> None:
    assert names(WELL, [*STORED, Checkpoint(20, 2, 6.0)]) == ["P3"]


def test_a_gap_within_an_epoch_is_found() -> None:
    batches = [*WELL, Given(6.0, "b#2", "0", 2, 20, 29)]
    assert names(batches, STORED, 30) == ["P5"]
