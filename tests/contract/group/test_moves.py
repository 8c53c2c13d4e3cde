"""Real processes share partitions: evenly, without loss, and without a duplicate when they stop
cleanly. What is timed here has wide limits; `make bench-balance` has the figures."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from support.group import Group

pytestmark = pytest.mark.slow

LEASE_S = 15.0

NewGroup = Callable[[int], Group]


def test_members_join_and_leave_cleanly_with_every_event_handled_exactly_once(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a")
    group.wait_until_read_by({"a"}, 60)
    # A group may mix transports.
    group.start("b", transport="sdk")
    joined = group.wait_until_read_by({"a", "b"}, 60)
    assert group.moves(0) == 4
    group.stop("b")
    left = group.wait_until_read_by({"a"}, 60)
    assert group.moves(joined) == 4
    # Handed over by the living, so on the slowest machine long before a lease would end.
    assert max(group.idle(0, left).values()) < LEASE_S
    group.stop("a")
    assert group.duplicates() == 0
    assert group.missing() == []
    assert group.reports() == []


def test_a_killed_members_partitions_are_read_on_by_the_others_and_nothing_is_lost(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 60)
    killed = group.kill("b")
    again = group.wait_until_read_by({"a"}, 60, since=killed)
    assert again - killed < 3 * LEASE_S
    group.stop("a")
    assert group.missing() == []


def test_members_that_start_together_move_nothing_and_stop_together_at_once(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    names = {"a", "b", "c", "d"}
    # Nobody is to begin before each has found all others, however slow one of them is.
    group.start_together(*names, settings={"newcomer_grace_s": 10.0})
    group.wait_until_read_by(names, 60)
    assert group.moves(0) == 0
    asked = group.stop(*names)
    assert time.time() - asked < LEASE_S
    assert group.duplicates() == 0
    assert group.missing() == []
