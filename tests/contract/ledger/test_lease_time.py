"""The contract on time: when leases end, what starts their clock again, and what still works then.

Azure's shortest lease is 15 s, so all of these wait together: every scenario runs in every world
at the same time, once for this module, and each test looks at how one of them ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from contract.ledger.worlds import World, listed, new_id, open_world, ownership, refusal
from tidegate.model import LeaseState, Owner
from tidegate.ports import (
    Acquire,
    Announce,
    Break,
    Change,
    CreateOwnership,
    Forget,
    Join,
    Leave,
    ReadOwnership,
    Refusal,
    Release,
    Renew,
    RenewPresence,
    WriteOwnership,
)

# An old version of the storage API and a new one count time alike: one of them is enough here.
WORLDS = ("memory", "blob-2017-11-09", "thread", "cosmos")
ME = Owner("reader-0", "a1")
# More than half of a lease, and less than all of it.
A_WHILE = 8.2
PAST_THE_END = 15.6

Scenario = Callable[[World], Awaitable[None]]


async def leased(world: World) -> tuple[str, str]:
    etag, lease_id = str(await world.ledger.perform(CreateOwnership("0"))), new_id()
    await world.ledger.perform(Acquire("0", lease_id, etag))
    return etag, lease_id


async def state(world: World) -> LeaseState:
    return (await listed(world.ledger)).ownerships["0"].lease


async def an_expired_lease_that_nobody_took_renews(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(PAST_THE_END)
    assert await state(world) is LeaseState.EXPIRED
    assert (await ownership(world.ledger, "0")).lease is LeaseState.EXPIRED
    await world.ledger.perform(Renew("0", lease_id, etag))
    assert await state(world) is LeaseState.LEASED


async def an_expired_lease_goes_to_another_and_its_old_holder_is_refused(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(PAST_THE_END)
    other = new_id()
    await world.ledger.perform(Acquire("0", other, etag))
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.HELD
    assert await refusal(world.ledger, Acquire("0", lease_id, etag)) is Refusal.HELD
    await world.ledger.perform(WriteOwnership("0", other, etag, ME, 2, "n"))
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.CHANGED


async def an_expired_lease_is_no_permission_to_write(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(PAST_THE_END)
    write = WriteOwnership("0", lease_id, etag, ME, 1, "n")
    assert await refusal(world.ledger, write) is Refusal.CHANGED
    change = Change("0", lease_id, new_id(), etag)
    assert await refusal(world.ledger, change) is Refusal.HELD


async def an_expired_lease_is_no_permission_to_read_under_it_either(world: World) -> None:
    _, lease_id = await leased(world)
    await world.ledger.perform(ReadOwnership("0", lease_id))
    await world.sleep(PAST_THE_END)
    for asked in (lease_id, new_id()):
        assert await refusal(world.ledger, ReadOwnership("0", asked)) is Refusal.CHANGED
    assert await state(world) is LeaseState.EXPIRED


async def a_renewal_starts_the_clock_again(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(A_WHILE)
    await world.ledger.perform(Renew("0", lease_id, etag))
    await world.sleep(A_WHILE)
    assert await state(world) is LeaseState.LEASED


async def acquiring_again_starts_the_clock_again(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(A_WHILE)
    await world.ledger.perform(Acquire("0", lease_id, etag))
    await world.sleep(A_WHILE)
    assert await state(world) is LeaseState.LEASED


async def a_changed_lease_ends_when_the_old_one_would_have(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(A_WHILE)
    new = new_id()
    await world.ledger.perform(Change("0", lease_id, new, etag))
    await world.sleep(PAST_THE_END - A_WHILE)
    assert await state(world) is LeaseState.EXPIRED
    await world.ledger.perform(Renew("0", new, etag))


async def a_write_does_not_start_the_clock_again(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(A_WHILE)
    etag = str(await world.ledger.perform(WriteOwnership("0", lease_id, etag, ME, 1, "n")))
    await world.sleep(PAST_THE_END - A_WHILE)
    assert await state(world) is LeaseState.EXPIRED
    await world.ledger.perform(Renew("0", lease_id, etag))


async def an_expired_lease_can_be_released_and_broken(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(PAST_THE_END)
    await world.ledger.perform(Break("0", etag))
    assert await state(world) is LeaseState.BROKEN
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.HELD
    await world.ledger.perform(Release("0", lease_id, etag))
    assert await state(world) is LeaseState.AVAILABLE


async def an_expired_lease_is_forgotten_when_an_official_processor_claims(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.sleep(PAST_THE_END)
    assert await world.claim_by_other("0", "other")
    assert await state(world) is LeaseState.AVAILABLE
    assert await refusal(world.ledger, Renew("0", lease_id, etag)) is Refusal.CHANGED
    theirs = (await ownership(world.ledger, "0")).etag
    assert await refusal(world.ledger, Renew("0", lease_id, theirs)) is Refusal.HELD


async def a_slow_break_comes_true_by_itself(world: World) -> None:
    etag, lease_id = await leased(world)
    await world.break_by_hand("0", 10)
    assert await state(world) is LeaseState.BREAKING
    await world.sleep(10.5)
    assert await state(world) is LeaseState.BROKEN
    await world.ledger.perform(Acquire("0", lease_id, etag))


async def a_silent_member_is_dead_and_can_be_forgotten(world: World) -> None:
    lease_id = new_id()
    await world.ledger.perform(Join("reader-0", lease_id))
    await world.sleep(PAST_THE_END)
    row = (await listed(world.ledger)).members["reader-0"]
    assert not row.is_alive
    assert await refusal(world.ledger, Announce(row, lease_id)) is Refusal.CHANGED
    assert await refusal(world.ledger, Leave("reader-0", lease_id)) is Refusal.CHANGED
    await world.ledger.perform(Forget("reader-0", row.etag))
    assert (await listed(world.ledger)).members == {}


async def the_name_of_a_dead_member_can_be_taken(world: World) -> None:
    lease_id, other = new_id(), new_id()
    await world.ledger.perform(Join("reader-0", lease_id))
    await world.sleep(PAST_THE_END)
    await world.ledger.perform(Join("reader-0", other))
    assert await refusal(world.ledger, RenewPresence("reader-0", lease_id)) is Refusal.HELD
    etag = (await listed(world.ledger)).members["reader-0"].etag
    assert await refusal(world.ledger, Forget("reader-0", etag)) is Refusal.CHANGED


async def a_late_member_that_nobody_replaced_renews_its_presence(world: World) -> None:
    lease_id = new_id()
    await world.ledger.perform(Join("reader-0", lease_id))
    await world.sleep(PAST_THE_END)
    await world.ledger.perform(RenewPresence("reader-0", lease_id))
    assert (await listed(world.ledger)).members["reader-0"].is_alive


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        an_expired_lease_that_nobody_took_renews,
        an_expired_lease_goes_to_another_and_its_old_holder_is_refused,
        an_expired_lease_is_no_permission_to_write,
        an_expired_lease_is_no_permission_to_read_under_it_either,
        a_renewal_starts_the_clock_again,
        acquiring_again_starts_the_clock_again,
        a_changed_lease_ends_when_the_old_one_would_have,
        a_write_does_not_start_the_clock_again,
        an_expired_lease_can_be_released_and_broken,
        an_expired_lease_is_forgotten_when_an_official_processor_claims,
        a_slow_break_comes_true_by_itself,
        a_silent_member_is_dead_and_can_be_forgotten,
        the_name_of_a_dead_member_can_be_taken,
        a_late_member_that_nobody_replaced_renews_its_presence,
    )
}


async def _run(scenario: Scenario, backend: str, connection_string: str) -> None:
    async with open_world(backend, connection_string) as world:
        await scenario(world)


@pytest.fixture(scope="module")
def ends(azurite: str, cosmos_account: str) -> dict[tuple[str, str], BaseException | None]:
    """How every scenario ended in every world: None where it held."""

    async def run_all() -> list[BaseException | None]:
        return await asyncio.gather(
            *(_run(SCENARIOS[name], backend, services[backend]) for backend, name in keys),
            return_exceptions=True,
        )

    services = dict.fromkeys(WORLDS, azurite) | {"cosmos": cosmos_account}
    keys = [(backend, name) for backend in WORLDS for name in SCENARIOS]
    return dict(zip(keys, asyncio.run(run_all()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("backend", WORLDS)
def test_that(
    ends: dict[tuple[str, str], BaseException | None], backend: str, scenario: str
) -> None:
    problem = ends[backend, scenario]
    if problem is not None:
        raise problem
