"""An operation of the ledger ends with a reply or a LedgerError, for any answer."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contract.ledger.cosmos_world import CONTAINER, DATABASE
from contract.ledger.worlds import new_names
from support.azurite import connection_string
from support.mangling_proxy import ManglingProxy, mangling_proxy
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.cosmos.access import CosmosSettings
from tidegate.ledger.cosmos.ledger import CosmosLedger
from tidegate.model import LeaseState, Listing, Owner, Position, Presence, Roster
from tidegate.ports import (
    Acquire,
    Announce,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    Ledger,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Release,
    Renew,
    RenewPresence,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

pytestmark = pytest.mark.slow

OPERATIONS = 300
LEASE = str(uuid.uuid4())


@asynccontextmanager
async def a_ledger(kind: str, place: str, proxy_seed: int) -> AsyncIterator[Any]:
    """A ledger whose service is behind a proxy, and the proxy."""
    port = int(place.rpartition(":")[2].split("/")[0]) if kind == "cosmos" else 0
    if kind == "blob":
        port = int(BlobSettings("any", connection_string=place).host.rpartition(":")[2])
    with mangling_proxy(port, proxy_seed) as proxy:
        ledger: Ledger
        if kind == "blob":
            blobs = BlobSettings(
                f"mangled-{uuid.uuid4().hex[:12]}",
                connection_string=connection_string(proxy.port),
                create=True,
            )
            ledger = BlobLedger(blobs, new_names())
        else:
            settings = CosmosSettings(
                DATABASE,
                CONTAINER,
                connection_string=place.replace(f":{port}", f":{proxy.port}"),
                create=True,
            )
            ledger = CosmosLedger(settings, new_names())
        try:
            yield ledger, proxy
        finally:
            await ledger.close()


def an_operation(dice: random.Random, etags: list[str]) -> Operation:
    partition, etag = str(dice.randrange(3)), dice.choice(etags)
    presence = Presence("a", "", LeaseState.AVAILABLE, "1")
    return dice.choice(
        (
            List(),
            CreateOwnership(partition),
            Acquire(partition, LEASE, etag),
            Renew(partition, LEASE, etag),
            Release(partition, LEASE, etag),
            WriteOwnership(partition, LEASE, etag, Owner("a", "1"), 3, "n"),
            ReadOwnership(partition),
            ReadOwnership(partition, LEASE),
            WriteCheckpoint(partition, None, Position("5", 5), 3, "n", state=b'{"a": 1}'),
            WriteCheckpoint(partition, etag, Position("6", 6), 3, "n"),
            ReadCheckpoint(partition),
            Join("a", LEASE),
            RenewPresence("a", LEASE),
            Announce(presence, LEASE),
            Leave("a", LEASE),
            Forget("b", etag),
            WriteRoster(Roster(generation=3), ""),
            WriteRoster(Roster(generation=4), etag),
        )
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["blob", "cosmos"])
async def test_an_answer_that_is_none_fails_its_operation_and_nothing_else(
    kind: str, seed: int, request: pytest.FixtureRequest
) -> None:
    place = request.getfixturevalue({"blob": "azurite", "cosmos": "cosmos_account"}[kind])
    dice = random.Random(seed)
    etags = ["0x1"]
    refused = 0
    async with a_ledger(kind, place, seed) as (ledger, proxy):
        proxy.share = 0.0
        assert isinstance(await ledger.perform(List()), Listing)
        for number in range(OPERATIONS):
            proxy.share = 0.7
            operation = an_operation(dice, etags[-4:])
            try:
                reply = await ledger.perform(operation)
            except LedgerError as error:
                refused += 1
                # It goes to logs and to a group's status.
                assert len(str(error)) < 1_000 and "AccountKey" not in str(error)
            except Exception as error:
                raise AssertionError(f"{seed}/{number}: {operation}: {last(proxy)}") from error
            else:
                if isinstance(reply, str):
                    etags.append(reply)
        proxy.share = 0.0
        assert refused > OPERATIONS / 4
        assert len(proxy.done) > 12
        # The answers are right again.
        assert isinstance(await ledger.perform(List()), Listing)
        etag = await ledger.perform(CreateOwnership("9"))
        await ledger.perform(Acquire("9", LEASE, etag))


def last(proxy: ManglingProxy) -> str:
    return f"answer {proxy.answers}, {dict(proxy.done)}"
