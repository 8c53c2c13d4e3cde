"""Leases that are shared with hosts of another processor: one reader, nothing lost, no fights."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

import pytest

from contract.ledger.worlds import checkpoint, listed, new_id, refusal
from support.foreign_host import ForeignHost
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate.ledger.cosmos.leases import Processor
from tidegate.ledger.cosmos.positions import position_of
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.cosmos.shared import SharedLedger
from tidegate.ledger.cosmos.sharing import CYCLE_S
from tidegate.ledger.layout import GroupNames
from tidegate.model import Owner, Position
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    Join,
    Ledger,
    LedgerError,
    List,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
)
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import place_of
from tidegate.sources.cosmos.ranges import WHOLE
from tidegate_cosmos.testing import RunningCosmos

ME, OTHER = Owner("m1", "a"), Owner("m2", "b")
PARTITION, TOKEN = WHOLE.id, "-FF"
HALVES = ("-1fffffffffffffffffffffffffffffff", "1fffffffffffffffffffffffffffffff-ff")
DIALECTS = (Dialect.JAVA_EPK, Dialect.NET_EPK)


@dataclass
class Shared:
    """A group of ours, and hosts of another processor."""

    cosmos: RunningCosmos
    processor: Processor
    ledger: SharedLedger
    host: ForeignHost
    items: LeaseContainer
    stack: AsyncExitStack

    @property
    def rid(self) -> str:
        return self.ledger._leases.rid

    def at(self, lsn: int, into: tuple[str, ...] = ()) -> Position:
        here = position_of(f'"{lsn}"', WHOLE, self.rid)
        return replace(place_of(here, PARTITION), into=into).position

    def another(self) -> SharedLedger:
        settings = CosmosSettings("d", "leases", connection_string=self.cosmos.connection_string)
        ledger = SharedLedger(settings, GroupNames("h", "d", "g"), self.processor)
        self.stack.push_async_callback(ledger.close)
        return ledger


@pytest.fixture(params=DIALECTS)
async def shared(request: pytest.FixtureRequest, cosmos: RunningCosmos) -> AsyncIterator[Shared]:
    cosmos.add_container("d", "leases")
    cosmos.add_container("d", "monitored", "/home", ranges=1)
    settings = CosmosSettings("d", "leases", connection_string=cosmos.connection_string)
    processor = Processor(request.param, replace(settings, container="monitored"), "jv")
    async with AsyncExitStack() as stack:
        ledger = SharedLedger(settings, GroupNames("h", "d", "g"), processor)
        stack.push_async_callback(ledger.close)
        await ledger.perform(List())
        items = LeaseContainer(settings)
        stack.push_async_callback(items.close)
        await items.below("none")
        of = ledger._leases.of
        host = ForeignHost(items, of, request.param, "jv")
        yield Shared(cosmos, processor, ledger, host, items, stack)


async def taken(ledger: Ledger, partition: str = PARTITION, owner: Owner = ME) -> tuple[str, str]:
    """A partition that is free, up to the epoch: its ETag and the lease's id."""
    row = (await listed(ledger)).ownerships.get(partition)
    etag = row.etag if row is not None else str(await ledger.perform(CreateOwnership(partition)))
    lease_id = new_id()
    await ledger.perform(Acquire(partition, lease_id, etag))
    epoch = (row.epoch if row is not None else 0) + 1
    write = WriteOwnership(partition, lease_id, etag, owner, epoch, "n")
    return str(await ledger.perform(write)), lease_id


