"""Migration in both directions: the unmodified Python checkpoint store beside our ledger.

What each finds of the other is proved here on blobs; whole processors are tested elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from contract.ledger.worlds import (
    OLD_VERSION,
    BlobWorld,
    checkpoint,
    listed,
    new_id,
    open_world,
    ownership,
)
from tidegate.model import BEGINNING, LeaseState, Owner, Position
from tidegate.ports import Acquire, CreateOwnership, WriteCheckpoint, WriteOwnership

HERE = Position("8589934592", 41)


@pytest.fixture(params=["blob", f"blob-{OLD_VERSION}"])
async def shared(request: pytest.FixtureRequest, azurite: str) -> AsyncIterator[BlobWorld]:
    async with open_world(request.param, azurite) as world:
        assert isinstance(world, BlobWorld)
        await listed(world.ledger)  # which makes the container: the official store does not
        yield world


async def test_it_reads_our_checkpoints_as_its_own(shared: BlobWorld) -> None:
    await shared.ledger.perform(WriteCheckpoint("0", None, HERE, 5, "n", 12.5, state=b"state"))
    await shared.ledger.perform(WriteCheckpoint("1", None, BEGINNING, 5, "n"))
    found = {row["partition_id"]: row for row in await shared.store.list_checkpoints(*shared.where)}
    assert found["0"] == shared.of("0") | {"offset": "8589934592", "sequence_number": 41}
    assert found["1"] == shared.of("1") | {"offset": "-1", "sequence_number": -1}


async def test_it_reads_our_ownerships_whatever_their_state(shared: BlobWorld) -> None:
    etags = {
        partition: str(await shared.ledger.perform(CreateOwnership(partition)))
        for partition in ("0", "1", "2")
    }
    for partition, owner in (("1", Owner("reader-0", "a1")), ("2", None)):
        lease_id = new_id()
        await shared.ledger.perform(Acquire(partition, lease_id, etags[partition]))
        await shared.ledger.perform(
            WriteOwnership(partition, lease_id, etags[partition], owner, 3, "n")
        )
    rows = {row["partition_id"]: row for row in await shared.store.list_ownership(*shared.where)}
    owners = {partition: row["owner_id"] or "" for partition, row in rows.items()}
    assert owners == {"0": "", "1": "reader-0/a1", "2": ""}
    assert all(row["etag"] and row["last_modified_time"] for row in rows.values())


async def test_it_claims_a_partition_that_we_let_go(shared: BlobWorld) -> None:
    await shared.ledger.perform(CreateOwnership("0"))
    assert await shared.claim_by_other("0", "official-1")
    row = await ownership(shared.ledger, "0")
    assert (row.owner, row.is_foreign) == (Owner("official-1"), True)


async def test_we_take_a_partition_that_it_let_go_and_go_on_at_its_checkpoint(
    shared: BlobWorld,
) -> None:
    assert await shared.claim_by_other("0", "official-1")
    await shared.checkpoint_by_other("0", HERE)
    assert await shared.claim_by_other("0", "")
    listing = await listed(shared.ledger)
    row, lease_id = listing.ownerships["0"], new_id()
    assert (row.owner, row.is_foreign) == (None, False)
    await shared.ledger.perform(Acquire("0", lease_id, row.etag))
    await shared.ledger.perform(
        WriteOwnership("0", lease_id, row.etag, Owner("reader-0", "a1"), 1, "n")
    )
    assert listing.checkpoints["0"].position == HERE
    touch = WriteCheckpoint("0", listing.checkpoints["0"].etag, HERE, 1, "n2")
    await shared.ledger.perform(touch)
    assert (await checkpoint(shared.ledger, "0")).epoch == 1
    assert (await ownership(shared.ledger, "0")).lease is LeaseState.LEASED


async def test_names_are_byte_for_byte_those_of_its_blobs(shared: BlobWorld) -> None:
    await shared.ledger.perform(CreateOwnership("0"))
    await shared.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n"))
    ours = {blob.name async for blob in shared.container.list_blobs(shared.names.prefix)}
    assert await shared.claim_by_other("0", "official-1")
    await shared.checkpoint_by_other("0", HERE)
    theirs = {blob.name async for blob in shared.container.list_blobs(shared.names.prefix)}
    assert ours == theirs
    host, hub, group = shared.where
    assert ours == {
        f"{host}/{hub}/{group}/ownership/0".lower(),
        f"{host}/{hub}/{group}/checkpoint/0".lower(),
    }
    assert hub != hub.lower(), "the group of this test has capitals in its name"


async def test_what_it_believes_to_have_claimed_of_ours_it_has_not(shared: BlobWorld) -> None:
    """The answer of its claim is not to be trusted, so neither is ours: the blob is."""
    etag, lease_id = str(await shared.ledger.perform(CreateOwnership("0"))), new_id()
    await shared.ledger.perform(Acquire("0", lease_id, etag))
    before = await ownership(shared.ledger, "0")
    stale = shared.of("0") | {"owner_id": "official-1", "etag": etag}
    await shared.store.claim_ownership([stale])
    await shared.store.claim_ownership([shared.of("0") | {"owner_id": "official-1"}])
    assert await ownership(shared.ledger, "0") == before
