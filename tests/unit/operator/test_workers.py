"""A task for each group: prompt, bounded, and never a burden to the others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from support import virtual_time
from tidegate_operator.kube_errors import Unreachable
from tidegate_operator.model import GroupKey
from tidegate_operator.pauses import pause_s
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.workers import Round, Workers

SETTINGS = OperatorSettings(identity="a", leader_namespace="tidegate", image="x")
HOME, ALARMS = GroupKey("default", "home"), GroupKey("default", "alarms")


def workers_of(
    work: Callable[[GroupKey], Awaitable[Round]], settings: OperatorSettings = SETTINGS
) -> Workers:
    return Workers(work, settings, virtual_time.now, lambda: 0.5)


async def ended(running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.wait([running])


def test_a_group_is_looked_at_when_it_is_time_and_when_something_happens() -> None:
    at: list[float] = []

    async def work(key: GroupKey) -> Round:
        at.append(virtual_time.now())
        return Round(5.0)

    async def course() -> None:
        workers = workers_of(work)
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME,))))
        await asyncio.sleep(12)
        # Never later than it is time, and not all groups at once.
        gaps = [later - earlier for earlier, later in pairwise(at)]
        assert len(gaps) == 2 and all(4.25 <= gap <= 5.0 for gap in gaps)
        workers.wake(HOME)
        await asyncio.sleep(0.01)
        assert at[-1] == pytest.approx(12.0)
        await ended(running)

    virtual_time.run(course())


def test_what_happens_together_is_one_round() -> None:
    at: list[float] = []

    async def work(key: GroupKey) -> Round:
        at.append(virtual_time.now())
        return Round(60.0)

    async def course() -> None:
        workers = workers_of(work)
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME,))))
        for _ in range(200):
            await asyncio.sleep(0.01)
            workers.wake(HOME)
        await ended(running)
        # Two seconds of wake-ups, no two rounds closer than closest_s.
        assert 2 < len(at) <= 2 / SETTINGS.closest_s + 1

    virtual_time.run(course())


def test_rounds_of_a_group_never_overlap_and_groups_are_bounded() -> None:
    running_now: Counter[GroupKey] = Counter()
    most = 0

    async def work(key: GroupKey) -> Round:
        nonlocal most
        running_now[key] += 1
        assert running_now[key] == 1
        most = max(most, running_now.total())
        await asyncio.sleep(0.5)
        running_now[key] -= 1
        return Round(0.3)

    async def course() -> None:
        workers = workers_of(work, replace(SETTINGS, rounds_at_once=4))
        keys = frozenset(GroupKey("default", f"group-{at}") for at in range(20))
        running = asyncio.create_task(workers.run(lambda: keys))
        await asyncio.sleep(30)
        await ended(running)
        assert most == 4

    virtual_time.run(course())


def test_a_group_that_fails_pauses_longer_each_time_and_harms_no_other() -> None:
    at: dict[GroupKey, list[float]] = {HOME: [], ALARMS: []}

    async def work(key: GroupKey) -> Round:
        at[key].append(virtual_time.now())
        if key == HOME:
            raise ValueError("it cannot be looked at")
        return Round(5.0)

    async def course() -> None:
        workers = workers_of(work)
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME, ALARMS))))
        for _ in range(600):
            await asyncio.sleep(1)
            workers.wake(HOME)
        assert workers.failures == {HOME: ("ValueError: it cannot be looked at", 0.0)}
        await ended(running)
        # No hot loop, though something happens to it all the time.
        gaps = [later - earlier for earlier, later in pairwise(at[HOME])]
        assert gaps == sorted(gaps) and gaps[0] >= 0.5 and gaps[-1] >= 30.0
        assert len(at[HOME]) < 25
        assert len(at[ALARMS]) > 110
        assert workers.counts.failed == len(at[HOME])

    virtual_time.run(course())


def test_a_group_that_goes_well_again_has_no_failure_and_no_pause() -> None:
    fails = True

    async def work(key: GroupKey) -> Round:
        if fails:
            raise ValueError("not yet")
        return Round(5.0)

    async def course() -> None:
        nonlocal fails
        workers = workers_of(work)
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME,))))
        await asyncio.sleep(10)
        assert HOME in workers.failures
        fails = False
        await asyncio.sleep(60)
        assert not workers.failures
        await ended(running)

    virtual_time.run(course())


def test_a_round_is_not_tried_again_sooner_than_the_server_asks_for() -> None:
    at: list[float] = []

    async def work(key: GroupKey) -> Round:
        at.append(virtual_time.now())
        problem = Unreachable("too many requests")
        problem.retry_after_s = 40.0
        raise problem

    async def course() -> None:
        running = asyncio.create_task(workers_of(work).run(lambda: frozenset((HOME,))))
        await asyncio.sleep(100)
        await ended(running)
        assert at == pytest.approx([0.0, 40.0, 80.0])

    virtual_time.run(course())


def test_a_group_that_is_over_has_no_task_any_more_and_comes_back_when_woken() -> None:
    rounds = 0

    async def work(key: GroupKey) -> Round:
        nonlocal rounds
        rounds += 1
        return Round(0.0, is_over=True)

    async def course() -> None:
        workers = workers_of(work)
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME,))))
        await asyncio.sleep(100)
        assert rounds == 1 and not workers.groups
        workers.wake(HOME)
        await asyncio.sleep(1)
        assert rounds == 2
        await ended(running)

    virtual_time.run(course())


def test_nothing_runs_before_it_is_opened_nor_after_its_end() -> None:
    under_way = 0

    async def work(key: GroupKey) -> Round:
        nonlocal under_way
        under_way += 1
        try:
            await asyncio.sleep(1000)
        finally:
            under_way -= 1
        return Round(1.0)

    async def course() -> None:
        workers = workers_of(work)
        workers.wake(HOME)
        await asyncio.sleep(1)
        assert not workers.groups
        running = asyncio.create_task(workers.run(lambda: frozenset((HOME,))))
        await asyncio.sleep(1)
        assert under_way == 1 and HOME in workers.counts.running
        await ended(running)
        workers.wake(HOME)
        await asyncio.sleep(1)
        assert under_way == 0 and not workers.groups and not workers.counts.running

    virtual_time.run(course())


def test_pauses_double_up_to_the_longest() -> None:
    pauses = [pause_s(failures, 1.0, 60.0, lambda: 0.0) for failures in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert pause_s(1000, 1.0, 60.0, lambda: 1.0) == 30.0
