"""The contract on the listing: everything of a group in one call, and nothing of another's."""

from __future__ import annotations

from dataclasses import replace

from contract.ledger.worlds import World, checkpoint, listed, new_id, ownership, refusal
from tidegate.ledger.layout import Kind
from tidegate.model import LeaseState, Owner, Position, Presence, Rewind, Roster
from tidegate.ports import (
    Acquire,
    Announce,
    CreateOwnership,
    Join,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

HERE = Position("8589934592", 41)


async def test_a_group_that_is_not_there_yet_lists_empty(world: World) -> None:
    listing = await listed(world.ledger)
    assert (listing.ownerships, listing.checkpoints, listing.members) == ({}, {}, {})
    assert (listing.roster, listing.flaws) == (None, ())


async def test_a_listing_shows_the_whole_group_by_the_services_clock(world: World) -> None:
    await world.ledger.perform(CreateOwnership("0"))
    await world.ledger.perform(WriteCheckpoint("0", None, HERE, 4, "n", 12.5, "rw", b"state"))
    lease_id = new_id()
    await world.ledger.perform(Join("r", lease_id))
    await world.ledger.perform(Announce(Presence("r", "", LeaseState.LEASED, "i1"), lease_id))
    roster = Roster(
        generation=3,
        expected=("r", "s"),
        leaving=("s",),
        pins={"0": "r"},
        paused=frozenset({"1"}),
        is_paused=True,
        rewinds=(Rewind("rw-2", "0", Position("-1", -1)),),
    )
    await world.ledger.perform(WriteRoster(roster, ""))
    listing = await listed(world.ledger)
    assert listing.ownerships["0"].lease is LeaseState.AVAILABLE
    kept = listing.checkpoints["0"]
    assert (kept.position, kept.epoch, kept.enqueued_at, kept.rewound_by) == (HERE, 4, 12.5, "rw")
    assert kept.state is None, "a listing shows metadata alone"
    assert listing.members["r"].incarnation == "i1"
    found = listing.roster
    assert found is not None
    assert replace(found, etag="", written_at=0.0) == roster
    ages = [listing.server_time - listing.ownerships["0"].modified_at]
    ages.append(listing.server_time - found.written_at)
    assert all(-2 <= age <= 60 for age in ages), ages


async def test_a_listing_that_was_given_does_not_change_afterwards(world: World) -> None:
    etag = str(await world.ledger.perform(CreateOwnership("0")))
    before = await listed(world.ledger)
    lease_id = new_id()
    await world.ledger.perform(Acquire("0", lease_id, etag))
    await world.ledger.perform(CreateOwnership("1"))
    after = await listed(world.ledger)
    assert set(after.ownerships) == {"0", "1"}
    assert after.ownerships["0"].lease is LeaseState.LEASED
    assert set(before.ownerships) == {"0"}
    assert before.ownerships["0"].lease is LeaseState.AVAILABLE


async def test_deleted_blobs_are_gone_from_the_next_listing(world: World) -> None:
    etag = str(await world.ledger.perform(CreateOwnership("0")))
    await world.ledger.perform(Acquire("0", new_id(), etag))
    await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n"))
    assert set((await listed(world.ledger)).checkpoints) == {"0"}
    await world.delete(Kind.CHECKPOINT, "0")
    await world.delete(Kind.OWNERSHIP, "0")
    listing = await listed(world.ledger)
    assert (listing.ownerships, listing.checkpoints) == ({}, {})


async def test_an_unreadable_blob_is_named_and_the_others_go_on(world: World) -> None:
    for partition in ("0", "1"):
        await world.ledger.perform(CreateOwnership(partition))
        await world.ledger.perform(WriteCheckpoint(partition, None, HERE, 1, "n"))
    await world.ledger.perform(Join("r", new_id()))
    for kind, key in (
        (Kind.OWNERSHIP, "0"),
        (Kind.CHECKPOINT, "1"),
        (Kind.MEMBER, "spoilt"),
        (Kind.ROSTER, ""),
    ):
        await world.spoil(kind, key)
    listing = await listed(world.ledger)
    assert set(listing.ownerships) == {"1"}
    assert set(listing.checkpoints) == {"0"}
    assert set(listing.members) == {"r"}
    assert listing.roster is None
    about = {(flaw.blob.rsplit("/", 2)[-2:][0], flaw.partition) for flaw in listing.flaws}
    assert ("ownership", "0") in about
    assert ("checkpoint", "1") in about
    assert len(listing.flaws) == 4
    for flaw in listing.flaws:
        assert flaw.blob in flaw.problem
        assert "Nothing was overwritten" in flaw.problem


async def test_reading_an_unreadable_blob_says_so_and_creating_over_it_is_refused(
    world: World,
) -> None:
    await world.spoil(Kind.OWNERSHIP, "0")
    await world.spoil(Kind.CHECKPOINT, "0")
    assert await refusal(world.ledger, ReadOwnership("0")) is Refusal.INVALID
    assert await refusal(world.ledger, ReadCheckpoint("0")) is Refusal.INVALID
    assert await refusal(world.ledger, CreateOwnership("0")) is Refusal.EXISTS
    create = WriteCheckpoint("0", None, HERE, 1, "n")
    assert await refusal(world.ledger, create) is Refusal.EXISTS


async def test_an_official_processor_cannot_claim_what_is_leased_or_its_owner_is_told(
    world: World,
) -> None:
    etag, lease_id = str(await world.ledger.perform(CreateOwnership("0"))), new_id()
    await world.ledger.perform(Acquire("0", lease_id, etag))
    me = Owner("r", "i")
    etag = str(await world.ledger.perform(WriteOwnership("0", lease_id, etag, me, 5, "n")))
    is_claimed = await world.claim_by_other("0", "other")
    assert is_claimed is not world.has_real_leases
    if is_claimed:
        assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.CHANGED
        assert (await ownership(world.ledger, "0")).is_foreign
        return
    assert await world.ledger.perform(Renew("0", lease_id, etag)) is None
    assert (await ownership(world.ledger, "0")).owner == me


async def test_an_official_processors_claim_is_foreign(world: World) -> None:
    await world.ledger.perform(CreateOwnership("0"))
    for partition in ("0", "1"):
        assert await world.claim_by_other(partition, "3f0e-uuid") is True
    listing = await listed(world.ledger)
    for partition in ("0", "1"):
        row = listing.ownerships[partition]
        assert row.is_foreign
        assert (row.owner, row.epoch, row.lease) == (Owner("3f0e-uuid"), 0, LeaseState.AVAILABLE)
        assert -2 <= listing.server_time - row.modified_at <= 60
    assert await world.claim_by_other("0", "") is True
    row = await ownership(world.ledger, "0")
    assert (row.owner, row.is_foreign) == (None, False), "released is nobody's"


async def test_an_official_processors_checkpoint_is_seen_and_never_written_over(
    world: World,
) -> None:
    """A checkpoint has no lease, so such a write is not refused: the ETag tells of it."""
    theirs = Position("9000", 70)
    etag = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 5, "n", state=b"st")))
    await world.checkpoint_by_other("0", theirs)
    late = WriteCheckpoint("0", etag, Position("8700", 60), 5, "n2")
    assert await refusal(world.ledger, late) is Refusal.CHANGED
    found = await checkpoint(world.ledger, "0")
    assert (found.position, found.epoch, found.nonce) == (theirs, 0, "")
    assert (found.state, found.state_position) == (b"st", HERE)
    assert found.is_state_behind


async def test_an_official_processors_first_checkpoint_is_read_as_a_position(world: World) -> None:
    theirs = Position("9000", 70)
    await world.checkpoint_by_other("3", theirs)
    assert (await listed(world.ledger)).checkpoints["3"].position == theirs
    found = await checkpoint(world.ledger, "3")
    assert (found.position, found.state, found.is_state_behind) == (theirs, None, False)
