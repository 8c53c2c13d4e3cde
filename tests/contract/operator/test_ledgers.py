"""The groups' ledgers, against Azurite: shared, bounded, told in words."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from contract.operator.one_setup import ALARMS, HOME, SETTINGS, setup_of
from support.fault_proxy import FaultProxy, Hold, Refuse, fault_proxy
from support.wait import wait_until_async
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.model import Position, Roster
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    LedgerError,
    ReadOwnership,
    Release,
    WriteCheckpoint,
    WriteRoster,
)
from tidegate_operator.ledgers import FRESH_S, PATIENCE_S, Ledgers
from tidegate_operator.model import GroupKey, LedgerTrouble, LedgerView


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
    view, failure = await _found(ledgers)
    assert failure is None and view is not None and view.listing.roster is None
    assert before <= view.asked_at <= time.time()
    await ledgers.perform(HOME, WriteRoster(Roster(generation=3), ""))
    # At once, though the listing before is only just there.
    await _later_than(ledgers, view.asked_at)
    view, _ = await ledgers.look(HOME)
    assert view is not None and view.listing.roster is not None
    assert view.listing.roster.generation == 3


async def test_a_listing_that_is_fresh_is_not_asked_for_again(
    azurite: str, container: str, woken: list[GroupKey]
) -> None:
    now = 1_000_000.0
    async with contextlib.AsyncExitStack() as stack:
        ledgers = Ledgers(SETTINGS, lambda: now, lambda: 0.5, woken.append)
        stack.push_async_callback(ledgers.close)
        ledgers.open(HOME, setup_of(azurite, container))
        first, _ = await _found(ledgers)
        now += FRESH_S - 0.01
        assert first is not None and (await ledgers.look(HOME))[0] is first
        now += 0.02
        assert await _later_than(ledgers, first.asked_at) == now


async def _found(ledgers: Ledgers, key: GroupKey = HOME) -> tuple[LedgerView | None, Any]:
    """What storage has said, however long that took: a look waits for it for a moment alone."""
    async with asyncio.timeout(30):
        while True:
            view, failure = await ledgers.look(key)
            if view is not None or failure is not None:
                return view, failure


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
    known, _ = await _found(ledgers)
    assert known is not None
    bad_storage.add(Hold())
    # The first look finds that it is due, and waits for it in vain.
    await _no_longer_fresh(known)
    # Storage answers it nothing: that it comes back is all that there is to wait for.
    view, failure = await ledgers.look(HOME)
    assert view is not None and view.listing is known.listing and failure is None
    assert (await _found(ledgers, ALARMS))[0] is not None
    # What comes late wakes the group.
    bad_storage.clear()
    await wait_until_async(lambda: HOME in woken, 10, "the listing that came late")
    await _later_than(ledgers, known.asked_at)
    newer, failure = await ledgers.look(HOME)
    assert failure is None and newer is not None and newer.asked_at > known.asked_at


async def test_what_storage_said_is_unknown_soon_after_it_falls_silent_and_known_soon_after_that(
    ledgers: Ledgers, azurite: str, container: str, bad_storage: FaultProxy, woken: list[GroupKey]
) -> None:
    ledgers.open(HOME, setup_of(through(bad_storage, azurite), container))
    known, _ = await _found(ledgers)
    assert known is not None and known.is_of(time.time(), 60.0)
    await _no_longer_fresh(known)
    bad_storage.add(Hold())
    begun = time.time()
    await ledgers.look(HOME)
    await wait_until_async(lambda: HOME in woken, 10, "the group to be woken")
    view, failure = ledgers.standing(HOME)
    told_s = time.time() - begun
    assert view is not None and not view.is_of(time.time(), 60.0)
    assert failure is not None and failure.reason == LedgerTrouble.UNREACHABLE
    assert "has not answered" in failure.message, "the request has not come to its own limit yet"
    # It is asked again without anybody who looks, however long that lasts.
    await wait_until_async(
        lambda: "no reply in time" in str(ledgers.standing(HOME)[1]), 10, "the limit of a request"
    )
    woken.clear()
    bad_storage.clear()
    begun = time.time()
    await wait_until_async(lambda: HOME in woken, 10, "the first answer")
    view, failure = ledgers.standing(HOME)
    print(f"unknown after {told_s:.1f} s, known again after {time.time() - begun:.1f} s")
    assert failure is None and view is not None and view.is_of(time.time(), 60.0)


async def test_while_an_account_is_silent_no_group_of_it_is_waited_for(
    ledgers: Ledgers, azurite: str, container: str, bad_storage: FaultProxy
) -> None:
    """Sixteen rounds at once are all that there are, and each would wait a second."""
    keys = [GroupKey("default", f"group-{at}") for at in range(20)]
    for at, key in enumerate(keys):
        at_hub = setup_of(through(bad_storage, azurite), container, hub=f"hub-{at}")
        ledgers.open(key, at_hub)
    async with asyncio.timeout(60):
        while not all(view is not None for view, _ in await _looked(ledgers, keys)):
            pass
    newest = max(found[0].asked_at for found in map(ledgers.standing, keys) if found[0])
    await wait_until_async(lambda: time.time() - newest > FRESH_S, 5, "listings to grow old")
    bad_storage.add(Hold())
    begun = time.monotonic()
    for key in keys:
        await ledgers.look(key)
    assert time.monotonic() - begun < 2 * PATIENCE_S + 1.0


async def test_the_first_answer_of_an_account_makes_all_of_its_groups_ask(
    azurite: str,
    container: str,
    bad_storage: FaultProxy,
    woken: list[GroupKey],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each group asks rarely, to spare an account that does not answer."""
    monkeypatch.setattr("tidegate_operator.ledgers._SILENT_PAUSE_S", 120.0)
    settings = replace(SETTINGS, first_pause_s=120.0)
    async with contextlib.AsyncExitStack() as stack:
        ledgers = Ledgers(settings, time.time, lambda: 0.5, woken.append)
        stack.push_async_callback(ledgers.close)
        bad_storage.add(Refuse())
        for key in (HOME, ALARMS):
            at_hub = setup_of(through(bad_storage, azurite), container, hub=key.name)
            ledgers.open(key, at_hub)
            assert (await _found(ledgers, key))[1] is not None
        bad_storage.clear()
        third = GroupKey("default", "third")
        ledgers.open(third, setup_of(through(bad_storage, azurite), container, hub="third"))
        assert (await _found(ledgers, third))[0] is not None
        await wait_until_async(
            lambda: not any(ledgers.standing(key)[1] for key in (HOME, ALARMS)), 30, "the others"
        )


