"""The groups' ledgers and hubs, against Azurite and our hub: shared, bounded, told in words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.azurite import free_port
from support.fault_proxy import FaultProxy, Hold, fault_proxy
from support.wait import wait_until_async
from tidegate.commands.wiring import Setup
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.model import Position, Roster
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    ReadOwnership,
    Release,
    WriteCheckpoint,
    WriteRoster,
)
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing
from tidegate_hub.testing import RunningHub, running_hub
from tidegate_operator.hubs import Hubs
from tidegate_operator.ledgers import FRESH_S, Ledgers
from tidegate_operator.model import GroupKey, LedgerTrouble
from tidegate_operator.secrets import Sight
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.spec import read_spec

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
HOME, ALARMS = GroupKey("default", "home"), GroupKey("default", "alarms")
EMULATOR = "UseDevelopmentEmulator=true"
EVENTS = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8="


def setup_of(
    storage: str, container: str, *, hub: str = "telemetry", events: str = EVENTS, **ledger: Any
) -> Setup:
    document = {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": "home"},
        "spec": {
            "source": {
                "eventHubs": {"hub": hub, "connectionString": {"secret": "s", "key": "events"}}
            },
            "ledger": {
                "container": container,
                "connectionString": {"secret": "s", "key": "storage"},
                "create": True,
                **ledger,
            },
            "handler": {"code": "handler:handle"},
        },
    }
    values = {("s", "events"): events, ("s", "storage"): storage}
    return Sight(values, {"s": "1"}, "", ()).setup_of("home", read_spec(document))


@pytest.fixture
def container() -> str:
    return f"c-{uuid4().hex[:12]}"


@pytest.fixture
def woken() -> list[GroupKey]:
    return []


@pytest.fixture
async def ledgers(woken: list[GroupKey]) -> AsyncIterator[Ledgers]:
    ledgers = Ledgers(SETTINGS, time.time, lambda: 0.5, woken.append)
    yield ledgers
    await ledgers.close()


@pytest.fixture
def bad_storage(azurite: str) -> Iterator[FaultProxy]:
    port = int(BlobSettings("any", connection_string=azurite).host.rpartition(":")[2])
    with fault_proxy(port) as proxy:
        yield proxy


def through(proxy: FaultProxy, azurite: str) -> str:
    port = BlobSettings("any", connection_string=azurite).host.rpartition(":")[2]
    return azurite.replace(f":{port}/", f":{proxy.port}/")


async def test_a_group_is_listed_and_its_roster_written(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    assert await ledgers.look(HOME) == (None, None)
    ledgers.open(HOME, setup_of(azurite, container))
    before = time.time()
    view, failure = await ledgers.look(HOME)
    assert failure is None and view is not None and view.listing.roster is None
    assert before <= view.asked_at <= time.time()
    await ledgers.perform(HOME, WriteRoster(Roster(generation=3), ""))
    # At once, though the listing before is only just there.
    view, _ = await ledgers.look(HOME)
    assert view is not None and view.listing.roster is not None
    assert view.listing.roster.generation == 3


async def test_a_listing_that_is_fresh_is_not_asked_for_again(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    ledgers.open(HOME, setup_of(azurite, container))
    first, _ = await ledgers.look(HOME)
    second, _ = await ledgers.look(HOME)
    assert first is second
    assert first is not None
    later = await _later_than(ledgers, first.asked_at)
    assert later > first.asked_at


async def _looked(ledgers: Ledgers, keys: list[GroupKey]) -> list[Any]:
    return await asyncio.gather(*map(ledgers.look, keys))


async def _later_than(ledgers: Ledgers, asked_at: float) -> float:
    while True:
        view, _ = await ledgers.look(HOME)
        assert view is not None
        if view.asked_at > asked_at:
            return view.asked_at
        await asyncio.sleep(0.01)


async def test_groups_of_one_account_share_its_connections(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    keys = [GroupKey("default", f"group-{at}") for at in range(40)]
    for at, key in enumerate(keys):
        ledgers.open(key, setup_of(azurite, container, hub=f"hub-{at}"))
    async with asyncio.timeout(60):
        while not all(view is not None for view, _ in await _looked(ledgers, keys)):
            pass
    assert ledgers.accounts.counts == (1, 1)


async def test_storage_that_hangs_holds_up_neither_its_group_nor_another(
    ledgers: Ledgers, azurite: str, container: str, bad_storage: FaultProxy, woken: list[GroupKey]
) -> None:
    ledgers.open(HOME, setup_of(through(bad_storage, azurite), container))
    ledgers.open(ALARMS, setup_of(azurite, container, hub="alarms"))
    known, _ = await ledgers.look(HOME)
    assert known is not None
    bad_storage.add(Hold())
    # The first look finds that it is due, and waits for it in vain.
    await wait_until_async(
        lambda: time.time() - known.asked_at > FRESH_S, 5, "the listing to be no longer fresh"
    )
    # Storage answers it nothing: that it comes back is all that there is to wait for.
    assert await ledgers.look(HOME) == (known, None)
    assert (await ledgers.look(ALARMS))[0] is not None
    # What comes late wakes the group.
    bad_storage.clear()
    await wait_until_async(lambda: HOME in woken, 10, "the listing that came late")
    newer, failure = await ledgers.look(HOME)
    assert failure is None and newer is not None and newer.asked_at > known.asked_at


async def test_a_wrong_key_and_a_missing_container_are_said_apart(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    ledgers.open(HOME, setup_of(azurite, container, create=False))
    _, failure = await ledgers.look(HOME)
    assert failure is not None and failure.reason == LedgerTrouble.MISSING
    assert "ledger.create: true" in failure.message
    wrong = azurite.replace("AccountKey=Eby8", "AccountKey=AAAA")
    assert wrong != azurite
    ledgers.open(ALARMS, setup_of(wrong, container, hub="alarms"))
    _, failure = await ledgers.look(ALARMS)
    assert failure is not None and failure.reason == LedgerTrouble.DENIED
    assert "AAAA" not in failure.message


async def test_new_credentials_are_tried_at_once(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    wrong = azurite.replace("AccountKey=Eby8", "AccountKey=AAAA")
    ledgers.open(HOME, setup_of(wrong, container))
    for _ in range(3):
        _, failure = await ledgers.look(HOME)
        assert failure is not None
    ledgers.open(HOME, setup_of(azurite, container))
    view, failure = await ledgers.look(HOME)
    assert view is not None and failure is None


async def test_a_ledger_is_erased_when_nobody_holds_any_of_it_and_nothing_else_is(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    setup = setup_of(azurite, container)
    beside = BlobLedger(setup.blobs, setup_of(azurite, container, hub="telemetry-2").names)
    mine = BlobLedger(setup.blobs, setup.names)
    for ledger in (mine, beside):
        await ledger.perform(CreateOwnership("0"))
        await ledger.perform(WriteCheckpoint("0", None, Position("5", 5), 1, "n"))
    seen: Any = await mine.perform(ReadOwnership("0"))
    lease = str(uuid4())
    await mine.perform(Acquire("0", lease, seen.etag))
    ledgers.open(HOME, setup)
    assert await ledgers.erase(HOME) == 2
    await mine.perform(Release("0", lease, seen.etag))
    assert await ledgers.erase(HOME) == 0
    assert await ledgers.erase(HOME) == 0
    assert await mine.perform(ReadOwnership("0")) is None
    assert await beside.perform(ReadOwnership("0")) is not None
    await mine.close()
    await beside.close()


# --- hubs


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    with running_hub(check_sas=True) as hub:
        yield hub


@pytest.fixture
async def hubs(woken: list[GroupKey]) -> AsyncIterator[Hubs]:
    hubs = Hubs(SETTINGS, time.time, woken.append)
    yield hubs
    await hubs.close()


async def _asked(hubs: Hubs, setup: Setup, woken: list[GroupKey]) -> Any:
    woken.clear()
    hubs.look(HOME, setup, is_anybody_alive=False)
    await wait_until_async(lambda: HOME in woken, 20, "the hub's answer")
    return hubs.look(HOME, setup, is_anybody_alive=False)


async def test_a_hub_says_how_far_all_its_partitions_have_come(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    hub.add_hub("homes", 4)
    setup = setup_of(azurite, container, hub="homes", events=hub.connection_string)
    ends, failure = await _asked(hubs, setup, woken)
    assert failure is None and sorted(ends.partitions) == ["0", "1", "2", "3"]
    assert all(end is not None and end.sequence == -1 for end in ends.partitions.values())


async def test_an_unknown_hub_and_a_wrong_key_are_said_apart(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    events = hub.connection_string
    setup = setup_of(azurite, container, hub="no-such-hub", events=events)
    _, failure = await _asked(hubs, setup, woken)
    assert failure.reason == "HubUnknown" and "no-such-hub" in failure.message
    wrong = "SharedAccessKey=AAAA"
    events = ";".join(
        wrong if part.startswith("SharedAccessKey=") else part for part in events.split(";")
    )
    hub.add_hub("homes", 1)
    setup = setup_of(azurite, container, hub="homes", events=events)
    _, failure = await _asked(hubs, setup, woken)
    assert failure.reason == "HubDenied" and "AAAA" not in failure.message


async def test_a_hub_that_nobody_serves_is_unreachable(
    hubs: Hubs, container: str, azurite: str, woken: list[GroupKey], tmp_path: Path
) -> None:
    events = f"{EVENTS.replace('ns.example.net/', f'127.0.0.1:{free_port()}')};{EMULATOR}"
    setup = setup_of(azurite, container, events=events)
    ends, failure = await _asked(hubs, setup, woken)
    assert ends is None and failure.reason == "HubUnreachable"


async def test_a_certificate_that_only_the_members_have_keeps_the_operator_from_asking(
    hubs: Hubs, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    setup = setup_of(azurite, container)
    spec = setup.group.spec
    source = replace(spec.source.event_hubs, ca_file="/etc/authority/hub.pem")
    group = replace(setup.group, spec=replace(spec, source=replace(spec.source, event_hubs=source)))
    ends, failure = await _asked(hubs, replace(setup, group=group), woken)
    assert ends is None and failure.reason == "HubUnreachable"
    assert "eventHubs.caFile: there is no file /etc/authority/hub.pem" in failure.message
    assert "Mount it there" in failure.message


async def test_a_group_that_sleeps_is_woken_within_5_s_of_an_event_and_by_nothing_else(
    hubs: Hubs, hub: RunningHub, container: str, azurite: str, woken: list[GroupKey]
) -> None:
    hub.add_hub("homes", 4)
    setup = setup_of(azurite, container, hub="homes", events=hub.connection_string)
    await _asked(hubs, setup, woken)
    woken.clear()
    hubs.look(HOME, setup, is_anybody_alive=False, is_asleep=True)
    asked_at = time.time()

    def ends() -> Any:
        return hubs.look(HOME, setup, is_anybody_alive=False, is_asleep=True)[0]

    def is_asked_again() -> bool:
        known_at = [float(end.known_at) for end in ends().partitions.values()]
        return min(known_at) > asked_at + 4.0

    await wait_until_async(is_asked_again, 20, "the hub to be asked again and again")
    assert woken == [], "nothing has come"
    before = time.monotonic()
    sender = NativeSender(hub.connection_string, "homes")
    await sender.send([Outgoing(b"one", partition="2")])
    await sender.flush()
    await wait_until_async(lambda: HOME in woken, 20, "the group to be woken")
    assert time.monotonic() - before < 5.0
    assert ends().partitions["2"].sequence == 0
    await sender.close()
    hubs.look(HOME, setup, is_anybody_alive=True)
    woken.clear()
    await wait_until_async(lambda: HOME in woken, 20, "the questions to end")