async def test_our_member_is_the_owner_that_other_hosts_see(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    assert (await shared.host.lease(TOKEN))["Owner"] == "m1"
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    assert await shared.host.etag(TOKEN) == '"94"'
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    assert (await shared.host.lease(TOKEN))["Owner"] is None
    assert await shared.host.etag(TOKEN) == '"94"'


async def test_a_partition_of_a_living_host_is_left_alone(shared: Shared) -> None:
    await shared.host.make(TOKEN, '"12"')
    await shared.host.take(TOKEN)
    listing = await listed(shared.ledger)
    row = listing.ownerships[PARTITION]
    assert (row.is_foreign, row.owner) == (True, Owner("host-1"))
    assert listing.server_time - row.modified_at < 10
    assert listing.checkpoints[PARTITION].position == shared.at(12)
    with pytest.raises(LedgerError, match="of host 'host-1'"):
        await taken(shared.ledger)
    assert (await shared.host.lease(TOKEN))["Owner"] == "host-1"


async def test_what_a_host_lets_go_is_taken_up_where_it_stood(shared: Shared) -> None:
    await shared.host.make(TOKEN, '"12"')
    await shared.host.take(TOKEN)
    await shared.host.read_up_to(TOKEN, '"57"')
    await shared.host.let_go(TOKEN)
    await taken(shared.ledger)
    found = await checkpoint(shared.ledger, PARTITION)
    assert found.position == shared.at(57)
    touch = WriteCheckpoint(PARTITION, found.etag, found.position, 1, "touch")
    written = str(await shared.ledger.perform(touch))
    await shared.ledger.perform(WriteCheckpoint(PARTITION, written, shared.at(60), 1, "n2"))
    assert await shared.host.etag(TOKEN) == '"60"'
    assert (await checkpoint(shared.ledger, PARTITION)).position == shared.at(60)


async def test_a_host_that_takes_a_lease_ends_our_tenure_and_is_not_written_over(
    shared: Shared,
) -> None:
    etag, lease_id = await taken(shared.ledger)
    first = str(
        await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    )
    await shared.host.take(TOKEN)
    await shared.host.read_up_to(TOKEN, '"120"')
    late = WriteCheckpoint(PARTITION, first, shared.at(99), 1, "n2")
    assert await refusal(shared.ledger, late) is Refusal.CHANGED
    assert await refusal(shared.another(), Renew(PARTITION, lease_id, etag)) is Refusal.CHANGED
    under = ReadOwnership(PARTITION, lease_id)
    assert await refusal(shared.ledger, under) is Refusal.CHANGED
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    assert (await shared.host.lease(TOKEN))["Owner"] == "host-1"
    assert await shared.host.etag(TOKEN) == '"120"'
    found = await checkpoint(shared.ledger, PARTITION)
    assert (found.position, found.epoch) == (shared.at(120), 1)


async def test_a_state_that_a_host_has_left_behind_is_told(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    write = WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1", state=b"sums")
    await shared.ledger.perform(write)
    assert not (await checkpoint(shared.ledger, PARTITION)).is_state_behind
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await shared.host.take(TOKEN)
    assert not (await checkpoint(shared.ledger, PARTITION)).is_state_behind, "it has read nothing"
    await shared.host.read_up_to(TOKEN, '"120"')
    found = await checkpoint(shared.ledger, PARTITION)
    assert (found.position, found.state) == (shared.at(120), b"sums")
    assert found.is_state_behind


async def test_a_renewal_stamps_the_lease_only_when_it_is_time_to(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    before = await shared.host.lease(TOKEN)
    await shared.ledger.perform(Renew(PARTITION, lease_id, etag))
    assert await shared.host.lease(TOKEN) == before
    shared.ledger._items.ages.told_time(shared.ledger._items.server_time + 30)
    await shared.ledger.perform(Renew(PARTITION, lease_id, etag))
    assert (await shared.host.lease(TOKEN))["timestamp"] > before["timestamp"]


async def test_a_dead_hosts_lease_is_taken_after_its_expiry(shared: Shared) -> None:
    await shared.host.make(TOKEN, '"12"')
    await shared.host.take(TOKEN)
    assert (await listed(shared.ledger)).ownerships[PARTITION].is_foreign
    shared.processor = replace(shared.processor, expiry_s=0.0)
    await taken(shared.another())
    assert (await shared.host.lease(TOKEN))["Owner"] == "m1"


async def test_one_lease_of_a_living_host_is_taken_in_a_cycle(shared: Shared) -> None:
    for token in (each.upper() for each in HALVES):
        await shared.host.make(token, '"12"')
        await shared.host.take(token)
    await shared.ledger.perform(Join("m1", new_id()))
    rows = (await listed(shared.ledger)).ownerships
    assert [rows[each].is_foreign for each in HALVES if each in rows] == [True]
    (mine,) = [each for each in HALVES if each not in rows]
    await taken(shared.ledger, mine)
    rows = (await listed(shared.ledger)).ownerships
    assert sorted(row.is_foreign for row in rows.values()) == [False, True]
    owners = {(await shared.host.lease(each.upper()))["Owner"] for each in HALVES}
    assert owners == {"m1", "host-1"}


async def test_our_own_members_take_over_from_each_other_by_our_own_rules(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    other = shared.another()
    assert (await listed(other)).ownerships[PARTITION].owner == ME
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await taken(other, owner=OTHER)
    assert (await shared.host.lease(TOKEN))["Owner"] == "m2"


async def test_new_leases_stand_where_ours_ended_before_the_old_one_goes(shared: Shared) -> None:
    await taken(shared.ledger)
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, HALVES), 1, "n1"))
    assert await refusal(shared.ledger, CreateOwnership(HALVES[0])) is Refusal.BUSY
    listing = await listed(shared.ledger)
    assert [await shared.host.etag(each.upper()) for each in HALVES] == ['"94"', '"94"']
    with pytest.raises(AssertionError, match="there is no lease"):
        await shared.host.lease(TOKEN)
    assert listing.checkpoints[PARTITION].position == shared.at(94, HALVES)
    await taken(shared.ledger, HALVES[0])


async def test_what_a_host_begins_and_splits_after_our_split_are_the_partitions(
    shared: Shared,
) -> None:
    """An end of ours does not go on asking for parts that another host has begun."""
    await taken(shared.ledger)
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94, HALVES), 3, "n1"))
    await listed(shared.ledger)
    lineage = FeedRanges(keeps_merged=True)
    seen = lineage.tiling(HALVES, await listed(shared.ledger))
    assert dict(seen.parents) == dict.fromkeys(HALVES, (PARTITION,)), "nobody has begun them"
    await shared.host.take(HALVES[0].upper())
    seen = lineage.tiling(HALVES, await listed(shared.ledger))
    assert (seen.partitions, dict(seen.parents)) == (HALVES, {HALVES[1]: (PARTITION,)})
    quarters = ("-0fffffffffffffffffffffffffffffff", f"0{'f' * 31}-1{'f' * 31}")
    for each in quarters:
        await shared.host.make(each.upper(), '"99"')
    await shared.host.remove(HALVES[0].upper())
    parts = (*quarters, HALVES[1])
    seen = lineage.tiling(parts, await listed(shared.ledger))
    assert seen.partitions == parts
    await shared.host.take(HALVES[1].upper())
    seen = lineage.tiling(parts, await listed(shared.ledger))
    assert (seen.partitions, dict(seen.parents), dict(seen.ending)) == (parts, {}, {})