async def test_an_operation_that_storage_does_not_answer_makes_its_group_unknown_too(
    ledgers: Ledgers, azurite: str, container: str, bad_storage: FaultProxy, woken: list[GroupKey]
) -> None:
    ledgers.open(HOME, setup_of(through(bad_storage, azurite), container))
    known, _ = await _found(ledgers)
    assert known is not None and known.unanswered_since is None
    await ledgers.read(HOME, ReadOwnership("0"))
    bad_storage.add(Hold())
    with pytest.raises(LedgerError):
        await ledgers.read(HOME, ReadOwnership("0"))
    view, failure = ledgers.standing(HOME)
    assert HOME in woken and failure is not None
    assert view is not None and not view.is_of(time.time(), 60.0)


async def _no_longer_fresh(known: LedgerView) -> None:
    await wait_until_async(
        lambda: time.time() - known.asked_at > FRESH_S, 5, "the listing to be no longer fresh"
    )


async def test_a_wrong_key_and_a_missing_container_are_said_apart(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    ledgers.open(HOME, setup_of(azurite, container, create=False))
    _, failure = await _found(ledgers)
    assert failure is not None and failure.reason == LedgerTrouble.MISSING
    assert "ledger.create: true" in failure.message
    wrong = azurite.replace("AccountKey=Eby8", "AccountKey=AAAA")
    assert wrong != azurite
    ledgers.open(ALARMS, setup_of(wrong, container, hub="alarms"))
    _, failure = await _found(ledgers, ALARMS)
    assert failure is not None and failure.reason == LedgerTrouble.DENIED
    assert "AAAA" not in failure.message


async def test_new_credentials_are_tried_at_once(
    ledgers: Ledgers, azurite: str, container: str
) -> None:
    wrong = azurite.replace("AccountKey=Eby8", "AccountKey=AAAA")
    ledgers.open(HOME, setup_of(wrong, container))
    for _ in range(3):
        _, failure = await _found(ledgers)
        assert failure is not None
    ledgers.open(HOME, setup_of(azurite, container))
    view, failure = await _found(ledgers)
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
