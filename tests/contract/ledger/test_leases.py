"""The contract on leases: who gets one, who keeps it, and what repeats do."""

from __future__ import annotations

import pytest

from contract.ledger.worlds import World, listed, new_id, ownership, refusal
from tidegate.ledger.layout import Kind
from tidegate.model import LeaseState, Owner, Ownership
from tidegate.ports import (
    Acquire,
    Break,
    Change,
    CreateOwnership,
    Ledger,
    Operation,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    WriteOwnership,
)

ME = Owner("reader-0", "a1")


async def created(ledger: Ledger, partition: str = "0") -> str:
    return str(await ledger.perform(CreateOwnership(partition)))


async def leased(ledger: Ledger, partition: str = "0") -> tuple[str, str]:
    """A new ownership blob under a lease: its ETag and the lease's id."""
    etag, lease_id = await created(ledger, partition), new_id()
    await ledger.perform(Acquire(partition, lease_id, etag))
    return etag, lease_id


async def state(ledger: Ledger, partition: str = "0") -> LeaseState:
    return (await listed(ledger)).ownerships[partition].lease


async def test_a_new_ownership_has_no_owner_no_lease_and_epoch_0(world: World) -> None:
    etag = await created(world.ledger)
    row = await ownership(world.ledger, "0")
    assert (row.etag, row.owner, row.epoch, row.lease) == (etag, None, 0, LeaseState.AVAILABLE)
    assert not row.is_foreign


async def test_an_ownership_is_created_once_leased_or_not(world: World) -> None:
    await created(world.ledger)
    assert await refusal(world.ledger, CreateOwnership("0")) is Refusal.EXISTS
    row = await ownership(world.ledger, "0")
    await world.ledger.perform(Acquire("0", new_id(), row.etag))
    assert await refusal(world.ledger, CreateOwnership("0")) is Refusal.EXISTS


async def test_a_lease_is_seen_in_the_listing_and_in_the_blob(world: World) -> None:
    await leased(world.ledger)
    assert await state(world.ledger) is LeaseState.LEASED
    assert (await ownership(world.ledger, "0")).lease is LeaseState.LEASED


async def test_lease_calls_leave_the_etag_alone(world: World) -> None:
    etag, one = await leased(world.ledger)
    two = new_id()
    for operation in (
        Renew("0", one, etag),
        Change("0", one, two, etag),
        Release("0", two, etag),
        Acquire("0", one, etag),
        Break("0", etag),
    ):
        await world.ledger.perform(operation)
        assert (await ownership(world.ledger, "0")).etag == etag, operation


async def test_a_second_acquirer_is_refused(world: World) -> None:
    etag, _ = await leased(world.ledger)
    assert await refusal(world.ledger, Acquire("0", new_id(), etag)) is Refusal.HELD


