"""Leases that are shared with hosts of another processor: one reader, nothing lost, no fights."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract.ledger.shared_world import ME, OTHER, PARTITION, Shared, taken
from contract.ledger.worlds import checkpoint, listed, new_id, refusal
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate.ledger.cosmos.sharing import CYCLE_S
from tidegate.model import Owner
from tidegate.ports import (
    CreateOwnership,
    Join,
    LedgerError,
    List,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    WriteCheckpoint,
)

# What leases may be taken for, that have the same names.
OTHERS = {
    Dialect.JAVA_EPK: Dialect.NET_EPK,
    Dialect.NET_EPK: Dialect.JAVA_EPK,
    Dialect.JAVA_PK: Dialect.NET_V0,
    Dialect.NET_V0: Dialect.NET_EPK,
}


async def test_our_member_is_the_owner_that_other_hosts_see(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    assert (await shared.host.lease(shared.door))["Owner"] == "m1"
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    assert await shared.host.etag(shared.door) == '"94"'
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    assert (await shared.host.lease(shared.door))["Owner"] is None
    assert await shared.host.etag(shared.door) == '"94"'


async def test_a_lease_that_another_made_is_found_by_who_has_not_listed(shared: Shared) -> None:
    await shared.host.make(shared.door, '"12"')
    late = shared.another()
    found = await checkpoint(late, PARTITION)
    assert found.position == shared.at(12)
    await shared.host.remove(shared.door)
    assert await late.perform(ReadCheckpoint(PARTITION)) is None
    await shared.host.make(shared.door, '"13"')
    assert (await checkpoint(late, PARTITION)).position == shared.at(13)


async def test_a_partition_of_a_living_host_is_left_alone(shared: Shared) -> None:
    await shared.host.make(shared.door, '"12"')
    await shared.host.take(shared.door)
    listing = await listed(shared.ledger)
    row = listing.ownerships[PARTITION]
    assert (row.is_foreign, row.owner) == (True, Owner("host-1"))
    assert listing.server_time - row.modified_at < 10
    assert listing.checkpoints[PARTITION].position == shared.at(12)
    with pytest.raises(LedgerError, match="of host 'host-1'"):
        await taken(shared.ledger)
    assert (await shared.host.lease(shared.door))["Owner"] == "host-1"


async def test_what_a_host_lets_go_is_taken_up_where_it_stood(shared: Shared) -> None:
    await shared.host.make(shared.door, '"12"')
    await shared.host.take(shared.door)
    await shared.host.read_up_to(shared.door, '"57"')
    await shared.host.let_go(shared.door)
    await taken(shared.ledger)
    found = await checkpoint(shared.ledger, PARTITION)
    assert found.position == shared.at(57)
    touch = WriteCheckpoint(PARTITION, found.etag, found.position, 1, "touch")
    written = str(await shared.ledger.perform(touch))
    await shared.ledger.perform(WriteCheckpoint(PARTITION, written, shared.at(60), 1, "n2"))
    assert await shared.host.etag(shared.door) == '"60"'
    assert (await checkpoint(shared.ledger, PARTITION)).position == shared.at(60)


async def test_a_host_that_takes_a_lease_ends_our_tenure_and_is_not_written_over(
    shared: Shared,
) -> None:
    etag, lease_id = await taken(shared.ledger)
    first = str(
        await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    )
    await shared.host.take(shared.door)
    await shared.host.read_up_to(shared.door, '"120"')
    late = WriteCheckpoint(PARTITION, first, shared.at(99), 1, "n2")
    assert await refusal(shared.ledger, late) is Refusal.CHANGED
    assert await refusal(shared.another(), Renew(PARTITION, lease_id, etag)) is Refusal.CHANGED
    under = ReadOwnership(PARTITION, lease_id)
    assert await refusal(shared.ledger, under) is Refusal.CHANGED
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    assert (await shared.host.lease(shared.door))["Owner"] == "host-1"
    assert await shared.host.etag(shared.door) == '"120"'
    found = await checkpoint(shared.ledger, PARTITION)
    assert (found.position, found.epoch) == (shared.at(120), 1)


async def test_a_state_that_a_host_has_left_behind_is_told(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    write = WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1", state=b"sums")
    await shared.ledger.perform(write)
    assert not (await checkpoint(shared.ledger, PARTITION)).is_state_behind
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await shared.host.take(shared.door)
    assert not (await checkpoint(shared.ledger, PARTITION)).is_state_behind, "it has read nothing"
    await shared.host.read_up_to(shared.door, '"120"')
    found = await checkpoint(shared.ledger, PARTITION)
    assert (found.position, found.state) == (shared.at(120), b"sums")
    assert found.is_state_behind


async def test_a_renewal_stamps_the_lease_only_when_it_is_time_to(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    before = await shared.host.lease(shared.door)
    await shared.ledger.perform(Renew(PARTITION, lease_id, etag))
    assert await shared.host.lease(shared.door) == before
    shared.ledger._items.ages.told_time(shared.ledger._items.server_time + 30)
    await shared.ledger.perform(Renew(PARTITION, lease_id, etag))
    assert (await shared.host.lease(shared.door))["timestamp"] > before["timestamp"]


async def test_a_dead_hosts_lease_is_taken_after_its_expiry(shared: Shared) -> None:
    await shared.host.make(shared.door, '"12"')
    await shared.host.take(shared.door)
    assert (await listed(shared.ledger)).ownerships[PARTITION].is_foreign
    shared.processor = replace(shared.processor, expiry_s=0.0)
    await taken(shared.another())
    assert (await shared.host.lease(shared.door))["Owner"] == "m1"


async def test_one_lease_of_a_living_host_is_taken_in_a_cycle(shared: Shared) -> None:
    halves = shared.split()
    for token in map(shared.token, halves):
        await shared.host.make(token, '"12"')
        await shared.host.take(token)
    await shared.ledger.perform(Join("m1", new_id()))
    rows = (await listed(shared.ledger)).ownerships
    assert [rows[each].is_foreign for each in halves if each in rows] == [True]
    (mine,) = [each for each in halves if each not in rows]
    await taken(shared.ledger, mine)
    rows = (await listed(shared.ledger)).ownerships
    assert sorted(row.is_foreign for row in rows.values()) == [False, True]
    owners = {(await shared.host.lease(shared.token(each)))["Owner"] for each in halves}
    assert owners == {"m1", "host-1"}


async def test_our_own_members_take_over_from_each_other_by_our_own_rules(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    other = shared.another()
    assert (await listed(other)).ownerships[PARTITION].owner == ME
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await taken(other, owner=OTHER)
    assert (await shared.host.lease(shared.door))["Owner"] == "m2"


async def test_leases_that_cannot_be_read_are_flaws_and_nothing_is_written_over(
    shared: Shared,
) -> None:
    await shared.host.make(shared.door, '"12"')
    spoilt = await shared.host.lease(shared.door) | {"ContinuationToken": "eyJ=broken"}
    assert await shared.items.replace(spoilt) is not None
    listing = await listed(shared.ledger)
    assert not listing.ownerships
    assert not listing.checkpoints
    (flaw,) = listing.flaws
    assert flaw.partition == PARTITION
    assert "Nothing was overwritten" in flaw.problem
    assert await refusal(shared.ledger, CreateOwnership(PARTITION)) is Refusal.INVALID
    assert (await shared.host.lease(shared.door))["ContinuationToken"] == "eyJ=broken"


async def test_a_service_that_is_not_up_to_date_does_not_say_that_a_lease_is_gone(
    shared: Shared,
) -> None:
    """404/1002: the replica that was asked has not come as far as what was read before."""
    etag, lease_id = await taken(shared.ledger)
    write = WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1")
    await shared.ledger.perform(write)
    fault = shared.cosmos.inject("refuse", container="leases", status=404, substatus=1002)
    for operation in (
        List(),
        Renew(PARTITION, lease_id, etag),
        ReadCheckpoint(PARTITION),
        ReadOwnership(PARTITION, lease_id),
        Release(PARTITION, lease_id, etag),
    ):
        assert await refusal(shared.ledger, operation) is Refusal.UNKNOWN
    shared.cosmos.end_fault(fault)
    assert (await checkpoint(shared.ledger, PARTITION)).position == shared.at(94)
    await shared.ledger.perform(Renew(PARTITION, lease_id, etag))


async def test_leases_in_another_dialect_are_refused(shared: Shared) -> None:
    wrong = OTHERS[shared.processor.dialect]
    await shared.host.make(shared.door, '"12"')
    shared.processor = replace(shared.processor, dialect=wrong)
    with pytest.raises(LedgerError, match=r"Set ledger.cosmos.dialect to") as said:
        await shared.another().perform(List())
    assert said.value.refusal is Refusal.INVALID


def test_their_cycle_is_known() -> None:
    assert CYCLE_S == 13.0
