"""What the operator asks of a container, and a ledger in a lease container, on tidegate-cosmos.

Whatever is wrong is said apart, in words, without the key; and nothing is written over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from azure.cosmos import CosmosClient

from contract.operator.one_setup import HOME, SETTINGS
from support.foreign_leases import documents, write_leases
from support.lease_samples import JAVA_EPK
from support.wait import wait_until_async
from tidegate.commands.wiring import Setup
from tidegate.model import Checkpoint, Listing, Roster
from tidegate.ports import LedgerError, WriteRoster
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import FeedRange, range_of
from tidegate_cosmos.testing import RunningCosmos
from tidegate_operator.hubs import Hubs
from tidegate_operator.ledgers import Ledgers
from tidegate_operator.model import Ends, Failure, GroupKey, LedgerTrouble, LedgerView
from tidegate_operator.secrets import Sight
from tidegate_operator.spec import read_spec

WRONG = "d3JvbmctYW5kLXNlY3JldA=="


@pytest.fixture
async def hubs(woken: list[GroupKey]) -> AsyncIterator[Hubs]:
    hubs = Hubs(SETTINGS, time.time, woken.append)
    yield hubs
    await hubs.close()


@pytest.fixture
async def ledgers(woken: list[GroupKey]) -> AsyncIterator[Ledgers]:
    ledgers = Ledgers(SETTINGS, time.time, lambda: 0.5, woken.append)
    yield ledgers
    await ledgers.close()


def setup_of(cosmos: RunningCosmos, *, key: str = "", leases: str = "leases", **more: Any) -> Setup:
    """A group of shop/orders whose ledger is a lease container; `key` in place of the right one."""
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "home"},
        "spec": {
            "source": {
                "cosmos": {
                    "database": "shop",
                    "container": "orders",
                    "connectionString": {"secret": "s", "key": "cosmos"},
                    "start": "earliest",
                }
            },
            "ledger": {
                "cosmos": {
                    "database": "shop",
                    "container": leases,
                    "connectionString": {"secret": "s", "key": "cosmos"},
                    **more,
                }
            },
            "handler": {"code": "handler:handle"},
        },
    }
    address = f"AccountEndpoint={cosmos.endpoint};AccountKey={key or cosmos.key};"
    return Sight({("s", "cosmos"): address}, {"s": "1"}, "", ()).setup_of(
        "home", read_spec(document)
    )


def write(cosmos: RunningCosmos, container: str, *items: dict[str, Any]) -> None:
    with CosmosClient(cosmos.endpoint, cosmos.key) as client:
        found = client.get_database_client("shop").get_container_client(container)
        for item in items:
            found.create_item(item)


async def looked(
    hubs: Hubs, setup: Setup, woken: list[GroupKey], listing: Listing | None = None
) -> tuple[Ends | None, Failure | None]:
    woken.clear()
    hubs.look(HOME, setup, is_anybody_alive=False, listing=listing)
    await wait_until_async(lambda: HOME in woken, 30, "the container's answer")
    return hubs.look(HOME, setup, is_anybody_alive=False, listing=listing)


async def listed(ledgers: Ledgers) -> tuple[LedgerView | None, Failure | None]:
    """A listing that is newer than the last write, or why there is none."""
    async with asyncio.timeout(30):
        while True:
            found = await ledgers.look(HOME)
            if found != (None, None):
                return found


async def test_a_container_says_its_ranges_and_what_waits_in_each(
    hubs: Hubs, cosmos: RunningCosmos, woken: list[GroupKey]
) -> None:
    cosmos.add_container("shop", "orders", "/id", ranges=2)
    write(cosmos, "orders", *({"id": str(number)} for number in range(20)))
    ends, failure = await looked(hubs, setup_of(cosmos), woken)
    assert failure is None and ends is not None
    assert list(ends.partitions) == list(ends.known) and len(ends.known) == 2
    waiting = [end.sequence + 1 for end in ends.partitions.values() if end is not None]
    assert sum(waiting) == 20, "from the beginning, where the group has not begun"
    cosmos.split("shop", "orders", min(cosmos.ranges("shop", "orders")))
    hubs.forget(HOME)
    ends, failure = await looked(hubs, setup_of(cosmos), woken)
    assert failure is None and ends is not None
    assert len(ends.known) == 3


async def test_a_wrong_key_and_a_missing_container_are_said_apart_and_without_the_key(
    hubs: Hubs, cosmos: RunningCosmos, woken: list[GroupKey]
) -> None:
    _, failure = await looked(hubs, setup_of(cosmos), woken)
    assert failure is not None and failure.reason == "HubUnknown"
    assert "orders" in failure.message
    cosmos.add_container("shop", "orders", "/id")
    _, failure = await looked(hubs, setup_of(cosmos, key=WRONG), woken)
    assert failure is not None and failure.reason == "HubDenied"
    assert WRONG not in failure.message
    ends, failure = await looked(hubs, setup_of(cosmos), woken)
    assert failure is None and ends is not None


async def test_a_position_of_a_container_that_was_made_anew_is_unknown_and_never_a_number(
    hubs: Hubs, cosmos: RunningCosmos, woken: list[GroupKey]
) -> None:
    cosmos.add_container("shop", "orders", "/id")
    span = range_of("-ff")
    assert isinstance(span, FeedRange)
    position = Place("another=", (Feed(span, '"3"', 3),)).position
    stood = Listing({}, {"-ff": Checkpoint("-ff", "e", position, 1, "n")}, {}, None, 0.0)
    ends, _ = await looked(hubs, setup_of(cosmos), woken, stood)
    assert ends is not None and ends.partitions == {"-ff": None}
    assert "another container of this name" in ends.lost["-ff"]


async def test_a_group_whose_ledger_is_a_lease_container_is_listed_and_its_roster_written(
    ledgers: Ledgers, cosmos: RunningCosmos
) -> None:
    cosmos.add_container("shop", "leases", "/id")
    ledgers.open(HOME, setup_of(cosmos))
    view, failure = await listed(ledgers)
    assert failure is None and view is not None and view.listing.roster is None
    await ledgers.perform(HOME, WriteRoster(Roster(generation=3), ""))
    view, failure = await listed(ledgers)
    assert failure is None and view is not None and view.listing.roster is not None
    assert view.listing.roster.generation == 3


@pytest.mark.parametrize(
    ("container", "key_path", "key", "trouble", "said"),
    [
        ("leases", "/id", WRONG, LedgerTrouble.DENIED, "account key was not accepted"),
        ("none", "/id", "", LedgerTrouble.MISSING, "none"),
        ("leases", "/home", "", LedgerTrouble.INVALID, "has the partition key /home"),
    ],
    ids=["a wrong key", "a missing container", "a wrong partition key"],
)
async def test_a_lease_container_that_will_not_do_is_said_in_words_and_left_as_it_is(
    ledgers: Ledgers,
    cosmos: RunningCosmos,
    container: str,
    key_path: str,
    key: str,
    trouble: LedgerTrouble,
    said: str,
) -> None:
    cosmos.add_container("shop", "leases", key_path)
    ledgers.open(HOME, setup_of(cosmos, key=key, leases=container))
    view, failure = await listed(ledgers)
    assert view is None and failure is not None
    assert failure.reason == trouble, failure
    assert said in failure.message
    assert WRONG not in failure.message
    assert cosmos.items("shop", "leases") == []


async def test_leases_of_the_same_name_in_another_dialect_are_refused_and_left_as_they_are(
    ledgers: Ledgers, cosmos: RunningCosmos
) -> None:
    cosmos.add_container("shop", "orders", "/id")
    cosmos.add_container("shop", "leases", "/id")
    await write_leases(cosmos, "shop", "orders", "leases", dialect="netEpk", prefix="home")
    before = documents(cosmos, "shop", "leases")
    ledgers.open(HOME, setup_of(cosmos, dialect="javaEpk", prefix="home"))
    view, failure = await listed(ledgers)
    assert view is None and failure is not None
    assert failure.reason == LedgerTrouble.INVALID
    for words in ("in the dialect netEpk", "Set ledger.cosmos.dialect", "Nothing was overwritten"):
        assert words in failure.message
    with pytest.raises(LedgerError, match="in the dialect netEpk"):
        await ledgers.perform(HOME, WriteRoster(Roster(generation=3), ""))
    assert before and documents(cosmos, "shop", "leases") == before


async def test_leases_of_another_processor_beside_the_ledger_stay_as_they_are(
    ledgers: Ledgers, cosmos: RunningCosmos
) -> None:
    cosmos.add_container("shop", "orders", "/id")
    cosmos.add_container("shop", "leases", "/id")
    other = {key: value for key, value in JAVA_EPK.items() if not key.startswith("_")}
    write(cosmos, "leases", other)
    (before,) = cosmos.items("shop", "leases")
    ledgers.open(HOME, setup_of(cosmos, dialect="javaEpk", prefix="home"))
    view, failure = await listed(ledgers)
    assert failure is None and view is not None and not view.listing.checkpoints
    await ledgers.perform(HOME, WriteRoster(Roster(generation=3), ""))
    assert before in cosmos.items("shop", "leases")
