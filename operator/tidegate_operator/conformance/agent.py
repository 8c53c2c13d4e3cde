"""The agent of a run, a pod in the group's namespace: sends, and watches the ledger and handlers.

    POST /send                 begins to send; the streams' first numbers are known from then on
    POST /stop                 ends that, and says how many of each stream the service has accepted
    GET /look?after=N          what was seen since row N, the time here, and which life this is; all
                               before N is let go
    POST /break  {"partition"} breaks the lease of a partition, as a hand would
    POST /connect {"host", "ports"}   tries a connection to each, and says which it got
    POST /split, /merge        of tidegate-cosmos
    POST /tidy                 removes what handlers have written down

Rules: storage is read by its SDK alone, as any tool would, and not through what disturbs the group.
What goes wrong with the agent itself is a row `trouble`, and the run says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import Any

import aiohttp
from aiohttp import web
from azure.core.exceptions import AzureError
from azure.eventhub.exceptions import EventHubError

from tidegate.commands.dumps import no_core_dumps
from tidegate_operator.conformance.agent_place import PORT, SETTING, STORAGE, AgentPlace
from tidegate_operator.conformance.agent_sender import Sender, sender_for
from tidegate_operator.conformance.agent_watch import Watch

_PAUSE_S = 0.25
_PROBLEMS = (AzureError, EventHubError, ValueError)
_CONNECT_S, _MADE_S = 3.0, 60.0


class Agent:
    """See the module."""

    def __init__(self, place: AgentPlace, environment: dict[str, str]) -> None:
        self._place = place
        self._environment = environment
        # What another process in its place has not.
        self._life = f"{time.time():.3f}"
        self._watch = Watch(place, environment[STORAGE])
        self._sender: Sender | None = None
        self._tasks: list[asyncio.Task[None]] = []
        # What keeps it out; None until it has tried, where it is to try.
        self._check: str | None = "" if place.creates_seen else None

    async def begin(self) -> None:
        if self._place.creates_seen:
            await self._watch.until_made(_MADE_S)
        else:
            self._tasks.append(asyncio.create_task(self._checking()))
        self._tasks.append(asyncio.create_task(self._watching()))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._sender is not None:
            await self._sender.close()
        await self._watch.close()

    async def _checking(self) -> None:
        """Whether hub and storage of the user's own let the agent in: before a group is made."""
        self._check = await self._watch.check() or await self._check_sender()

    async def _check_sender(self) -> str:
        try:
            sender = sender_for(self._place, self._environment)
            try:
                await sender.begin()
            finally:
                await sender.close()
        except _PROBLEMS as problem:
            return _refused(self._place, problem)
        return ""

    async def _watching(self) -> None:
        while True:
            begun = time.monotonic()
            await self._watch.look()
            await asyncio.sleep(max(_PAUSE_S - (time.monotonic() - begun), 0.05))

    # --- what is asked

    async def look(self, request: web.Request) -> web.Response:
        after = int(request.query.get("after", "0"))
        rows, following = self._watch.rows.since(after)
        sent = {} if self._sender is None else self._sender.sent()
        return web.json_response(
            {"now": time.time(), "rows": rows, "next": following, "sent": sent,
             "life": self._life, "check": self._check}
        )  # fmt: skip

    async def send(self, _request: web.Request) -> web.Response:
        if self._sender is None:
            sender = sender_for(self._place, self._environment)
            try:
                await sender.begin()
            except _PROBLEMS as problem:
                await sender.close()
                self._watch.rows.add("trouble", _refused(self._place, problem))
                return web.json_response({"sent": {}})
            self._sender = sender
            self._tasks.append(asyncio.create_task(self._sending(self._sender)))
        return web.json_response({"sent": self._sender.sent()})

    async def _sending(self, sender: Sender) -> None:
        try:
            await sender.run()
        except Exception as problem:
            # Whatever it is: a run whose sender has ended proves nothing, and says why.
            said = f"the sender ended: {_refused(self._place, problem)}"
            self._watch.rows.add("trouble", said)
            raise

    async def stop(self, _request: web.Request) -> web.Response:
        if self._sender is None:
            raise web.HTTPConflict(text="nothing is being sent: ask for /send first")
        await self._sender.stop()
        return web.json_response({"sent": self._sender.sent()})

    async def break_lease(self, request: web.Request) -> web.Response:
        partition = str(json.loads(await request.text())["partition"])
        return web.json_response({"broken": await self._watch.break_lease(partition)})

    async def connect(self, request: web.Request) -> web.Response:
        said = json.loads(await request.text())
        ports = [int(port) for port in said["ports"]]
        found = await asyncio.gather(*(_is_reached(str(said["host"]), port) for port in ports))
        reached = [port for port, is_reached in zip(ports, found, strict=True) if is_reached]
        return web.json_response({"reached": reached})

    async def ranges(self, request: web.Request) -> web.Response:
        """Splits the first range, or merges the first two that lie beside each other."""
        if not self._place.ranges:
            raise web.HTTPConflict(text="the ranges of this container cannot be changed from here")
        place = self._place
        base = f"{place.ranges}/api/v1/containers/{place.database}/{place.container}"
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{base}/ranges") as said:
                found: list[dict[str, Any]] = (await said.json())["ranges"]
            ids = [each["id"] for each in found]
            if request.path == "/split":
                url, body = f"{base}/ranges/{ids[0]}/split", {}
            else:
                first, second = _neighbours(found)
                url, body = f"{base}/merge", {"ranges": [first, second]}
            async with session.post(url, json=body) as said:
                text = await said.text()
                if said.status != 200:
                    raise web.HTTPBadGateway(text=f"{url}: {said.status} {text[:300]}")
        return web.json_response({"ranges": ids, "answer": json.loads(text)})

    async def tidy(self, _request: web.Request) -> web.Response:
        return web.json_response({"removed": await self._watch.tidy()})