async def test_acquiring_again_with_the_id_that_one_holds_is_fine(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    assert await world.ledger.perform(Acquire("0", lease_id, etag)) is None


async def test_only_the_holder_renews(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    assert await world.ledger.perform(Renew("0", lease_id, etag)) is None
    assert await refusal(world.ledger, Renew("0", new_id(), etag)) is Refusal.HELD


async def test_a_changed_lease_obeys_its_new_id_alone(world: World) -> None:
    etag, old = await leased(world.ledger)
    new = new_id()
    assert await world.ledger.perform(Change("0", old, new, etag)) is None
    assert await refusal(world.ledger, Renew("0", old, etag)) is Refusal.HELD
    assert await world.ledger.perform(Renew("0", new, etag)) is None
    assert await state(world.ledger) is LeaseState.LEASED


async def test_changing_twice_to_the_same_id_is_fine(world: World) -> None:
    etag, old = await leased(world.ledger)
    new = new_id()
    await world.ledger.perform(Change("0", old, new, etag))
    assert await world.ledger.perform(Change("0", old, new, etag)) is None
    assert await refusal(world.ledger, Change("0", old, new_id(), etag)) is Refusal.HELD


async def test_under_a_lease_id_an_ownership_is_read_while_that_lease_lasts(world: World) -> None:
    etag, one = await leased(world.ledger)
    two = new_id()
    assert await refusal(world.ledger, ReadOwnership("0", two)) is Refusal.CHANGED
    await world.ledger.perform(Change("0", one, two, etag))
    row = await world.ledger.perform(ReadOwnership("0", two))
    assert isinstance(row, Ownership)
    assert (row.etag, row.lease) == (etag, LeaseState.LEASED)
    assert await refusal(world.ledger, ReadOwnership("0", one)) is Refusal.CHANGED
    await world.ledger.perform(Release("0", two, etag))
    assert await refusal(world.ledger, ReadOwnership("0", two)) is Refusal.CHANGED


async def test_a_released_lease_is_free_for_others_at_once(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    assert await world.ledger.perform(Release("0", lease_id, etag)) is None
    assert await state(world.ledger) is LeaseState.AVAILABLE
    assert await world.ledger.perform(Acquire("0", new_id(), etag)) is None


async def test_releasing_again_is_refused_and_frees_nobody_elses_lease(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    await world.ledger.perform(Release("0", lease_id, etag))
    assert await refusal(world.ledger, Release("0", lease_id, etag)) is Refusal.HELD
    await world.ledger.perform(Acquire("0", new_id(), etag))
    assert await refusal(world.ledger, Release("0", lease_id, etag)) is Refusal.HELD
    assert await state(world.ledger) is LeaseState.LEASED


async def test_a_broken_lease_ends_at_once_for_its_holder(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    assert await world.ledger.perform(Break("0", etag)) is None
    assert await state(world.ledger) is LeaseState.BROKEN
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.HELD
    assert await refusal(world.ledger, Change("0", lease_id, new_id(), etag)) is Refusal.HELD
    write = WriteOwnership("0", lease_id, etag, ME, 1, "n")
    assert await refusal(world.ledger, write) is Refusal.CHANGED


async def test_breaking_again_is_fine_and_the_lease_can_be_taken(world: World) -> None:
    etag, _ = await leased(world.ledger)
    await world.ledger.perform(Break("0", etag))
    assert await world.ledger.perform(Break("0", etag)) is None
    assert await world.ledger.perform(Acquire("0", new_id(), etag)) is None
    assert await state(world.ledger) is LeaseState.LEASED


async def test_a_broken_lease_can_be_released_by_its_old_holder(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    await world.ledger.perform(Break("0", etag))
    assert await world.ledger.perform(Release("0", lease_id, etag)) is None
    assert await state(world.ledger) is LeaseState.AVAILABLE


@pytest.mark.parametrize("name", ["renew", "change", "release", "break"])
async def test_what_nobody_leased_cannot_be(world: World, name: str) -> None:
    etag = await created(world.ledger)
    operations: dict[str, Operation] = {
        "renew": Renew("0", new_id(), etag),
        "change": Change("0", new_id(), new_id(), etag),
        "release": Release("0", new_id(), etag),
        "break": Break("0", etag),
    }
    assert await refusal(world.ledger, operations[name]) is Refusal.HELD


@pytest.mark.parametrize("name", ["acquire", "renew", "change", "release", "break"])
async def test_every_lease_call_is_for_the_tenure_that_was_seen(world: World, name: str) -> None:
    """If-Match on each: a late duplicate cannot touch a tenure that came after."""
    old_etag, lease_id = await leased(world.ledger)
    etag = str(await world.ledger.perform(WriteOwnership("0", lease_id, old_etag, ME, 1, "a1-1")))
    if name == "acquire":
        await world.ledger.perform(Release("0", lease_id, etag))
    before = await state(world.ledger)
    operations: dict[str, Operation] = {
        "acquire": Acquire("0", lease_id, old_etag),
        "renew": Renew("0", lease_id, old_etag),
        "change": Change("0", lease_id, new_id(), old_etag),
        "release": Release("0", lease_id, old_etag),
        "break": Break("0", old_etag),
    }
    assert await refusal(world.ledger, operations[name]) is Refusal.CHANGED
    assert await state(world.ledger) is before
    if name != "acquire":
        assert await world.ledger.perform(Renew("0", lease_id, etag)) is None


async def test_a_lease_on_a_blob_that_is_gone_is_refused(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    await world.delete(Kind.OWNERSHIP, "0")
    gone = (Refusal.CHANGED, Refusal.MISSING)
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) in gone
    assert await refusal(world.ledger, Acquire("0", lease_id, etag)) in gone
    assert await refusal(world.ledger, WriteOwnership("0", lease_id, etag, ME, 1, "n")) in gone


async def test_breaking_by_hand_slowly_still_lets_nobody_renew_or_acquire(world: World) -> None:
    etag, lease_id = await leased(world.ledger)
    await world.break_by_hand("0", 10)
    assert await state(world.ledger) is LeaseState.BREAKING
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.HELD
    assert await refusal(world.ledger, Acquire("0", new_id(), etag)) is Refusal.HELD
    assert await refusal(world.ledger, Acquire("0", lease_id, etag)) is Refusal.HELD
    written = await world.ledger.perform(WriteOwnership("0", lease_id, etag, ME, 1, "n"))
    assert isinstance(written, str)
    await world.ledger.perform(Break("0", written))
    assert await state(world.ledger) is LeaseState.BROKEN
