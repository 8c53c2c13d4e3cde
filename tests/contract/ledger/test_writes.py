"""The contract on writes: conditions, leases, and what a repeat after a lost reply finds."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from contract.ledger.worlds import World, checkpoint, listed, new_id, ownership, refusal
from tidegate.ledger.layout import Kind
from tidegate.model import BEGINNING, Figures, Owner, Position, Presence, Roster
from tidegate.model import LeaseState as State
from tidegate.ports import (
    Acquire,
    Announce,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    Ledger,
    LedgerError,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    RenewPresence,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

ME = Owner("reader-0", "a1")
HERE = Position("8589934592", 41)
THERE = Position("8589936000", 57)


def present(name: str = "reader-0") -> Presence:
    wants = {"5": new_id()}
    return Presence(
        name, "", State.AVAILABLE, "a1", 2.0, {"3": 0.25}, wants, declines=frozenset("3")
    )


async def owned(ledger: Ledger) -> tuple[str, str]:
    """An ownership under a lease: its ETag and the lease's id."""
    etag, lease_id = str(await ledger.perform(CreateOwnership("0"))), new_id()
    await ledger.perform(Acquire("0", lease_id, etag))
    return etag, lease_id


async def test_an_owner_writes_itself_its_epoch_and_its_nonce(world: World) -> None:
    etag, lease_id = await owned(world.ledger)
    written = await world.ledger.perform(WriteOwnership("0", lease_id, etag, ME, 7, "a1-3"))
    row = await ownership(world.ledger, "0")
    assert (row.owner, row.epoch, row.nonce, row.etag) == (ME, 7, "a1-3", written)
    assert written != etag
    assert row.lease is State.LEASED
    assert row == (await listed(world.ledger)).ownerships["0"]


async def test_an_owner_leaves_its_epoch_when_it_goes(world: World) -> None:
    etag, lease_id = await owned(world.ledger)
    await world.ledger.perform(WriteOwnership("0", lease_id, etag, None, 7, "a1-4"))
    row = await ownership(world.ledger, "0")
    assert (row.owner, row.epoch, row.is_foreign) == (None, 7, False)


async def test_without_the_lease_nobody_writes_an_ownership(world: World) -> None:
    etag, _ = await owned(world.ledger)
    write = WriteOwnership("0", new_id(), etag, ME, 1, "n")
    assert await refusal(world.ledger, write) is Refusal.CHANGED
    assert (await ownership(world.ledger, "0")).etag == etag


async def test_a_write_with_a_lease_that_nobody_has_is_refused(world: World) -> None:
    etag = str(await world.ledger.perform(CreateOwnership("0")))
    write = WriteOwnership("0", new_id(), etag, ME, 1, "n")
    assert await refusal(world.ledger, write) is Refusal.CHANGED


async def test_an_ownership_that_is_not_there_reads_as_none(world: World) -> None:
    assert await world.ledger.perform(ReadOwnership("0")) is None


async def test_a_checkpoint_that_is_not_there_reads_as_none(world: World) -> None:
    assert await world.ledger.perform(ReadCheckpoint("0")) is None


async def test_a_checkpoint_is_created_by_one_of_many(world: World) -> None:
    writes = [WriteCheckpoint("0", None, HERE, 1, f"n{i}") for i in range(8)]
    ends = await asyncio.gather(
        *(world.ledger.perform(write) for write in writes), return_exceptions=True
    )
    etags = [end for end in ends if isinstance(end, str)]
    refusals = [end.refusal for end in ends if isinstance(end, LedgerError)]
    assert len(etags) == 1
    assert refusals == [Refusal.EXISTS] * 7
    assert (await checkpoint(world.ledger, "0")).etag == etags[0]


async def test_a_checkpoint_keeps_everything_that_it_was_given(world: World) -> None:
    write = WriteCheckpoint("0", None, HERE, 3, "a1-9", 1_763_465_123.25, "rw-1", b"\x00state\n")
    etag = await world.ledger.perform(write)
    found = await checkpoint(world.ledger, "0")
    assert found.etag == etag
    assert (found.position, found.epoch, found.nonce) == (HERE, 3, "a1-9")
    assert (found.enqueued_at, found.rewound_by) == (1_763_465_123.25, "rw-1")
    assert (found.state, found.state_position) == (b"\x00state\n", HERE)
    assert not found.is_state_behind


