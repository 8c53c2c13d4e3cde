"""What goes over the wire: one request an operation, its conditions, its API version, lost replies.

A relay stands between the ledger and Azurite and writes down what it sees.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from contract.ledger.relay import Relay, running_relay
from contract.ledger.worlds import (
    CONTAINER,
    OLD_VERSION,
    checkpoint,
    listed,
    new_id,
    new_names,
    ownership,
    refusal,
)
from support.azurite import connection_string
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.model import LeaseState, Owner, Position, Presence, Roster
from tidegate.ports import (
    Acquire,
    Announce,
    Break,
    Change,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    RenewPresence,
    WriteCheckpoint,
    WriteOwnership,
    WriteRoster,
)

ME = Owner("reader-0", "a1")
HERE = Position("8589934592", 41)
THERE = Position("8589936000", 57)

# What the storage API of 2017-11-09 knows, of all that these operations could send.
KNOWN_HEADERS = {
    *("accept", "accept-encoding", "authorization", "connection", "content-length"),
    *("content-type", "host", "if-match", "if-none-match", "user-agent"),
    *("x-ms-blob-type", "x-ms-client-request-id", "x-ms-date", "x-ms-version"),
    *("x-ms-lease-action", "x-ms-lease-break-period", "x-ms-lease-duration", "x-ms-lease-id"),
    "x-ms-proposed-lease-id",
}
KNOWN_QUERY = {"comp", "include", "marker", "maxresults", "prefix", "restype"}


def port_of(connection: str) -> int:
    endpoint = dict(part.split("=", 1) for part in connection.split(";") if part)["BlobEndpoint"]
    port = urlsplit(endpoint).port
    assert port is not None
    return port


@pytest.fixture
async def relay(azurite: str) -> AsyncIterator[Relay]:
    async with running_relay(port_of(azurite)) as running:
        yield running


@pytest.fixture
async def ledger(relay: Relay) -> AsyncIterator[BlobLedger]:
    """A ledger of the old API version behind the relay, its container created."""
    opened = BlobLedger(
        BlobSettings(
            CONTAINER,
            connection_string=connection_string(relay.port),
            create=True,
            api_version=OLD_VERSION,
        ),
        new_names(),
    )
    await opened.perform(List())
    relay.requests.clear()
    yield opened
    await opened.close()


async def perform_all(ledger: BlobLedger) -> list[Operation]:
    """Every kind of operation once, in an order in which each is possible."""
    one, two, here = new_id(), new_id(), new_id()
    me = Presence("m", "", LeaseState.LEASED, "i", wants={"1": new_id()})
    done: list[Operation] = []

    async def do(operation: Operation) -> str:
        done.append(operation)
        return str(await ledger.perform(operation))

    etag = await do(CreateOwnership("0"))
    await do(Acquire("0", one, etag))
    await do(Renew("0", one, etag))
    await do(ReadOwnership("0", one))
    etag = await do(WriteOwnership("0", one, etag, ME, 1, "n"))
    await do(Change("0", one, two, etag))
    await do(Release("0", two, etag))
    await do(Acquire("0", one, etag))
    await do(Break("0", etag))
    await do(ReadOwnership("0"))
    first = await do(WriteCheckpoint("0", None, HERE, 1, "n"))
    await do(ReadCheckpoint("0"))
    first = await do(WriteCheckpoint("0", first, HERE, 1, "n1", keeps_body=True))
    await do(WriteCheckpoint("0", first, THERE, 1, "n2", state=b"s"))
    await do(ReadCheckpoint("0"))
    await do(Join("m", here))
    announced = await do(Announce(me, here))
    await do(RenewPresence("m", here))
    await do(List())
    done.append(Forget("m", announced))
    assert await refusal(ledger, done[-1]) is Refusal.CHANGED, "it is alive"
    await do(Leave("m", here))
    roster = await do(WriteRoster(Roster(generation=1), ""))
    await do(WriteRoster(Roster(generation=2), roster))
    return done


async def test_an_operation_is_one_request_but_for_the_first_join(
    relay: Relay, ledger: BlobLedger
) -> None:
    done = await perform_all(ledger)
    assert len(relay.requests) == len(done) + 2
    relay.requests.clear()
    lease_id = new_id()
    await ledger.perform(Join("n", lease_id))
    assert [r.kind for r in relay.requests] == ["PUT lease acquire", "PUT", "PUT lease acquire"]
    relay.requests.clear()
    await ledger.perform(Join("n", lease_id))
    assert [request.kind for request in relay.requests] == ["PUT lease acquire"]


async def test_every_request_carries_the_api_version_and_nothing_newer(
    relay: Relay, ledger: BlobLedger
) -> None:
    await perform_all(ledger)
    await ledger._create_container()
    kinds = {request.kind for request in relay.requests}
    assert kinds >= {
        *("DELETE", "GET", "GET list", "HEAD", "PUT", "PUT metadata"),
        *(f"PUT lease {action}" for action in ("acquire", "renew", "change", "release", "break")),
    }
    for request in relay.requests:
        assert request.headers["x-ms-version"] == OLD_VERSION, request
        assert request.headers["authorization"].startswith("SharedKey ")
        named = {name for name in request.headers if not name.startswith("x-ms-meta-")}
        assert named <= KNOWN_HEADERS, request
        assert set(request.query) <= KNOWN_QUERY, request


async def test_every_lease_call_on_an_ownership_carries_its_etag(
    relay: Relay, ledger: BlobLedger
) -> None:
    await perform_all(ledger)
    calls = [r for r in relay.requests if "lease" in r.kind and "/ownership/" in r.path]
    assert len(calls) == 6
    assert all(request.headers.get("if-match", "").startswith('"0x') for request in calls)


async def test_every_other_write_carries_a_condition_or_a_lease(
    relay: Relay, ledger: BlobLedger
) -> None:
    await perform_all(ledger)
    writes = [r for r in relay.requests if r.method in ("PUT", "DELETE") and "lease" not in r.kind]
    for request in writes:
        conditions = {"if-match", "if-none-match", "x-ms-lease-id"} & set(request.headers)
        assert conditions, request
    creates = [r for r in writes if r.headers.get("if-none-match") == "*"]
    assert {request.kind for request in creates} == {"PUT"}, "a create is a Put Blob"


async def test_a_checkpoint_is_one_put_blob_and_never_blocks(
    relay: Relay, ledger: BlobLedger
) -> None:
    etag = str(await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n", state=b"a" * 900_000)))
    await ledger.perform(WriteCheckpoint("0", etag, THERE, 1, "n2", state=b"b" * 900_000))
    assert [request.kind for request in relay.requests] == ["PUT", "PUT"]
    assert all(r.headers["x-ms-blob-type"] == "BlockBlob" for r in relay.requests)


async def test_a_checkpoint_that_keeps_its_body_is_one_conditional_set_blob_metadata(
    relay: Relay, ledger: BlobLedger
) -> None:
    etag = str(await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n")))
    relay.requests.clear()
    await ledger.perform(WriteCheckpoint("0", etag, THERE, 1, "n2", keeps_body=True))
    (request,) = relay.requests
    assert request.kind == "PUT metadata"
    assert request.headers["if-match"] == f'"{etag}"'
    assert request.headers.get("content-length", "0") == "0"


@pytest.mark.parametrize("name", ["acquire", "renew", "change", "release", "break", "write"])
async def test_a_lost_reply_is_told_as_unknown_and_not_sent_again(
    relay: Relay, ledger: BlobLedger, name: str
) -> None:
    etag, one, two = str(await ledger.perform(CreateOwnership("0"))), new_id(), new_id()
    if name != "acquire":
        await ledger.perform(Acquire("0", one, etag))
    operations: dict[str, Operation] = {
        "acquire": Acquire("0", one, etag),
        "renew": Renew("0", one, etag),
        "change": Change("0", one, two, etag),
        "release": Release("0", one, etag),
        "break": Break("0", etag),
        "write": WriteOwnership("0", one, etag, ME, 1, "n"),
    }
    relay.requests.clear()
    relay.lose = 1
    with pytest.raises(LedgerError, match=r"was cut .* may have been done") as refused:
        await ledger.perform(operations[name])
    assert refused.value.refusal is Refusal.UNKNOWN
    assert len(relay.requests) == 1
    row = await ownership(ledger, "0")
    shown = (row.lease, row.owner)
    assert shown == {
        "release": (LeaseState.AVAILABLE, None),
        "break": (LeaseState.BROKEN, None),
        "write": (LeaseState.LEASED, ME),
    }.get(name, (LeaseState.LEASED, None)), "it was done"


@pytest.mark.parametrize("keeps_body", [False, True])
async def test_a_checkpoint_whose_reply_was_lost_is_found_by_its_nonce(
    relay: Relay, ledger: BlobLedger, keeps_body: bool
) -> None:
    etag = str(await ledger.perform(WriteCheckpoint("0", None, HERE, 1, "n1")))
    relay.lose = 1
    write = WriteCheckpoint("0", etag, THERE, 1, "n2", keeps_body=keeps_body)
    assert await refusal(ledger, write) is Refusal.UNKNOWN
    assert await refusal(ledger, write) is Refusal.CHANGED
    assert (await checkpoint(ledger, "0")).nonce == "n2"


async def test_a_service_that_does_not_answer_is_given_up_in_time(
    relay: Relay, ledger: BlobLedger
) -> None:
    relay.is_silent = True
    relay.requests.clear()
    begun = time.monotonic()
    ends = await asyncio.gather(
        refusal(ledger, List()),
        refusal(ledger, ReadCheckpoint("0")),
        refusal(ledger, WriteCheckpoint("0", None, HERE, 1, "n")),
        refusal(ledger, Renew("0", new_id(), "0x1")),
    )
    assert set(ends) == {Refusal.UNKNOWN}
    # In its time, and not tried again.
    assert 4.9 <= time.monotonic() - begun < 20
    assert len(relay.requests) == 4


async def test_a_listing_of_many_pages_is_whole(relay: Relay) -> None:
    settings = BlobSettings(
        CONTAINER, connection_string=connection_string(relay.port), create=True, page_size=3
    )
    ledger = BlobLedger(settings, new_names())
    try:
        for partition in range(10):
            await ledger.perform(CreateOwnership(str(partition)))
        relay.requests.clear()
        listing = await listed(ledger)
        assert set(listing.ownerships) == {str(partition) for partition in range(10)}
        assert [request.kind for request in relay.requests] == ["GET list"] * 4
    finally:
        await ledger.close()