async def test_a_range_that_a_host_has_split_is_no_more_and_its_parts_are(shared: Shared) -> None:
    etag, lease_id = await taken(shared.ledger)
    await shared.ledger.perform(WriteCheckpoint(PARTITION, None, shared.at(94), 1, "n1"))
    await shared.ledger.perform(Release(PARTITION, lease_id, etag))
    await shared.host.take(TOKEN)
    for each in HALVES:
        await shared.host.make(each.upper(), '"99"')
    await shared.host.remove(TOKEN)
    listing = await listed(shared.ledger)
    assert listing.checkpoints.keys() == set(HALVES)
    assert listing.ownerships == {}
    assert {place.position.sequence for place in listing.checkpoints.values()} == {99}
    refused = Renew(PARTITION, lease_id, etag)
    assert await refusal(shared.ledger, refused) in (Refusal.CHANGED, Refusal.HELD)


async def test_leases_that_cannot_be_read_are_flaws_and_nothing_is_written_over(
    shared: Shared,
) -> None:
    await shared.host.make(TOKEN, '"12"')
    spoilt = await shared.host.lease(TOKEN) | {"ContinuationToken": "eyJ=broken"}
    assert await shared.items.replace(spoilt) is not None
    listing = await listed(shared.ledger)
    assert not listing.ownerships
    assert not listing.checkpoints
    (flaw,) = listing.flaws
    assert flaw.partition == PARTITION
    assert "Nothing was overwritten" in flaw.problem
    assert await refusal(shared.ledger, CreateOwnership(PARTITION)) is Refusal.INVALID
    assert (await shared.host.lease(TOKEN))["ContinuationToken"] == "eyJ=broken"


async def test_leases_in_another_dialect_are_refused(shared: Shared) -> None:
    wrong = next(each for each in DIALECTS if each is not shared.processor.dialect)
    await shared.host.make(TOKEN, '"12"')
    shared.processor = replace(shared.processor, dialect=wrong)
    with pytest.raises(LedgerError, match=r"Set ledger.cosmos.dialect to") as said:
        await shared.another().perform(List())
    assert said.value.refusal is Refusal.INVALID


def test_their_cycle_is_known() -> None:
    assert CYCLE_S == 13.0