# aiohttp warns of bodies above 1 MB that are given as bytes, as the storage SDK gives them.
@pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")
@pytest.mark.parametrize("state", [None, b"", b"x" * 3_000_000], ids=["none", "empty", "large"])
async def test_state_and_position_are_written_and_read_together(
    world: World, state: bytes | None
) -> None:
    etag = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1", state=b"old")))
    await world.ledger.perform(WriteCheckpoint("0", etag, THERE, 1, "n2", state=state))
    found = await checkpoint(world.ledger, "0")
    assert (found.position, found.state) == (THERE, state)
    assert found.state_position == (None if state is None else THERE)


async def test_a_checkpoint_without_a_state_is_written_without_its_body(world: World) -> None:
    first = WriteCheckpoint("0", None, HERE, 1, "n1", 12.5, "rw-1")
    etag = str(await world.ledger.perform(first))
    write = WriteCheckpoint("0", etag, THERE, 2, "n2", keeps_body=True)
    written = await world.ledger.perform(write)
    found = await checkpoint(world.ledger, "0")
    assert (found.etag, found.position, found.epoch, found.nonce) == (written, THERE, 2, "n2")
    assert (found.enqueued_at, found.rewound_by, found.state) == (None, "", None)
    assert await refusal(world.ledger, write) is Refusal.CHANGED, "its ETag has passed"


async def test_what_a_write_without_its_body_finds_there_goes_on_standing_there(
    world: World,
) -> None:
    """So it is sent only by who knows that there is nothing."""
    etag = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1", state=b"old")))
    await world.ledger.perform(WriteCheckpoint("0", etag, THERE, 1, "n2", keeps_body=True))
    found = await checkpoint(world.ledger, "0")
    assert (found.position, found.state, found.state_position) == (THERE, b"old", HERE)
    assert found.is_state_behind


async def test_a_write_without_its_body_makes_no_checkpoint(world: World) -> None:
    etag = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
    await world.delete(Kind.CHECKPOINT, "0")
    write = WriteCheckpoint("0", etag, THERE, 1, "n2", keeps_body=True)
    assert await refusal(world.ledger, write) in (Refusal.CHANGED, Refusal.MISSING)
    assert await world.ledger.perform(ReadCheckpoint("0")) is None


@pytest.mark.parametrize("etag", [None, "0x1"])
def test_what_is_new_or_has_a_state_cannot_be_written_without_its_body(etag: str | None) -> None:
    with pytest.raises(ValueError, match="written with its body"):
        WriteCheckpoint("0", etag, HERE, 1, "n", state=b"s" if etag else None, keeps_body=True)


async def test_the_beginning_is_a_checkpoint_like_others(world: World) -> None:
    await world.ledger.perform(WriteCheckpoint("0", None, BEGINNING, 1, "n"))
    assert (await checkpoint(world.ledger, "0")).position == BEGINNING


async def test_a_checkpoint_follows_the_one_that_was_seen(world: World) -> None:
    first = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
    await world.ledger.perform(WriteCheckpoint("0", first, THERE, 1, "n2"))
    late = WriteCheckpoint("0", first, HERE, 9, "n3")
    assert await refusal(world.ledger, late) is Refusal.CHANGED
    assert (await checkpoint(world.ledger, "0")).position == THERE


async def test_a_repeat_after_a_lost_reply_finds_its_own_nonce(world: World) -> None:
    first = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
    write = WriteCheckpoint("0", first, THERE, 1, "n2")
    adopted = await world.ledger.perform(write)
    assert await refusal(world.ledger, write) is Refusal.CHANGED
    found = await checkpoint(world.ledger, "0")
    assert (found.nonce, found.etag) == ("n2", adopted)


async def test_a_repeated_create_finds_its_own_nonce(world: World) -> None:
    write = WriteCheckpoint("0", None, HERE, 1, "n1")
    await world.ledger.perform(write)
    assert await refusal(world.ledger, write) is Refusal.EXISTS
    assert (await checkpoint(world.ledger, "0")).nonce == "n1"


