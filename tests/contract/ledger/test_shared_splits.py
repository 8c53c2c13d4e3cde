"""Leases that are shared with hosts of another processor, through splits of the ranges."""

from __future__ import annotations

import pytest

from contract.ledger.shared_world import PARTITION, Shared, taken
from contract.ledger.worlds import listed, refusal
from tidegate.ports import (
    CreateOwnership,
    ReadCheckpoint,
    Refusal,
    Release,
    Renew,
    WriteCheckpoint,
)
from tidegate.sources.cosmos.lineage import FeedRanges


async def test_new_leases_stand_where_ours_ended_before_the_old_one_goes(shared: Shared) -> None:
    await taken(shared.ledger)
    halves = shared.split()
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, halves), 1, "n1"))
    assert await refusal(shared.ledger, CreateOwnership(halves[0])) is Refusal.BUSY
    listing = await listed(shared.ledger)
    assert [await shared.host.etag(shared.token(each)) for each in halves] == ['"94"', '"94"']
    with pytest.raises(AssertionError, match="there is no lease"):
        await shared.host.lease(shared.door)
    assert listing.checkpoints[PARTITION].position == shared.at(94, halves)
    await taken(shared.ledger, halves[0])


async def test_what_a_host_begins_and_splits_after_our_split_are_the_partitions(
    shared: Shared,
) -> None:
    """An end of ours does not go on asking for parts that another host has begun."""
    await taken(shared.ledger)
    halves = shared.split()
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, halves), 3, "n1"))
    await listed(shared.ledger)
    lineage = FeedRanges(keeps_merged=True)
    seen = lineage.tiling(halves, await listed(shared.ledger))
    assert dict(seen.parents) == dict.fromkeys(halves, (PARTITION,)), "nobody has begun them"
    await shared.host.take(shared.token(halves[0]))
    seen = lineage.tiling(halves, await listed(shared.ledger))
    assert (seen.partitions, dict(seen.parents)) == (halves, {halves[1]: (PARTITION,)})
    quarters = shared.split(halves[0])
    for each in quarters:
        await shared.host.make(shared.token(each), '"99"')
    await shared.host.remove(shared.token(halves[0]))
    parts = (*quarters, halves[1])
    seen = lineage.tiling(parts, await listed(shared.ledger))
    assert seen.partitions == parts
    await shared.host.take(shared.token(halves[1]))
    seen = lineage.tiling(parts, await listed(shared.ledger))
    assert (seen.partitions, dict(seen.parents), dict(seen.ending)) == (parts, {}, {})


async def test_a_range_that_a_host_has_split_is_no_more_and_its_parts_are(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await shared.host.take(shared.door)
    halves = shared.split()
    for each in halves:
        await shared.host.make(shared.token(each), '"99"')
    await shared.host.remove(shared.door)
    listing = await listed(shared.ledger)
    assert listing.checkpoints.keys() == set(halves)
    assert listing.ownerships == {}
    assert {place.position.sequence for place in listing.checkpoints.values()} == {99}
    refused = Renew(PARTITION, lease_id, etag)
    assert await refusal(shared.ledger, refused) in (Refusal.CHANGED, Refusal.HELD)


async def test_a_ledger_that_never_listed_renews_what_a_split_has_made(shared: Shared) -> None:
    """As that of the thread which keeps leases while a handler runs."""
    keeping = shared.another()
    await taken(shared.ledger)
    assert await refusal(keeping, Renew(PARTITION, "other", "other")) is not Refusal.INVALID
    halves = shared.split()
    for each in halves:
        await shared.host.make(shared.token(each), '"99"')
    await shared.host.remove(shared.door)
    for each in halves:
        etag, lease_id = await taken(shared.ledger, each)
        await keeping.perform(Renew(each, lease_id, etag))


async def test_who_comes_after_a_split_makes_the_leases_that_another_left_to_make(
    shared: Shared,
) -> None:
    """The one that has ended a partition may be gone before it has made what comes after it."""
    await taken(shared.ledger)
    halves = shared.split()
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, halves), 1, "n1"))
    late = shared.another()
    listing = await listed(late)
    assert not listing.flaws
    assert [await shared.host.etag(shared.token(each)) for each in halves] == ['"94"', '"94"']
    with pytest.raises(AssertionError, match="there is no lease"):
        await shared.host.lease(shared.door)
    parent = await late.perform(ReadCheckpoint(PARTITION))
    assert parent == listing.checkpoints[PARTITION]
    await taken(late, halves[0])


async def test_a_range_that_was_split_while_nobody_ran_goes_on_where_its_lease_stands(
    shared: Shared,
) -> None:
    await shared.host.make(shared.door, '"57"')
    for each in shared.split():
        shared.split(each)
    late = shared.another()
    listing = await listed(late)
    assert {key: row.position for key, row in listing.checkpoints.items()} == {
        PARTITION: shared.at(57)
    }
    for each in shared.parts():
        assert await refusal(late, CreateOwnership(each)) is Refusal.BUSY
    await taken(late)
    assert (await shared.host.lease(shared.door))["Owner"] == "m1"


async def test_who_only_looks_changes_nothing_and_sees_what_ended(shared: Shared) -> None:
    await taken(shared.ledger)
    halves = shared.split()
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, halves), 1, "n1"))
    before = shared.documents()
    listing = await listed(shared.another(is_member=False))
    assert shared.documents() == before
    assert listing.checkpoints[PARTITION].position == shared.at(94, halves)
    seen = FeedRanges(keeps_merged=True).tiling(halves, listing)
    assert dict(seen.parents) == dict.fromkeys(halves, (PARTITION,))
    await listed(shared.ledger)
    assert shared.documents() != before, "a member makes the leases"


async def test_beside_a_lease_of_nobody_knows_which_keys_no_lease_is_made(shared: Shared) -> None:
    await shared.items.create(
        {
            "id": f"{shared.host.base}..x",
            "LeaseToken": "x",
            "Owner": None,
            "ContinuationToken": None,
        }
    )
    assert (await listed(shared.ledger)).flaws[0].partition is None
    assert await refusal(shared.ledger, CreateOwnership(PARTITION)) is Refusal.INVALID
