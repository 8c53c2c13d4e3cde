"""What sources are asked: once for all groups of a hub, rarely, and often while groups sleep."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from contract.operator.one_setup import ALARMS, HOME, SETTINGS, setup_of
from support import virtual_time
from tidegate.commands.wiring import Setup
from tidegate.model import PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate_operator import hubs as asked
from tidegate_operator.hubs import Hubs
from tidegate_operator.model import GroupKey

STORAGE = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://x/a;"
OTHER_KEY = "Endpoint=sb://ns.example.net/;SharedAccessKeyName=other;SharedAccessKey=aGVsbG8="


class Service:
    """A hub of two partitions; what was asked is counted."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.ends: dict[PartitionId, int] = {"0": 9, "1": 4}
        self.is_down = False
        self.open = 0

    async def opened(self, setup: Setup, stack: Any, report: Any) -> Service:
        self._answer("connection")
        self.open += 1
        return self

    async def partitions(self) -> tuple[PartitionId, ...]:
        self._answer("partitions")
        return tuple(self.ends)

    async def end(self, partition: PartitionId) -> PartitionEnd:
        self._answer("end")
        await asyncio.sleep(0.01)
        return PartitionEnd(self.ends[partition], "8", None, virtual_time.now())

    async def close(self) -> None:
        self.open -= 1

    def _answer(self, what: str) -> None:
        self.asked[what] += 1
        if self.is_down:
            raise SourceError("nobody answers")


class World:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.woken: list[GroupKey] = []
        self.hubs = Hubs(SETTINGS, virtual_time.now, self.woken.append)

    def look(self, key: GroupKey, *, is_asleep: bool = True, events: str = "", **more: Any) -> Any:
        setup = setup_of(STORAGE, "ledger", **({"events": events} if events else {}))
        alive = more.pop("is_anybody_alive", False)
        return self.hubs.look(key, setup, is_anybody_alive=alive, is_asleep=is_asleep, **more)


Course = Callable[[World], Coroutine[Any, Any, None]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Course], None]:
    service = Service()
    monkeypatch.setattr(asked, "open_source", service.opened)

    def run(course: Course) -> None:
        async def whole() -> None:
            world = World(service)
            await course(world)
            await world.hubs.close()
            assert service.open == 0

        virtual_time.run(whole())

    return run


def test_groups_of_one_hub_ask_it_once_for_all_of_them(run: Any) -> None:
    async def course(world: World) -> None:
        for key in (HOME, ALARMS):
            world.look(key)
        await asyncio.sleep(30)
        asked = world.service.asked
        assert asked["connection"] == 1
        assert 9 * 2 <= asked["end"] <= 11 * 2
        assert asked["partitions"] == 1
        assert set(world.woken) == {HOME, ALARMS}
        for key in (HOME, ALARMS):
            ends, failure = world.look(key)
            assert failure is None
            assert [end.sequence for end in ends.partitions.values()] == [9, 4]

    run(course)


def test_who_is_let_in_by_another_key_asks_for_himself(run: Any) -> None:
    async def course(world: World) -> None:
        world.look(HOME)
        world.look(ALARMS, events=OTHER_KEY)
        await asyncio.sleep(1)
        assert world.service.asked["connection"] == 2

    run(course)


def test_an_event_wakes_all_groups_of_its_hub_that_sleep_and_no_other(run: Any) -> None:
    third = GroupKey("default", "third")

    async def course(world: World) -> None:
        for key in (HOME, ALARMS):
            world.look(key)
        world.look(third, is_asleep=False)
        await asyncio.sleep(60)
        world.woken.clear()
        world.service.ends["1"] += 1
        at = virtual_time.now()
        while not world.woken:
            await asyncio.sleep(0.1)
        assert virtual_time.now() - at <= SETTINGS.asleep_every_s + 0.2
        assert sorted(world.woken) == [ALARMS, HOME]

    run(course)


def test_a_hub_of_which_no_group_sleeps_any_more_is_let_go_of(run: Any) -> None:
    async def course(world: World) -> None:
        for key in (HOME, ALARMS):
            world.look(key)
        await asyncio.sleep(10)
        world.look(HOME, is_asleep=False)
        await asyncio.sleep(10)
        assert world.service.open == 1, "the other one sleeps on"
        world.look(ALARMS, is_asleep=False)
        await asyncio.sleep(10)
        assert world.service.open == 0

    run(course)


