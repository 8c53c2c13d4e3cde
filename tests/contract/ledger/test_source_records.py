"""Records of sources: the identity of a source, beside the hosts that it was read under."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from contract.ledger.cosmos_world import CONTAINER as LEASES
from contract.ledger.cosmos_world import DATABASE
from contract.ledger.worlds import CONTAINER, listed, new_id
from tidegate.admission import Admission, SourceRenamedError
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.ledger import CosmosLedger
from tidegate.ledger.layout import GroupNames
from tidegate.model import SourceRecord
from tidegate.ports import Join, Ledger, RecordSource

FIRST, SECOND = "a.servicebus.windows.net", "alias.servicebus.windows.net"
HUB = "Telemetry, created 2026-11-20"

Open = Callable[[str], Ledger]


@pytest.fixture(params=["blob", "cosmos"])
async def under(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Opens the ledger of one group under a host."""
    hub = f"Hub-{uuid.uuid4().hex[:6]}"
    async with AsyncExitStack() as stack:

        def opened(host: str) -> Ledger:
            names = GroupNames(host, hub, "$Default")
            ledger: Ledger
            if request.param == "blob":
                azurite = request.getfixturevalue("azurite")
                blobs = BlobSettings(CONTAINER, connection_string=azurite, create=True)
                ledger = BlobLedger(blobs, names)
            else:
                account = request.getfixturevalue("cosmos_account")
                settings = CosmosSettings(DATABASE, LEASES, connection_string=account)
                ledger = CosmosLedger(settings, names)
            stack.push_async_callback(ledger.close)
            return ledger

        yield opened


async def record(ledger: Ledger, identity: str, *, takes_over: bool = False) -> dict[str, str]:
    found = await ledger.perform(RecordSource(identity, takes_over))
    assert isinstance(found, tuple)
    assert all(isinstance(each, SourceRecord) and each.recorded_at > 0 for each in found)
    return {each.host: each.identity for each in found}


async def test_a_source_is_recorded_once_and_no_part_of_the_ledger(under: Open) -> None:
    ledger = under(FIRST)
    for _ in range(2):
        assert await record(ledger, HUB) == {FIRST: HUB}
    assert await record(ledger, "created again") == {FIRST: "created again"}
    await ledger.perform(Join("m", new_id()))
    listing = await listed(ledger)
    assert set(listing.members) == {"m"}
    assert listing.flaws == ()


async def test_the_same_source_under_another_host_is_not_recorded_but_told(under: Open) -> None:
    assert await record(under(FIRST), HUB) == {FIRST: HUB}
    assert await record(under(SECOND), HUB) == {FIRST: HUB}


async def test_another_source_of_the_same_name_has_a_record_of_its_own(under: Open) -> None:
    await record(under(FIRST), HUB)
    assert await record(under(SECOND), "another hub") == {FIRST: HUB, SECOND: "another hub"}


async def test_who_takes_over_is_recorded_alone(under: Open) -> None:
    await record(under(FIRST), HUB)
    assert await record(under(SECOND), HUB, takes_over=True) == {SECOND: HUB}
    assert await record(under(FIRST), HUB) == {SECOND: HUB}


async def test_a_member_is_admitted_under_the_first_host_and_refused_under_another(
    under: Open,
) -> None:
    async def identity() -> str:
        return HUB

    def admission(host: str, *, is_told: bool = False) -> Admission:
        return Admission(identity, "hub 'telemetry'", host, is_told=is_told)

    first = admission(FIRST)
    await first.check(under(FIRST))
    with pytest.raises(SourceRenamedError) as refused:
        await admission(SECOND).check(under(SECOND))
    said = str(refused.value)
    assert f"spec.ledger.host: {FIRST} to continue" in said
    assert f"spec.ledger.host: {SECOND} to start over" in said
    await admission(FIRST, is_told=True).check(under(FIRST))
    await admission(SECOND, is_told=True).check(under(SECOND))
    with pytest.raises(SourceRenamedError, match=SECOND):
        await admission(FIRST).check(under(FIRST))
    # Where the records were deleted, who runs is in the right.
    first.again()
    await first.check(under(FIRST))
    with pytest.raises(SourceRenamedError, match=FIRST):
        await admission(SECOND).check(under(SECOND))
