"""Blobs of the ledger that cannot be read: each is named once, and left as it is. Pure.

Rules: an ownership that cannot be read belongs to nobody whom we know, so its partition is neither
claimed nor made anew; a checkpoint that cannot be read halts its tenure (fence.py). Everything else
of the group goes on.
"""

from __future__ import annotations

from collections.abc import Collection

from tidegate.member.messages import Command, Report
from tidegate.model import Listing, PartitionId


def unreadable(listing: Listing) -> Collection[PartitionId]:
    """The partitions that have a blob which cannot be read."""
    return {flaw.partition for flaw in listing.flaws if flaw.partition is not None}


class Flaws:
    """What has been said of them."""

    def __init__(self) -> None:
        self._said: frozenset[str] = frozenset()

    def on_listing(self, listing: Listing) -> list[Command]:
        """What is new, said once; again if it was mended and is spoilt again."""
        commands: list[Command] = [
            Report("unreadable", flaw.partition, flaw.problem)
            for flaw in listing.flaws
            if flaw.problem not in self._said
        ]
        self._said = frozenset(flaw.problem for flaw in listing.flaws)
        return commands
