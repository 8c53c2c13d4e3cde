"""What a ledger in Cosmos DB sends and costs, and what it says where it is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from azure.cosmos import CosmosClient

from contract.ledger.cosmos_world import DATABASE
from contract.ledger.worlds import checkpoint, listed, new_id, new_names, ownership, refusal
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.ledger import CosmosLedger
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import LeaseState, Owner, Position
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    LedgerError,
    List,
    Refusal,
    Renew,
    WriteCheckpoint,
    WriteOwnership,
)
from tidegate_cosmos.testing import RunningCosmos

CONTAINER = "leases"
HERE = Position("1 r -ff@e94@94", 94)


def settings_of(cosmos: RunningCosmos, container: str = CONTAINER) -> CosmosSettings:
    return CosmosSettings(DATABASE, container, connection_string=cosmos.connection_string)


@asynccontextmanager
async def opened(settings: CosmosSettings, names: GroupNames) -> AsyncIterator[CosmosLedger]:
    ledger = CosmosLedger(settings, names)
    try:
        yield ledger
    finally:
        await ledger.close()


@pytest.fixture
def cosmos_with_leases(cosmos: RunningCosmos) -> RunningCosmos:
    cosmos.add_container(DATABASE, CONTAINER)
    return cosmos


async def leased(ledger: CosmosLedger) -> tuple[str, str]:
    etag, lease_id = str(await ledger.perform(CreateOwnership("0"))), new_id()
    await ledger.perform(Acquire("0", lease_id, etag))
    return etag, lease_id


async def test_a_renewal_is_one_request(cosmos_with_leases: RunningCosmos) -> None:
    async with opened(settings_of(cosmos_with_leases), new_names()) as ledger:
        etag, lease_id = await leased(ledger)
        before = cosmos_with_leases.requests()
        for _ in range(5):
            await ledger.perform(Renew("0", lease_id, etag))
        sent = cosmos_with_leases.requests()
        assert sum(sent.values()) - sum(before.values()) == 5


async def test_what_it_costs_is_what_the_service_says(cosmos_with_leases: RunningCosmos) -> None:
    async with opened(settings_of(cosmos_with_leases), new_names()) as ledger:
        etag, lease_id = await leased(ledger)
        await ledger.perform(Renew("0", lease_id, etag))
        assert await refusal(ledger, Renew("0", new_id(), etag)) is Refusal.HELD
        await ledger.perform(List())
        charged = cosmos_with_leases.charge(DATABASE, CONTAINER)
        assert charged > 0
        assert ledger.charges.units == pytest.approx(charged, abs=2.5), "but for what opens it"


async def test_two_processes_of_one_group_agree_on_every_lease(
    cosmos_with_leases: RunningCosmos,
) -> None:
    names, settings = new_names(), settings_of(cosmos_with_leases)
    async with opened(settings, names) as one, opened(settings, names) as two:
        etag, lease_id = await leased(one)
        assert await refusal(two, Acquire("0", new_id(), etag)) is Refusal.HELD
        assert (await listed(two)).ownerships["0"].lease is LeaseState.LEASED
        other = new_id()
        # What the first saw of the document is no longer so, and it finds out.
        await two.perform(Renew("0", lease_id, etag))
        written = await one.perform(WriteOwnership("0", lease_id, etag, Owner("m", "i"), 1, "n"))
        assert await refusal(two, Renew("0", lease_id, etag)) is Refusal.CHANGED
        assert await refusal(two, Renew("0", other, str(written))) is Refusal.HELD
        assert (await ownership(two, "0")).owner == Owner("m", "i")


@pytest.mark.slow
async def test_a_newcomer_need_not_watch_a_lease_that_ended_long_ago(
    cosmos_with_leases: RunningCosmos,
) -> None:
    """By the service's clock it has ended; without it, it would have to stand a lease longer."""
    names, settings = new_names(), settings_of(cosmos_with_leases)
    async with opened(settings, names) as one, opened(settings, names) as late:
        etag, _ = await leased(one)
        for item in cosmos_with_leases.items(DATABASE, CONTAINER):
            assert item["lease"]["lasts"] == 15
        long_ago = 3600.0
        late._items.ages.told_time(one._items.server_time + long_ago)
        assert (await listed(late)).ownerships["0"].lease is LeaseState.EXPIRED
        assert await late.perform(Acquire("0", new_id(), etag)) is None


# --- refusals


async def test_a_missing_container_is_named_with_what_to_do(cosmos: RunningCosmos) -> None:
    cosmos.add_container(DATABASE, "other")
    async with opened(settings_of(cosmos, "nowhere"), new_names()) as ledger:
        with pytest.raises(LedgerError, match=r"'nowhere' not found in database 'ledgers'") as said:
            await ledger.perform(List())
        assert said.value.refusal is Refusal.ABSENT
        assert "partition key /id" in str(said.value)