def _refused(place: AgentPlace, problem: Exception) -> str:
    """What the service said, and what the agent has to be allowed."""
    what, rights = f"hub {place.hub}", "Listen and Send"
    if place.source == "cosmos":
        what, rights = f"container {place.database}/{place.container}", "to read and write items"
    said = (str(problem).splitlines() or [type(problem).__name__])[0][:300]
    return (
        f"the agent cannot send to {what}; its connection string needs the rights {rights}: {said}"
    )


async def _is_reached(host: str, port: int) -> bool:
    """Refused, out of reach and silence are all the same here: nobody got in."""
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


def _neighbours(found: list[dict[str, Any]]) -> tuple[str, str]:
    """The first two that share a border."""
    there = sorted(found, key=lambda each: str(each["least"]))
    return there[0]["id"], there[1]["id"]


def application(agent: Agent) -> web.Application:
    made = web.Application()
    made.add_routes(
        [
            web.get("/look", agent.look),
            web.post("/send", agent.send),
            web.post("/stop", agent.stop),
            web.post("/break", agent.break_lease),
            web.post("/connect", agent.connect),
            web.post("/split", agent.ranges),
            web.post("/merge", agent.ranges),
            web.post("/tidy", agent.tidy),
        ]
    )
    return made


async def main() -> None:
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    agent = Agent(AgentPlace.of_text(os.environ[SETTING]), dict(os.environ))
    runner = web.AppRunner(application(agent), access_log=None)
    await runner.setup()
    # Its pod is ready when it listens.
    await agent.begin()
    await web.TCPSite(runner, "0.0.0.0", PORT).start()
    print(f"the agent answers at port {PORT}", flush=True)
    await stop.wait()
    await agent.close()
    await runner.cleanup()


if __name__ == "__main__":
    no_core_dumps(os.environ)
    asyncio.run(main())
