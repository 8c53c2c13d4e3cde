"""Real processes share partitions: evenly, without loss, and without a duplicate when they stop
cleanly. What is timed here has wide limits; `make bench-balance` has the figures."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from support.group import Group

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]


def test_members_join_and_leave_cleanly_with_every_event_handled_exactly_once(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a")
    group.wait_until_read_by({"a"}, 30)
    group.start("b")
    joined = group.wait_until_read_by({"a", "b"}, 30)
    assert group.moves(0) == 4
    group.stop("b")
    group.wait_until_read_by({"a"}, 30)
    assert group.moves(joined) == 4
    group.stop("a")
    assert group.duplicates() == 0
    assert group.missing() == []
    assert group.reports() == []


def test_a_killed_members_partitions_are_read_on_by_the_others_and_nothing_is_lost(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 30)
    killed = group.kill("b")
    again = group.wait_until_read_by({"a"}, 40)
    assert again - killed < 25
    group.stop("a")
    assert group.missing() == []


def test_a_second_process_of_one_name_owns_nothing_and_says_so(
    new_group: NewGroup, tmp_path_factory: pytest.TempPathFactory
) -> None:
    group = new_group(4)
    group.start("a")
    group.wait_until_read_by({"a"}, 30)
    other = tmp_path_factory.mktemp("other")
    moment = time.time()
    group.start("a2", name="a", log=str(other / "a2.log"), scratch=str(other / "a2.leases"))
    group.wait_for_line(other / "a2.log", "name-taken", 20)
    assert group.readers(moment) == {str(number): "a" for number in range(4)}
    group.stop("a2", "a")