async def test_a_missing_container_is_created_where_that_is_asked_for(
    cosmos: RunningCosmos,
) -> None:
    cosmos.add_container(DATABASE, "other")
    settings = replace(settings_of(cosmos, "made"), create=True)
    async with opened(settings, new_names()) as ledger:
        await leased(ledger)
    assert len(cosmos.items(DATABASE, "made")) == 1


async def test_a_container_with_another_partition_key_is_refused_and_nothing_is_written(
    cosmos: RunningCosmos,
) -> None:
    cosmos.add_container(DATABASE, "monitored", "/home")
    async with opened(settings_of(cosmos, "monitored"), new_names()) as ledger:
        with pytest.raises(LedgerError, match="has the partition key /home") as said:
            await ledger.perform(CreateOwnership("0"))
        assert said.value.refusal is Refusal.INVALID
    assert cosmos.items(DATABASE, "monitored") == []


async def test_a_wrong_key_is_refused_and_not_shown(cosmos_with_leases: RunningCosmos) -> None:
    key = "d3Jvbmcta2V5LXdyb25nLWtleS13cm9uZw=="
    endpoint = cosmos_with_leases.endpoint
    settings = CosmosSettings(DATABASE, CONTAINER, endpoint=endpoint, account_key=key)
    assert key not in repr(settings)
    async with opened(settings, new_names()) as ledger:
        with pytest.raises(LedgerError, match="account key was not accepted") as said:
            await ledger.perform(List())
        assert said.value.refusal is Refusal.DENIED
        assert key not in str(said.value)


async def test_a_state_that_was_left_half_written_is_nobodys(
    cosmos_with_leases: RunningCosmos,
) -> None:
    """The parts of a long state count only once the checkpoint names them."""
    async with opened(settings_of(cosmos_with_leases), new_names()) as ledger:
        old, new = b"old" * 600_000, b"new" * 600_000
        etag = str(await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1", state=old)))
        fault = cosmos_with_leases.inject("throttle", operations=["replace"], retry_after_ms=1)
        write = WriteCheckpoint("0", etag, Position("1 r -ff@e97@97", 97), 1, "n2", state=new)
        assert await refusal(ledger, write) is Refusal.BUSY
        assert (await checkpoint(ledger, "0")).state == old
        cosmos_with_leases.end_fault(fault)
        await ledger.perform(write)
        assert (await checkpoint(ledger, "0")).state == new
        states = [each for each in names_in(cosmos_with_leases) if "!tidegate-state!" in each]
        assert len(states) == 6, "three parts that count, and three that were left a moment ago"


async def test_parts_of_states_that_were_left_long_ago_are_removed(
    cosmos_with_leases: RunningCosmos,
) -> None:
    names, state = new_names(), b"new" * 600_000
    async with opened(settings_of(cosmos_with_leases), names) as ledger:
        left = {"id": ledger._ids.of_state(Place(Kind.CHECKPOINT, "0"), "ab" * 16, 0), "body": ""}
        assert await ledger._items.create(left) is not None
        ledger._items.ages.told_time(ledger._items.server_time + 3600)
        await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1", state=state))
        assert (await checkpoint(ledger, "0")).state == state
        assert left["id"] not in names_in(cosmos_with_leases)


async def test_a_write_whose_reply_is_lost_was_done_once(
    cosmos_with_leases: RunningCosmos,
) -> None:
    async with opened(settings_of(cosmos_with_leases), new_names()) as ledger:
        etag = str(await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
        cosmos_with_leases.inject("lose_reply", operations=["replace"], times=1)
        write = WriteCheckpoint("0", etag, Position("1 r -ff@e97@97", 97), 1, "n2")
        try:
            written = await ledger.perform(write)
        except LedgerError as lost:
            assert lost.refusal is Refusal.UNKNOWN
            assert await refusal(ledger, write) is Refusal.CHANGED
            written = (await checkpoint(ledger, "0")).etag
        found = await checkpoint(ledger, "0")
        assert (found.nonce, found.etag) == ("n2", written)


def names_in(cosmos: RunningCosmos) -> list[str]:
    return [str(item["id"]) for item in cosmos.items(DATABASE, CONTAINER)]


async def test_a_container_that_is_deleted_is_made_again_by_who_lists(
    cosmos: RunningCosmos,
) -> None:
    cosmos.add_container(DATABASE, "other")
    settings = replace(settings_of(cosmos, "made"), create=True)
    names = new_names()
    async with opened(settings, names) as one, opened(settings, names) as keeping:
        etag, lease_id = await leased(one)
        await keeping.perform(Renew("0", lease_id, etag))
        with CosmosClient(cosmos.endpoint, cosmos.key) as client:
            client.get_database_client(DATABASE).delete_container("made")
        # A ledger that only renews finds nothing.
        assert await refusal(keeping, Renew("0", lease_id, etag)) is Refusal.CHANGED
        assert (await listed(one)).ownerships == {}
        etag, lease_id = await leased(one)
        await keeping.perform(Renew("0", lease_id, etag))
    assert len(cosmos.items(DATABASE, "made")) == 1
