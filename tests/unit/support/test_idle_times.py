"""What the logs of handlers say of moves and idle times."""

from __future__ import annotations

from support.handled_log import Given
from support.idle_times import changes, longest_pause_s, p95
from tidegate_operator.conformance.agreement import Agreement


def given(at: float, who: str, epoch: int, first: int) -> Given:
    return Given(at, who, "0", epoch, first, first)


def test_a_partition_that_another_member_reads_on_has_moved_and_was_idle_between_them() -> None:
    batches = [given(1.0, "a#1", 1, 0), given(2.5, "b#7", 2, 1), given(3.0, "b#7", 2, 2)]
    (change,) = changes(batches, 0.0)
    assert change.is_move and change.giver == "a" and change.idle_s == 1.5
    assert changes(batches, 2.6) == []
    assert longest_pause_s(batches, 0.0) == 1.5


def test_a_member_that_was_started_again_has_not_moved() -> None:
    (change,) = changes([given(1.0, "a#1", 1, 0), given(2.0, "a#2", 2, 1)], 0.0)
    assert not change.is_move and change.idle_s == 1.0


def test_at_most_a_twentieth_is_above_the_percentile() -> None:
    assert p95(float(number) for number in range(1, 101)) == 95.0
    assert p95([3.0, 1.0, 2.0]) == 3.0


def test_a_status_disagrees_from_the_first_look_to_the_last_that_shows_it() -> None:
    agreement = Agreement()
    for at, told in ((0.0, "a"), (1.0, "a"), (2.0, "b"), (9.0, "b")):
        agreement.look({"0": told}, {"0": "b"}, at)
    agreement.look({}, {"0": "b"}, 10.0)
    assert agreement.longest_s == 1.0 and agreement.looks == 5
