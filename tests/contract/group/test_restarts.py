"""A process that is restarted in place, or paused for longer than its lease: nobody else moves
without need, no checkpoint goes back, and nothing is lost."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.group import Group
from support.ledger_watch import LedgerWatch, ledger_watch
from support.wait import wait_until
from tidegate.model import BEGINNING
from tidegate.ports import StolenError

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]

LEASE_S = 15.0


def test_a_restart_in_place_reads_on_in_its_own_start_time_and_nobody_else_moves(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    # Longer than the start of a process may take where many run.
    long: dict[str, Any] = {"lease_s": 30, "settings": {"lease_s": 30.0}}
    group.start("a", "b", **long)
    # Until here they may have moved: one of the two may have started long after the other.
    settled = group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        killed = group.kill("b")
        group.start("b", **long)
        group.wait_until_read_by({"a", "b"}, 60, since=killed)
        assert ledger.free(killed) == set(), "leases were waited for instead of taken up"
        group.stop("a", "b")
    assert group.moves(settled) == 0
    assert {change.owner for change in ledger.changes(killed)} <= {"a", "b"}
    assert ledger.steps_back() == []
    assert group.missing() == []


def test_a_member_paused_for_three_leases_is_refused_and_comes_back_without_harm(
    new_group: NewGroup,
) -> None:
    group = new_group(8)
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        late = wait_until(lambda: epochs_of(ledger, "b", 4), 30, "checkpoints of all that b owns")
        paused = group.signal("b", signal.SIGSTOP)
        group.wait_until_read_by({"a"}, 60, since=paused)
        for partition, epoch in late.items():
            assert the_hub_refuses(group, partition, epoch)
        # This is the fault: so long it stands still.
        time.sleep(max(0.0, paused + 3 * LEASE_S - time.time()))
        resumed = group.signal("b", signal.SIGCONT)
        group.wait_until_read_by({"a", "b"}, 60, since=resumed + 2)
        group.stop("a", "b")
    assert len(late) == 4
    assert len(group.reports("lapsed", "fenced")) >= len(late)
    assert ledger.steps_back() == []
    assert group.missing() == []


def epochs_of(ledger: LedgerWatch, name: str, count: int) -> dict[str, int]:
    """The epoch of each partition of an owner, once it owns so many and each has a checkpoint."""
    epochs, owners = ledger.epochs(), ledger.owners()
    found = {each: epochs.get(each, 0) for each, owner in owners.items() if owner == name}
    return found if len(found) == count and all(found.values()) else {}


def the_hub_refuses(group: Group, partition: str, epoch: int) -> bool:
    """Whether who still has this epoch can no longer read the partition."""

    async def attach() -> bool:
        source = group.source()
        reader = source.reader(partition, BEGINNING, epoch)
        try:
            async with asyncio.timeout(20):
                await reader.open()
                while not await reader.receive():
                    pass
        except StolenError as stolen:
            return stolen.level is None or stolen.level > epoch
        else:
            return False
        finally:
            await reader.close()
            await source.close()

    return asyncio.run(attach())
