"""The agent of `tidegate conformance`, beside real members on a hub and Azurite: what it sees of
them is enough to judge them by, and what it sends is known to the last event."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from support.command_group import CommandGroup, a_command_group
from tidegate_hub.testing import RunningHub
from tidegate_operator.conformance import recorder
from tidegate_operator.conformance.agent import Agent, application
from tidegate_operator.conformance.agent_place import EVENTS, STORAGE, AgentPlace
from tidegate_operator.conformance.agent_watch import Watch
from tidegate_operator.conformance.judge import verdicts
from tidegate_operator.conformance.record import Disturbed, Record, Setting, take
from tidegate_operator.conformance.verdicts import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

PARTITIONS, EVERY_S = 4, 0.2
DELIVERY = "{batch: {maxEvents: 50}, checkpoint: {everySeconds: 1}}"


@pytest.fixture
def group(hub: RunningHub, azurite: str, tmp_path: Path) -> Iterator[CommandGroup]:
    code = Path(recorder.__file__).read_text(encoding="utf-8")
    with a_command_group(
        hub, azurite, tmp_path, code, partitions=PARTITIONS, delivery=DELIVERY
    ) as made:
        seen = {"CONFORMANCE_STORAGE": azurite, "CONFORMANCE_SEEN": f"{made.name}-seen seen"}
        made.environment = made.environment | seen
        yield made


class Asked:
    """The agent, as a run asks it."""

    def __init__(self, session: aiohttp.ClientSession, url: str, record: Record) -> None:
        self._session, self._url, self._after = session, url, 0
        self.record = record

    async def ask(self, verb: str, path: str, **more: Any) -> dict[str, Any]:
        async with self._session.request(verb, f"{self._url}{path}", **more) as said:
            assert said.status == 200, await said.text()
            found: dict[str, Any] = await said.json()
            return found

    async def look(self) -> None:
        said = await self.ask("GET", f"/look?after={self._after}")
        take(self.record, said["rows"])
        self._after = said["next"]

    async def until(self, condition: Any, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while True:
            await self.look()
            if condition():
                return
            assert time.monotonic() < end, f"{what}: {self.record.owned[-8:]}"
            await asyncio.sleep(0.1)

    def owners(self) -> dict[str, str]:
        return {row.partition: row.owner for row in self.record.owned}


@asynccontextmanager
async def an_agent(group: CommandGroup, hub: RunningHub, azurite: str) -> AsyncIterator[Asked]:
    place = AgentPlace("hub", group.name, "", f"{group.name}-seen", "seen", group.hub_name)
    agent = Agent(place, {STORAGE: azurite, EVENTS: hub.connection_string})
    runner = web.AppRunner(application(agent), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await agent.begin()
    setting = Setting(group.name, "", 1, "python", "hub", 60, 2, PARTITIONS, 1 / EVERY_S)
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield Asked(session, url, Record(setting))
    await agent.close()
    await runner.cleanup()


async def test_what_the_agent_sees_of_a_group_with_a_kill_is_judged_and_all_that_was_tried_holds(
    group: CommandGroup, hub: RunningHub, azurite: str
) -> None:
    async with an_agent(group, hub, azurite) as agent:
        record = agent.record
        group.start("a")
        group.start("b")
        await agent.until(lambda: len(agent.owners()) == PARTITIONS, 30, "all to be owned")
        await agent.until(lambda: set(agent.owners().values()) == {"a", "b"}, 30, "shares")
        await agent.ask("POST", "/send")
        record.began = time.time()
        await agent.until(lambda: len(record.handled) > 40, 30, "events to be handled")
        its = tuple(name for name, owner in agent.owners().items() if owner == "b")
        killed_at = time.time()
        group.kill("b")
        await agent.until(lambda: set(agent.owners().values()) == {"a"}, 40, "a to have it all")
        settled_at = time.time()
        sent = (await agent.ask("POST", "/stop"))["sent"]
        record.sent = {stream: (first, count) for stream, (first, count) in sent.items()}
        await agent.until(
            lambda: all(
                any(
                    row.stream == stream and row.last == first + count - 1 for row in record.handled
                )
                for stream, (first, count) in record.sent.items()
            ),
            30,
            "the last event to be handled",
        )
        record.ended = time.time()
        record.disturbed = [
            Disturbed("force", killed_at, killed_at, settled_at, "b", its, ("a", "b"), ("a",))
        ]
        assert not record.troubles
        found = {verdict.name: verdict for verdict in verdicts(record)}
        for name in ("P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8"):
            assert found[name].outcome is Outcome.HELD, found[name]
        assert found["P2"].figures["sent"] > 0
        assert (await agent.ask("POST", "/tidy"))["removed"] > 0


async def test_a_port_that_is_open_is_reached_and_one_that_nobody_has_is_not(
    group: CommandGroup, hub: RunningHub, azurite: str
) -> None:
    async with an_agent(group, hub, azurite) as agent:
        open_port = hub.port
        body = {"host": "127.0.0.1", "ports": [open_port, 1]}
        assert await agent.ask("POST", "/connect", json=body) == {"reached": [open_port]}


@pytest.mark.parametrize(
    ("hub_name", "key", "said"),
    [
        ("no-such-hub", "", "cannot send to hub no-such-hub; its connection string needs the "
         "rights Listen and Send: "),
        ("", "AccountKey=bm90aGluZw==;", "cannot read container here of the ledger's storage"),
        ("", "", ""),
    ],
)  # fmt: skip
async def test_what_keeps_the_agent_out_of_a_hub_and_storage_of_ones_own_is_said_with_its_rights(
    group: CommandGroup, hub: RunningHub, azurite: str, hub_name: str, key: str, said: str
) -> None:
    storage = re.sub("AccountKey=[^;]*;", key, azurite) if key else azurite
    name = hub_name or group.hub_name
    place = AgentPlace("hub", "here", "", "here", "seen", name, creates_seen=False)
    agent = Agent(place, {STORAGE: storage, EVENTS: hub.connection_string})
    async with TestClient(TestServer(application(agent))) as client:
        await agent.begin()
        async with asyncio.timeout(60):
            while (found := (await (await client.get("/look")).json())["check"]) is None:
                await asyncio.sleep(0.05)
    await agent.close()
    assert said in found if said else found == ""


async def test_what_handlers_have_not_yet_written_is_no_trouble_of_the_agents(
    hub: RunningHub, azurite: str
) -> None:
    place = AgentPlace("hub", "not-there", "", "not-there", "seen", "h", creates_seen=False)
    watch = Watch(place, azurite)
    await watch.look()
    await watch.close()
    assert watch.rows.since(0) == ([], 0)


async def test_a_lease_that_the_agent_breaks_is_broken_and_one_that_nobody_has_is_said_to_be_none(
    group: CommandGroup, hub: RunningHub, azurite: str
) -> None:
    async with an_agent(group, hub, azurite) as agent:
        group.start("a")
        await agent.until(lambda: len(agent.owners()) == PARTITIONS, 30, "all to be owned")
        assert await agent.ask("POST", "/break", json={"partition": "2"}) == {"broken": True}
        assert await agent.ask("POST", "/break", json={"partition": "none"}) == {"broken": False}
        epoch = next(row.epoch for row in agent.record.owned if row.partition == "2")
        await agent.until(
            lambda: any(row.partition == "2" and row.epoch > epoch for row in agent.record.owned),
            40,
            "its owner to take it anew",
        )
