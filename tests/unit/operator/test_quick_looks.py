"""Looks at a group's members alone: what may be late by them, by how much, and what never is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest

from tidegate.ledger.layout import Kind, Place
from tidegate.model import Listing, Position, Roster
from tidegate.ports import LedgerError, WriteRoster
from tidegate_operator.ledgers import WHOLE_EVERY_S, Ledgers
from tidegate_operator.model import GroupKey, LedgerTrouble, LedgerView
from tidegate_operator.settings import OperatorSettings
from unit.operator.quick_changes import CHANGES, UNSURE, A, B, member
from unit.operator.small_storage import SmallStorage, small_storage
from unit.operator.test_shared_ledger import setup_of

HOME = GroupKey("homes", "activity")
WHOLE, MEMBERS = "", "member/"
# A look of a settled group, as often as the operator takes one.
TICK_S = 2.0


@dataclass
class Watched:
    """A group of two members and four partitions, on which nothing goes on, and who looks at it."""

    storage: SmallStorage
    ledgers: Ledgers
    clock: list[float]

    async def look(self, after_s: float = TICK_S, *, is_settled: bool = True) -> LedgerView:
        """What is known after so long; `asked` tells what it took."""
        self.clock[0] += after_s
        self.storage.server_time += after_s
        self.storage.asked.clear()
        view, failure = await self.ledgers.look(HOME, is_settled=is_settled)
        assert view is not None and failure is None
        return view

    async def listing(self, after_s: float = TICK_S) -> Listing:
        return (await self.look(after_s)).listing

    @property
    def asked(self) -> list[str]:
        return self.storage.asked


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    clock = [1000.0]
    settings = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
    ledgers = Ledgers(settings, lambda: clock[0], lambda: 0.5, lambda _: None)
    setup = setup_of()
    async with small_storage(setup.names) as storage:
        for partition, owner in (("0", A), ("1", B), ("2", A), ("3", B)):
            storage.own(partition, owner)
            storage.check(partition, 5)
        storage.join(member(A, "0", "2"))
        storage.join(member(B, "1", "3"))
        storage.write_roster(Roster(generation=1))
        blobs = replace(setup.blobs, connection_string=storage.connection_string)
        ledgers.open(HOME, replace(setup, ledger=blobs))
        try:
            yield Watched(storage, ledgers, clock)
        finally:
            await ledgers.close()


@pytest.fixture
async def settled(watched: Watched) -> Watched:
    """The same, when the whole has been listed once."""
    await watched.look()
    return watched


# --- when the whole is listed


async def test_a_group_is_looked_at_whole_before_its_members_alone(watched: Watched) -> None:
    await watched.look()
    assert watched.asked == [WHOLE]
    await watched.look()
    assert watched.asked == [MEMBERS]


async def test_of_a_settled_group_the_whole_is_listed_every_20_s_and_the_members_in_between(
    settled: Watched,
) -> None:
    looks = []
    for _ in range(20):
        await settled.look()
        looks += settled.asked
    assert WHOLE_EVERY_S == 20.0
    assert looks == [*[MEMBERS] * 9, WHOLE] * 2


async def test_while_anything_goes_on_every_look_is_at_the_whole(settled: Watched) -> None:
    for _ in range(3):
        await settled.look(is_settled=False)
        assert settled.asked == [WHOLE]


async def test_after_a_write_of_our_own_that_was_refused_the_whole_is_listed_at_once(
    settled: Watched,
) -> None:
    with pytest.raises(LedgerError):
        await settled.ledgers.perform(HOME, WriteRoster(Roster(generation=2), "old"))
    await settled.look(after_s=0.0)
    assert settled.asked == [WHOLE]


async def test_where_the_clock_was_set_back_the_whole_is_listed(settled: Watched) -> None:
    await settled.look(after_s=-3600.0)
    assert settled.asked == [WHOLE]


async def test_of_members_that_say_the_same_nothing_is_read_anew(settled: Watched) -> None:
    first, second = await settled.listing(), await settled.listing()
    assert settled.asked == [MEMBERS]
    assert first.members and all(
        second.members[name] is each for name, each in first.members.items()
    )


# --- what may be late, and by how much


async def test_a_checkpoint_may_be_late_by_20_s_and_no_more(settled: Watched) -> None:
    settled.storage.check("0", 8)
    for _ in range(9):
        assert (await settled.listing()).checkpoints["0"].position == Position("5", 5)
    assert (await settled.listing()).checkpoints["0"].position == Position("8", 8)


async def test_a_roster_that_another_wrote_may_be_late_by_20_s_and_no_more(
    settled: Watched,
) -> None:
    settled.storage.write_roster(Roster(generation=7))
    seen = [(await settled.listing()).roster for _ in range(10)]
    assert [each.generation for each in seen if each is not None] == [*[1] * 9, 7]


async def test_a_move_between_two_looks_is_seen_when_either_member_says_its_figures(
    settled: Watched,
) -> None:
    settled.storage.own("2", B)
    assert (await settled.listing()).ownerships["2"].owner == A
    settled.storage.join(member(B, "1", "2", "3"))
    assert (await settled.listing()).ownerships["2"].owner == B


# --- what is never late


async def test_how_far_members_are_is_seen_at_the_next_look(settled: Watched) -> None:
    settled.storage.join(member(A, "0", "2", handled=9))
    view = await settled.look()
    assert settled.asked == [MEMBERS]
    assert view.listing.members[A.name].figures["0"].handled == 9


async def test_ages_are_told_by_the_time_of_the_look_itself(settled: Watched) -> None:
    view = await settled.look()
    assert settled.asked == [MEMBERS]
    assert view.asked_at == settled.clock[0]
    assert view.listing.server_time == settled.storage.server_time


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
async def test_a_change_among_members_and_owners_is_seen_at_the_next_look(
    settled: Watched, change: Callable[[SmallStorage], None]
) -> None:
    before = await settled.listing()
    change(settled.storage)
    after = await settled.listing()
    assert settled.asked == [MEMBERS, WHOLE]
    rows = [after.ownerships, after.members]
    assert rows != [before.ownerships, before.members]
    await settled.look(is_settled=False)
    whole = (await settled.look(is_settled=False)).listing
    assert rows == [whole.ownerships, whole.members]


@pytest.mark.parametrize("name", [A.name, "home-c"])
async def test_a_member_that_cannot_be_read_is_told_as_one_that_cannot(
    settled: Watched, name: str
) -> None:
    place = Place(Kind.MEMBER, name)
    settled.storage.put(place, {"name": "somebody-else"})
    listing = await settled.listing()
    assert settled.asked == [MEMBERS, WHOLE]
    assert [flaw.blob for flaw in listing.flaws] == [settled.storage.names.of(place)]


# --- what is not known from members alone is never taken from an older look


@pytest.mark.parametrize("change", UNSURE, ids=lambda change: change.__name__.strip("_"))
async def test_where_members_do_not_tell_of_every_partition_each_look_is_at_the_whole(
    settled: Watched, change: Callable[[SmallStorage], None]
) -> None:
    change(settled.storage)
    await settled.look(is_settled=False)
    for sequence in (6, 7, 8):
        settled.storage.check("2", sequence)
        listing = await settled.listing()
        assert settled.asked[-1] == WHOLE
        assert listing.checkpoints["2"].position.sequence == sequence


async def test_storage_that_refuses_a_quick_look_is_said_and_the_whole_is_listed_after_it(
    settled: Watched,
) -> None:
    known = await settled.look()
    settled.storage.refuses = 403
    settled.clock[0] += TICK_S
    settled.asked.clear()
    view, failure = await settled.ledgers.look(HOME, is_settled=True)
    assert settled.asked == [MEMBERS]
    assert failure is not None and failure.reason == LedgerTrouble.DENIED
    # Nothing passes for newer than it is.
    assert view is not None
    assert (view.listing, view.asked_at) == (known.listing, known.asked_at)
    settled.storage.refuses = 0
    settled.clock[0] += 15.0
    settled.asked.clear()
    view, _ = await settled.ledgers.look(HOME, is_settled=True)
    assert settled.asked == [WHOLE] and view is not None and view.asked_at > known.asked_at


async def test_storage_that_asks_to_be_left_alone_for_a_while_is_left_alone_for_so_long(
    settled: Watched,
) -> None:
    settled.storage.refuses, settled.storage.asks_s = 503, 100.0
    settled.clock[0] += TICK_S
    settled.asked.clear()
    for _ in range(49):
        _, failure = await settled.ledgers.look(HOME, is_settled=True)
        assert failure is not None and failure.reason == LedgerTrouble.UNREACHABLE
        settled.clock[0] += 2.0
    assert len(settled.asked) == 1
    settled.clock[0] += 4.0
    await settled.ledgers.look(HOME, is_settled=True)
    assert len(settled.asked) == 2
    settled.clock[0] -= 3600.0
    settled.storage.refuses = 0
    _, failure = await settled.ledgers.look(HOME, is_settled=True)
    assert failure is None, "a clock that was set back ends the pause"
