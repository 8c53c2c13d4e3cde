"""The operator as a whole, on a small API in memory: it watches, leads, acts, and ends cleanly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.cluster_kubectl import Kubectl
from support.operator_process import operator_process
from support.small_api import SmallApi, small_api
from support.small_disk import SmallDisk
from support.small_groups import put_group
from support.wait import wait_until_async
from tidegate_operator.handlers import watching
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, LEASE, SECRET, ObjectName
from tidegate_operator.kube import connect, connected
from tidegate_operator.model import GroupKey
from tidegate_operator.objects import Watch
from tidegate_operator.running import EndedError, Operator
from tidegate_operator.secrets import KnownSecrets
from tidegate_operator.settings import OperatorSettings

SOON = 20.0
WATCH = watching(lambda: None)
SETTINGS = OperatorSettings(
    identity="one", leader_namespace="homes", namespaces=("homes",), image="consumer:1",
    compare_every_s=0.5,
)  # fmt: skip


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SmallApi]:
    async with small_api() as api:
        # kopf logs in by this, as everybody does.
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION",
                            str(tmp_path / "kubeconfig"))  # fmt: skip
        yield api


class Running:
    def __init__(self, operator: Operator, stop: asyncio.Event, task: asyncio.Task[None]) -> None:
        self.operator = operator
        self.stop = stop
        self.task = task

    async def end(self) -> None:
        self.stop.set()
        async with asyncio.timeout(SOON):
            await self.task


@asynccontextmanager
async def running(api: SmallApi, name: str = "one", watch: Watch = WATCH) -> AsyncIterator[Running]:
    kubes = [connect(), connect()]
    settings = replace(SETTINGS, identity=name)
    operator = Operator(settings, kubes[0], kubes[1], KnownSecrets(), watch)
    stop = asyncio.Event()
    task = asyncio.create_task(operator.run(None, stop))
    try:
        yield Running(operator, stop, task)
    finally:
        stop.set()
        await asyncio.wait([task], timeout=SOON)
        for kube in kubes:
            await kube.close()


async def until_made(api: SmallApi, name: str) -> None:
    await wait_until_async(
        lambda: api.get(DEPLOYMENT, "homes", name), SOON, f"the Deployment of {name}"
    )


async def test_groups_that_are_there_and_groups_that_come_are_looked_after(api: SmallApi) -> None:
    put_group(api, "early")
    async with running(api) as one:
        await until_made(api, "early")
        put_group(api, "late")
        await until_made(api, "late")
        found = api.get(CONSUMER_GROUP, "homes", "late")
        assert found is not None
        await wait_until_async(lambda: found_status(api, "late"), SOON, "its status")
        assert one.operator.health.ready(0.0).reason == "2 groups; leads"
        assert one.operator.health.alive(asyncio.get_running_loop().time()).is_good
        await one.end()
    lease = api.get(LEASE, "homes", "tidegate-operator")
    assert lease is not None and lease["spec"]["holderIdentity"] == ""


def found_status(api: SmallApi, name: str) -> Any:
    return (api.get(CONSUMER_GROUP, "homes", name) or {}).get("status")


async def test_nothing_is_remembered_of_a_group_that_was_deleted_and_made_again(
    api: SmallApi,
) -> None:
    kubes = [connect(), connect()]
    operator = Operator(SETTINGS, kubes[0], kubes[1], KnownSecrets(), WATCH)
    operator.leader._leads_until = float("inf")
    key = GroupKey("homes", "activity")
    try:
        for _ in range(2):
            # Between two rounds: of the group being gone no round was ever told.
            put_group(api)
            api.take(ObjectName(SECRET, "homes", "azure"))
            made = api.get(CONSUMER_GROUP, "homes", "activity")
            assert made is not None
            operator.hear(CONSUMER_GROUP, made, is_gone=False)
            await operator._round(key)
            assert found_status(api, "activity")["state"] == "SecretMissing"
            api.take(ObjectName(CONSUMER_GROUP, "homes", "activity"))
            operator.hear(CONSUMER_GROUP, made, is_gone=True)
    finally:
        for kube in kubes:
            await kube.close()


async def test_an_operator_that_no_longer_leads_remembers_no_group(api: SmallApi) -> None:
    """It is not told of those that are deleted while another leads."""
    async with connected() as kube, connected() as control:
        operator = Operator(SETTINGS, kube, control, KnownSecrets(), WATCH)
        operator.leader._leads_until = float("inf")
        operator.watches.complete.set()
        put_group(api)
        made = api.get(CONSUMER_GROUP, "homes", "activity")
        assert made is not None
        operator.hear(CONSUMER_GROUP, made, is_gone=False)
        leading = asyncio.create_task(operator._lead())
        await until_made(api, "activity")
        key = GroupKey("homes", "activity")
        assert key in operator._notes and key in operator._edges.ledgers._shelves
        leading.cancel()
        await asyncio.wait([leading])
        assert not operator._notes and not operator._edges.ledgers._shelves
        await operator._edges.ledgers.close()


async def test_a_defect_is_what_its_round_ends_with_although_nobody_may_tell_of_it(
    api: SmallApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubes = [connect(), connect()]
    operator = Operator(SETTINGS, kubes[0], kubes[1], KnownSecrets(), WATCH)
    operator.leader._leads_until = float("inf")
    put_group(api)
    made = api.get(CONSUMER_GROUP, "homes", "activity")
    assert made is not None
    operator.hear(CONSUMER_GROUP, made, is_gone=False)
    key = GroupKey("homes", "activity")

    async def fails(*_: Any) -> Any:
        operator.leader._leads_until = float("-inf")
        raise ValueError("a defect")

    try:
        await operator._round(key)
        before = found_status(api, "activity")
        monkeypatch.setattr("tidegate_operator.running.reconcile", fails)
        with pytest.raises(ValueError, match="a defect"):
            await operator._round(key)
        assert found_status(api, "activity") == before
    finally:
        await operator._edges.ledgers.close()
        await operator._edges.hubs.close()
        for kube in kubes:
            await kube.close()


@pytest.mark.slow
async def test_as_processes_one_acts_and_the_next_one_takes_over_when_it_is_asked_to_end(
    api: SmallApi, tmp_path: Path
) -> None:
    inside = Kubectl(Path("kubectl"), tmp_path / "kubeconfig", "homes")
    with operator_process(inside, tmp_path, "one") as one:
        await asyncio.to_thread(one.until_leading)
        put_group(api, "early")
        await until_made(api, "early")
        with operator_process(inside, tmp_path, "two") as two:
            await asyncio.to_thread(two.until_ready)
            assert not await asyncio.to_thread(two.leads)
            assert await asyncio.to_thread(one.stop) == 0
            await asyncio.to_thread(two.until_leading, 8.0)
            put_group(api, "late")
            await until_made(api, "late")
            assert await asyncio.to_thread(two.metric, "tidegate_operator_groups") == 2
            assert (await asyncio.to_thread(two.asked, "/healthz"))[0] == 200
            assert one.errors() == [] and two.errors() == []


@pytest.mark.slow
@pytest.mark.parametrize("is_full", [True, False], ids=["from the beginning", "after a while"])
async def test_an_operator_whose_disk_is_full_acts_all_the_same_and_ends_cleanly(
    api: SmallApi, tmp_path: Path, is_full: bool
) -> None:
    disk = SmallDisk(tmp_path)
    inside = Kubectl(Path("kubectl"), tmp_path / "kubeconfig", "homes")
    within = disk.within(log=True, is_full=is_full)
    with operator_process(inside, tmp_path, within=within) as one:
        await asyncio.to_thread(one.until_leading)
        disk.fill(one.process.pid)
        for number in range(3):
            put_group(api, f"late-{number}")
            await until_made(api, f"late-{number}")
        assert (await asyncio.to_thread(one.asked, "/healthz"))[0] == 200
        assert await asyncio.to_thread(one.stop) == 0


@pytest.mark.slow
async def test_a_silent_watch_does_not_make_the_operator_blind(api: SmallApi) -> None:
    put_group(api, "early")
    async with running(api):
        await until_made(api, "early")
        api.silence()
        put_group(api, "unheard")
        await until_made(api, "unheard")


async def test_streams_that_end_are_opened_again(api: SmallApi) -> None:
    put_group(api, "early")
    async with running(api) as one:
        await until_made(api, "early")
        assert api.opened == 3
        api.end_streams()
        await wait_until_async(lambda: api.opened == 6, SOON, "three streams more")
        put_group(api, "next")
        await until_made(api, "next")
        assert not one.task.done()


@pytest.mark.slow
async def test_an_operator_waits_for_its_kind_and_says_so(api: SmallApi) -> None:
    api.has_kind = False
    async with running(api) as one:
        health = one.operator.health
        await wait_until_async(
            lambda: "CustomResourceDefinition" in health.ready(0.0).reason, SOON, "the reason"
        )
        assert not health.ready(0.0).is_good
        api.has_kind = True
        put_group(api)
        await until_made(api, "activity")


async def test_a_part_that_ends_by_itself_ends_the_operator_with_a_reason(
    api: SmallApi,
) -> None:
    async def ends(*_: Any) -> None:
        return None

    async with running(api, watch=ends) as one:
        with pytest.raises(EndedError, match="have ended"):
            async with asyncio.timeout(SOON):
                await one.task
