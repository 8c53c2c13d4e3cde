"""Storage goes bad while members run: it stalls, one member cannot reach it, replies get lost.
They resume by themselves, nothing is lost, and no checkpoint goes back."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from support.fault_proxy import Answer, FaultProxy, Hold, LoseReply, Refuse, Request
from support.group import Group
from support.ledger_watch import ledger_watch

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]


def test_when_storage_stalls_for_all_nothing_moves_and_nothing_is_handled_twice(
    new_group: NewGroup, bad_storage: FaultProxy, through: str
) -> None:
    group = new_group(8)
    group.start("a", "b", blobs=through)
    # Until here they may have moved: one of the two may have started long after the other.
    settled = group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        ledger.look()
        began = time.time()
        bad_storage.add(Hold(for_s=20))
        group.wait_until_read_by({"a", "b"}, 80, since=began + 20)
        assert ledger.changes(began) == []
        assert group.moves(settled) == 0
        group.stop("a", "b")
    assert ledger.steps_back() == []
    assert group.duplicates() == 0
    assert group.missing() == []


def test_a_member_cut_from_storage_gives_way_and_comes_back_by_itself(
    new_group: NewGroup, bad_storage: FaultProxy, through: str
) -> None:
    group = new_group(8)
    group.start("a")
    group.start("b", blobs=through)
    group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        cut = time.time()
        bad_storage.add(Refuse())
        bad_storage.cut()
        group.wait_until_read_by({"a"}, 60, since=cut)
        bad_storage.clear()
        group.wait_until_read_by({"a", "b"}, 60, since=time.time())
        group.stop("a", "b")
    assert ledger.steps_back() == []
    assert group.missing() == []


def test_members_join_and_leave_while_replies_are_lost_and_storage_is_busy(
    new_group: NewGroup, bad_storage: FaultProxy, through: str
) -> None:
    dice = random.Random(11)

    def one_in(number: int) -> Callable[[Request], bool]:
        return lambda _request: dice.randrange(number) == 0

    group = new_group(8)
    bad_storage.add(LoseReply(match=one_in(10)))
    bad_storage.add(Answer(status=503, match=one_in(20)))
    bad_storage.add(Answer(status=500, match=one_in(20)))
    with ledger_watch(group.storage, group.container) as ledger:
        group.start("a", "b", blobs=through)
        group.wait_until_read_by({"a", "b"}, 60)
        group.stop("b")
        group.wait_until_read_by({"a"}, 60)
        group.stop("a")
    assert ledger.steps_back() == []
    assert group.missing() == []
