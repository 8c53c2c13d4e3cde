"""The memory budget that all partitions share, over the bodies they hold in memory.

Rules: clean blocks (their bytes are in a file too) are dropped, least recently used first; pinned
blocks (there is no file) are never dropped: their segment is asked to write itself to a file, the
least recently used first, once they take more than seven eighths. So a reader of old data always
has an eighth of the budget, and reading never needs to write. The open block at the end of a
partition (less than 128 KiB) and its last batch, where that is a small one (less than 64 KiB), are
not counted.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

OBJECT_BYTES = 600  # what the objects around a block's bytes take, roughly


class Owner(Protocol):
    """A segment, as the budget sees it."""

    def drop(self, number: int) -> None:
        """Let go of the part of this number: its bytes can be read again."""

    def spill(self) -> None:
        """Write everything to a file and unpin it."""


class Held:
    """A part of a segment that takes memory: its cost, and whom to tell when it must go."""

    __slots__ = ("cost", "number", "owner", "shelf")

    def __init__(self, owner: Owner, number: int, cost: int) -> None:
        self.owner = owner
        self.number = number
        self.cost = cost
        self.shelf: OrderedDict[Held, None] | None = None  # set by the budget alone


class MemoryBudget:
    """Counts what is held and decides what goes."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.pinned_limit_bytes = limit_bytes * 7 // 8
        self.clean_bytes = 0
        self.pinned_bytes = 0
        self._clean: OrderedDict[Held, None] = OrderedDict()
        self._pinned: OrderedDict[Held, None] = OrderedDict()

    @property
    def used_bytes(self) -> int:
        return self.clean_bytes + self.pinned_bytes

    def hold(self, part: Held) -> None:
        """Take in a part whose bytes are in a file, and drop what is over the budget."""
        self._clean[part] = None
        part.shelf = self._clean
        self.clean_bytes += part.cost
        self._shrink()

    def _shrink(self) -> None:
        while self._clean and self.used_bytes > self.limit_bytes:
            oldest = next(iter(self._clean))
            oldest.owner.drop(oldest.number)
            self.forget(oldest)

    def pin(self, part: Held) -> None:
        """Take in a part that exists nowhere else."""
        self._pinned[part] = None
        part.shelf = self._pinned
        self.pinned_bytes += part.cost
        self._shrink()

    def unpin(self, part: Held) -> None:
        """The part has reached a file: from now on it may be dropped."""
        self.forget(part)
        self.hold(part)

    def make_room(self, needed_bytes: int) -> None:
        """Before an append that will be pinned: spill until it fits. May raise `StorageFull`."""
        while self._pinned and self.pinned_bytes + needed_bytes > self.pinned_limit_bytes:
            next(iter(self._pinned)).owner.spill()

    def touch(self, part: Held) -> None:
        """The part was used: it goes last."""
        if part.shelf is not None:
            part.shelf.move_to_end(part)

    def forget(self, part: Held) -> None:
        """The part is gone, or moves elsewhere."""
        if part.shelf is None:
            return
        del part.shelf[part]
        if part.shelf is self._clean:
            self.clean_bytes -= part.cost
        else:
            self.pinned_bytes -= part.cost
        part.shelf = None
