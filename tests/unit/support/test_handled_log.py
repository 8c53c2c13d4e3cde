"""The log of what was handled tells duplicates, losses and disorder, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.handled_log import Given, HandledLog, Owner


@pytest.fixture
def log(tmp_path: Path) -> HandledLog:
    return HandledLog(tmp_path / "seen.log")


def given(first: int, last: int, *, epoch: int = 1, partition: str = "0") -> Given:
    return Given(0.0, f"m{epoch}#1", partition, epoch, first, last)


def test_what_follows_is_neither_repeated_nor_lost(log: HandledLog) -> None:
    for first in range(0, 100, 10):
        log.take(given(first, first + 9))
    log.take(given(100, 120, epoch=2))
    assert (log.duplicates, log.lost(), log.disorder, log.through("0")) == (0, 0, [], 120)


def test_what_a_new_owner_handles_again_is_counted_for_that_owner(log: HandledLog) -> None:
    log.take(given(0, 99))
    log.take(given(90, 94, epoch=2))
    log.take(given(95, 110, epoch=2))
    log.take(given(111, 120, epoch=2))
    assert log.repeats == {Owner("0", 2, "m2#1"): 10}
    assert log.lost() == 0


def test_what_is_passed_over_is_lost_until_somebody_handles_it(log: HandledLog) -> None:
    log.take(given(0, 9))
    log.take(given(20, 29, epoch=2))
    assert (log.lost(), log.through("0")) == (10, 9)
    log.take(given(12, 15, epoch=3))
    assert (log.lost(), log.through("0")) == (6, 9)
    log.take(given(10, 22, epoch=4))
    assert (log.lost(), log.through("0")) == (0, 29)
    assert log.duplicates == 4 + 3


def test_a_partition_that_does_not_begin_at_its_beginning_has_lost_it(log: HandledLog) -> None:
    log.take(given(5, 9))
    assert log.lost() == 5


def test_batches_of_one_owner_that_do_not_follow_each_other_are_told(log: HandledLog) -> None:
    log.take(given(0, 9))
    log.take(given(0, 9))
    assert log.disorder == ["Owner(partition='0', epoch=1, who='m1#1') was given 0 after 9"]


def test_partitions_are_counted_apart(log: HandledLog) -> None:
    log.take(given(0, 9))
    log.take(given(0, 9, partition="1"))
    assert log.duplicates == 0
    assert not log.is_handled(3, 10)
    assert log.is_handled(2, 10)


def test_lines_are_read_as_they_come_and_only_whole(tmp_path: Path) -> None:
    path = tmp_path / "seen.log"
    log = HandledLog(path)
    log.read_on()
    path.write_text("h 1.5 m#1 0 1 0 9\nh 2.5 m#1 0 1 10 1")
    log.read_on()
    assert log.batches == [Given(1.5, "m#1", "0", 1, 0, 9)]
    with path.open("a") as file:
        file.write("9\n")
    log.read_on()
    assert log.batches[1] == Given(2.5, "m#1", "0", 1, 10, 19)
