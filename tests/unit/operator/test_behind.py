"""A state behind its position is found where nobody reads, at a cost that does not grow."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import cast

from tidegate.lag import total
from tidegate.model import Checkpoint, Listing, Position
from tidegate.ports import LedgerError, Operation, ReadCheckpoint, Refusal
from tidegate_operator.behind import Wholes, with_wholes
from tidegate_operator.lag import GroupLag
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import GroupKey, LedgerView

KEY = GroupKey("default", "home")
STATE = b"x" * 1_000_000


class Storage:
    """A ledger of checkpoints with states, that nobody owns."""

    def __init__(self, partitions: int) -> None:
        self.now = 1000.0
        self.reads: Counter[str] = Counter()
        self.is_down = False
        self.wholes = Wholes()
        self.checkpoints = {
            str(number): Checkpoint(
                str(number), "e1", Position("7", 7), 1, "n", state=STATE,
                state_position=Position("7", 7),
            )
            for number in range(partitions)
        }  # fmt: skip

    async def read(self, key: GroupKey, operation: Operation) -> Checkpoint:
        assert key == KEY and isinstance(operation, ReadCheckpoint)
        self.reads[operation.partition] += 1
        if self.is_down:
            raise LedgerError(Refusal.UNKNOWN, "no reply in time")
        return self.checkpoints[operation.partition]

    def look(self, after_s: float = 5.0) -> Listing:
        """What a round sees; a listing itself has no states."""
        self.now += after_s
        listed = {
            p: Checkpoint(p, each.etag, each.position, each.epoch, each.nonce)
            for p, each in self.checkpoints.items()
        }
        view = LedgerView(Listing({}, listed, {}, None, self.now), self.now)
        lag = GroupLag({}, total([]), unowned_since=dict.fromkeys(listed, 0.0))
        seen = asyncio.run(with_wholes(cast(Ledgers, self), KEY, view, lag, self.wholes, self.now))
        assert seen is not None
        return seen.listing


def test_a_group_that_nobody_reads_has_each_of_its_checkpoints_read_once() -> None:
    storage = Storage(32)
    for _ in range(100):
        storage.look()
    assert set(storage.reads.values()) == {1} and len(storage.reads) == 32


def test_no_state_is_kept_though_it_is_known_that_there_is_one() -> None:
    storage = Storage(4)
    seen = storage.look()
    assert not any(each.is_state_behind for each in seen.checkpoints.values())
    kept = [found for _, found in storage.wholes.read.values() if found is not None]
    assert [each.state for each in kept] == [b""] * 4


def test_a_position_that_somebody_moved_is_found() -> None:
    storage = Storage(4)
    storage.look()
    moved = Checkpoint("2", "e2", Position("9", 9), 1, "n", state=STATE)
    storage.checkpoints["2"] = moved
    for _ in range(10):
        seen = storage.look()
    assert [p for p, each in seen.checkpoints.items() if each.is_state_behind] == ["2"]
    assert storage.reads == {"0": 1, "1": 1, "2": 2, "3": 1}


def test_storage_that_hangs_costs_a_round_one_wait() -> None:
    storage = Storage(32)
    storage.is_down = True
    storage.look()
    assert storage.reads.total() == 1
    storage.is_down = False
    for _ in range(20):
        storage.look()
    assert len(storage.reads) == 32
