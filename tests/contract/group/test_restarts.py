"""A process that is restarted in place, paused, or cut from storage: nobody else moves, and no
checkpoint goes back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest

from support.group import Group

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]


def test_a_restart_in_place_reads_on_at_once_and_nobody_else_moves(new_group: NewGroup) -> None:
    group = new_group(8)
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 30)
    before = group.readers(time.time() - 1.5)
    killed = group.kill("b")
    group.start("b")
    again = group.wait_until_read_by({"a", "b"}, 30)
    assert group.readers(again - 1.5) == before
    assert group.moves(killed) == 0
    assert again - killed < 12
    group.stop("a", "b")
    assert group.missing() == []


def test_a_member_paused_for_longer_than_its_lease_comes_back_without_harm(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 30)
    group.signal("b", signal.SIGSTOP)
    group.wait_until_read_by({"a"}, 40)
    group.signal("b", signal.SIGCONT)
    group.wait_until_read_by({"a", "b"}, 40)
    group.stop("a", "b")
    assert group.missing() == []