def test_a_group_that_falls_asleep_is_asked_for_at_once(run: Any) -> None:
    """Its next look may be a minute away."""

    async def course(world: World) -> None:
        world.look(HOME, is_asleep=False)
        await asyncio.sleep(1)
        world.look(HOME)
        world.woken.clear()
        await asyncio.sleep(1)
        world.service.ends["0"] += 1
        await asyncio.sleep(SETTINGS.asleep_every_s)
        assert world.woken == [HOME]

    run(course)


def test_a_hub_that_falls_silent_is_asked_again_and_told_of_once_each_way(run: Any) -> None:
    async def course(world: World) -> None:
        world.look(HOME)
        await asyncio.sleep(10)
        world.woken.clear()
        world.service.is_down = True
        await asyncio.sleep(60)
        assert world.woken == [HOME]
        assert world.look(HOME)[1].reason == "HubUnreachable"
        world.service.is_down = False
        await asyncio.sleep(60)
        assert world.woken == [HOME, HOME]
        assert world.look(HOME)[1] is None

    run(course)


def test_partitions_that_are_added_are_found_within_a_minute(run: Any) -> None:
    async def course(world: World) -> None:
        world.look(HOME)
        await asyncio.sleep(10)
        world.service.ends["2"] = -1
        await asyncio.sleep(70)
        assert list(world.look(HOME)[0].partitions) == ["0", "1", "2"]

    run(course)


def test_a_group_that_is_forgotten_leaves_the_others_their_hub(run: Any) -> None:
    async def course(world: World) -> None:
        for key in (HOME, ALARMS):
            world.look(key)
        await asyncio.sleep(10)
        world.hubs.forget(HOME)
        world.service.ends["0"] += 1
        world.woken.clear()
        await asyncio.sleep(5)
        assert world.woken == [ALARMS]
        world.hubs.forget(ALARMS)
        await asyncio.sleep(1)
        assert world.service.open == 0

    run(course)


def test_other_credentials_make_no_other_partitions(run: Any) -> None:
    async def course(world: World) -> None:
        world.look(HOME)
        await asyncio.sleep(1)
        world.service.is_down = True
        ends, _ = world.look(HOME, events=OTHER_KEY)
        assert ends is not None, "what was known is known"

    run(course)


def test_who_does_not_sleep_is_asked_for_seldom(run: Any) -> None:
    async def course(world: World) -> None:
        for _ in range(60):
            world.look(HOME, is_asleep=False)
            await asyncio.sleep(1)
        assert world.service.asked["connection"] == 60 / SETTINGS.ends_every_s

    run(course)


def test_a_source_is_asked_as_soon_as_nobody_reads_a_partition_and_as_long(run: Any) -> None:
    async def course(world: World) -> None:
        def look(unread_since: float | None) -> None:
            world.look(HOME, is_asleep=False, is_anybody_alive=True, unread_since=unread_since)

        look(None)
        await asyncio.sleep(5)
        look(None)
        await asyncio.sleep(1)
        assert world.service.asked["connection"] == 1
        since = virtual_time.now()
        look(since)
        await asyncio.sleep(1)
        assert world.service.asked["connection"] == 2, "the answer before is of a time before"
        for _ in range(60):
            look(since)
            await asyncio.sleep(1)
        asked = world.service.asked["connection"]
        assert 3 <= asked <= 4
        for _ in range(60):
            look(None)
            await asyncio.sleep(1)
        assert world.service.asked["connection"] == asked

    run(course)


def test_a_source_is_asked_often_while_living_members_cannot_read_a_partition(run: Any) -> None:
    async def course(world: World) -> None:
        def look(*, is_missed: bool) -> None:
            since = virtual_time.now() if is_missed else None
            world.look(HOME, is_asleep=False, is_anybody_alive=True, unread_since=since,
                       is_missed=is_missed)  # fmt: skip

        look(is_missed=True)
        await asyncio.sleep(10)
        world.woken.clear()
        world.service.ends["0"] += 300
        await asyncio.sleep(SETTINGS.asleep_every_s + 0.5)
        assert world.woken == [HOME]
        assert world.service.asked["connection"] == 1
        look(is_missed=False)
        await asyncio.sleep(SETTINGS.asleep_every_s + 0.5)
        assert world.service.open == 0

    run(course)