async def test_a_deleted_checkpoint_is_not_written_under_its_old_etag(world: World) -> None:
    etag = str(await world.ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
    await world.delete(Kind.CHECKPOINT, "0")
    refused = await refusal(world.ledger, WriteCheckpoint("0", etag, THERE, 1, "n2"))
    assert refused in (Refusal.CHANGED, Refusal.MISSING)
    assert await world.ledger.perform(ReadCheckpoint("0")) is None


async def test_a_member_is_present_from_joining_on(world: World) -> None:
    assert await world.ledger.perform(Join("Reader-0", new_id())) is None
    row = (await listed(world.ledger)).members["Reader-0"]
    assert (row.is_alive, row.incarnation, dict(row.wants)) == (True, "", {})


async def test_a_second_process_of_one_name_cannot_join(world: World) -> None:
    lease_id = new_id()
    await world.ledger.perform(Join("reader-0", lease_id))
    assert await refusal(world.ledger, Join("reader-0", new_id())) is Refusal.HELD
    assert await refusal(world.ledger, Join("READER-0", new_id())) is Refusal.HELD
    assert await world.ledger.perform(Join("reader-0", lease_id)) is None


async def test_a_member_says_what_it_wants_and_declines_under_its_lease(world: World) -> None:
    lease_id, said = new_id(), present()
    await world.ledger.perform(Join("reader-0", lease_id))
    etag = await world.ledger.perform(Announce(said, lease_id))
    row = (await listed(world.ledger)).members["reader-0"]
    assert (row.incarnation, row.weight, row.etag) == (said.incarnation, said.weight, etag)
    assert (dict(row.loads), dict(row.wants)) == (said.loads, said.wants)
    assert row.declines == {"3"}
    assert await world.ledger.perform(RenewPresence("reader-0", lease_id)) is None
    assert await refusal(world.ledger, Announce(said, new_id())) is Refusal.CHANGED
    assert await refusal(world.ledger, RenewPresence("reader-0", new_id())) is Refusal.HELD


async def test_what_a_member_says_of_its_partitions_is_dated_by_the_services_clock(
    world: World,
) -> None:
    lease_id = new_id()
    said = replace(
        present(),
        pod_uid="5d4f8b7c-9",
        started_at=1_700_000_000.125,
        stuck=frozenset({"3", "é,="}),
        open_circuits=frozenset({"é,="}),
        unread=frozenset({"7", "é,="}),
        trouble="amqp:not-found: no 'größe', 100% sure; ",
        figures={"3": Figures(120, 100, 2.5, 10.1, 9.5, 0.25), "7": Figures(), "é": Figures(5, -1)},
    )
    await world.ledger.perform(Join("reader-0", lease_id))
    assert (await listed(world.ledger)).members["reader-0"].figures_at == 0.0
    await world.ledger.perform(Announce(said, lease_id))
    listing = await listed(world.ledger)
    row = listing.members["reader-0"]
    assert -2 <= listing.server_time - row.figures_at <= 60
    assert replace(row, etag="", lease=said.lease, figures_at=0.0) == said
    assert await world.ledger.perform(RenewPresence("reader-0", lease_id)) is None
    assert (await listed(world.ledger)).members["reader-0"].figures_at == row.figures_at


async def test_a_member_that_leaves_is_gone_and_leaving_twice_is_fine(world: World) -> None:
    lease_id = new_id()
    await world.ledger.perform(Join("reader-0", lease_id))
    assert await world.ledger.perform(Leave("reader-0", lease_id)) is None
    assert (await listed(world.ledger)).members == {}
    assert await world.ledger.perform(Leave("reader-0", lease_id)) is None
    missing = RenewPresence("reader-0", lease_id)
    assert await refusal(world.ledger, missing) is Refusal.MISSING


async def test_nobody_can_make_another_member_leave(world: World) -> None:
    await world.ledger.perform(Join("reader-0", new_id()))
    assert await refusal(world.ledger, Leave("reader-0", new_id())) is Refusal.CHANGED
    etag = (await listed(world.ledger)).members["reader-0"].etag
    assert await refusal(world.ledger, Forget("reader-0", etag)) is Refusal.CHANGED
    assert (await listed(world.ledger)).members["reader-0"].is_alive


async def test_the_roster_has_one_writer_at_a_time(world: World) -> None:
    assert (await listed(world.ledger)).roster is None
    first = str(await world.ledger.perform(WriteRoster(Roster(generation=1), "")))
    assert await refusal(world.ledger, WriteRoster(Roster(generation=9), "")) is Refusal.EXISTS
    second = await world.ledger.perform(WriteRoster(Roster(generation=2), first))
    assert await refusal(world.ledger, WriteRoster(Roster(generation=9), first)) is Refusal.CHANGED
    roster = (await listed(world.ledger)).roster
    assert roster is not None
    assert (roster.generation, roster.etag) == (2, second)


async def test_every_write_gives_an_etag_that_was_never_there(world: World) -> None:
    etag, lease_id = await owned(world.ledger)
    seen = {etag}
    for epoch in range(1, 6):
        operation: Operation = WriteOwnership("0", lease_id, etag, ME, epoch, "same")
        etag = str(await world.ledger.perform(operation))
        seen.add(etag)
    assert len(seen) == 6
