"""Real processes amid a rollout: two old members are marked, and one new one is there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from support.group import Group
from support.wait import wait_until
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.model import Listing, Roster
from tidegate.ports import List, WriteRoster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NewGroup = Callable[[int], Group]
PARTITIONS, SHARE = 16, 4
OLD = ("m0", "m1", "m2", "m3")
# The one that comes first has the later name.
FIRST_NEW, NEXT_NEW = "z-new", "a-new"


def write_roster(group: Group, expected: tuple[str, ...], leaving: tuple[str, ...]) -> None:
    names = GroupNames("localhost", group.hub_name, "$default")
    blobs = BlobSettings(group.container, connection_string=group.storage)

    async def write() -> None:
        ledger = BlobLedger(blobs, names)
        try:
            listing = await ledger.perform(List())
            assert isinstance(listing, Listing)
            before = listing.roster or Roster()
            roster = Roster("", before.generation + 1, expected, leaving)
            await ledger.perform(WriteRoster(roster, before.etag))
        finally:
            await ledger.close()

    asyncio.run(write())


def wait_for_share(group: Group, name: str) -> None:
    def has_it() -> bool:
        return list(group.readers(time.time() - 1.5).values()).count(name) == SHARE

    wait_until(has_it, 60, f"{name} to read {SHARE} partitions", group.standing)


def test_the_first_new_member_gets_the_partitions_of_the_old_one_that_ends_first(
    new_group: NewGroup,
) -> None:
    group = new_group(PARTITIONS)
    group.start_together(*OLD, settings={"newcomer_grace_s": 10.0})
    group.wait_until_read_by(set(OLD), 60)
    owners = group.readers(time.time() - 1.5)
    going = owners["0"]
    next_going, *staying = [name for name in OLD if name != going]
    expected = (*staying, FIRST_NEW, NEXT_NEW)
    begun = time.time()
    write_roster(group, expected, (going, next_going))
    group.start(FIRST_NEW)
    wait_for_share(group, FIRST_NEW)
    group.stop(going)
    group.wait_until_read_by({next_going, *staying, FIRST_NEW}, 60)
    write_roster(group, expected, (next_going,))
    group.start(NEXT_NEW)
    wait_for_share(group, NEXT_NEW)
    group.stop(next_going)
    group.wait_until_read_by(set(expected), 60)
    assert group.moves(begun) == 2 * SHARE, "each of their partitions moves once"
    group.stop(*expected)
    assert (group.missing(), group.duplicates()) == ([], 0)
