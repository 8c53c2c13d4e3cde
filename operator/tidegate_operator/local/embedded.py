"""Hub, storage and Cosmos DB of this machine, as processes that keep what they have in a folder.

Rules: each is ready when it says so. It has the same port each time, for a hub's is part of where
positions are kept, and programs of the user's know it. One that ends by itself ends everything,
with its own last words.
"""

from __future__ import annotations

import asyncio
import re
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegate_operator.local.azurite import fetched, find_azurite
from tidegate_operator.local.given import Given
from tidegate_operator.local.places import COSMOS, EVENTS, STORAGE
from tidegate_operator.local.ports import free_port
from tidegate_operator.local.processes import Process
from tidegate_operator.local.state import State

_READY_S = 60.0
_END_S = 20.0
_LOOK_S = 0.05
_TAIL = 1500
# The account that every Azurite has. Its key is public and guards nothing.
_ACCOUNT = "devstoreaccount1"
_ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_CONNECTION = re.compile(r"^connection string: (.*)$", re.MULTILINE)
_ADMIN = re.compile(r"^admin: (\S+)$", re.MULTILINE)


class EmbeddedError(Exception):
    """Hub, storage or Cosmos DB cannot be had; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One of them."""

    name: str
    command: Sequence[str]
    port: int
    # What it says when it can be asked.
    is_ready: re.Pattern[str]


class Embedded:
    """Those that run. `connections` has their connection strings; `told` is for the user."""

    def __init__(self) -> None:
        self.connections: dict[str, str] = {}
        self.told: list[str] = []
        self._running: list[tuple[str, Process, Path]] = []

    async def watch(self) -> None:
        """Until it is cancelled. Raises EmbeddedError where one ends by itself."""
        if not self._running:
            await asyncio.Event().wait()
        ends = {
            asyncio.create_task(process.ended()): (name, log)
            for name, process, log in self._running
        }
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            ended = done.pop()
            name, log = ends[ended]
            raise EmbeddedError(
                f"the embedded {name} has ended by itself, with code {ended.result()}: {_tail(log)}"
            )
        finally:
            for task in ends:
                task.cancel()

    def kill(self) -> None:
        for _, process, _ in self._running:
            process.kill()

    async def start(self, plan: Plan, logs: Path, variables: Mapping[str, str]) -> str:
        """What it said until it was ready. Raises EmbeddedError."""
        log = logs / f"{plan.name}.log"
        process = await Process.started(plan.command, variables, log)
        self._running.append((plan.name, process, log))
        until = time.monotonic() + _READY_S
        while True:
            said = log.read_text(encoding="utf-8", errors="replace")
            if plan.is_ready.search(said):
                return said
            if not process.is_running:
                raise EmbeddedError(f"the embedded {plan.name} does not start: {_tail(log)}")
            if time.monotonic() > until:
                raise EmbeddedError(
                    f"the embedded {plan.name} is not ready after {_READY_S:g} s: {_tail(log)}"
                )
            await asyncio.sleep(_LOOK_S)

    async def stop(self) -> None:
        """All of them, the last that was started first."""
        for _, process, _ in reversed(self._running):
            process.terminate()
            await asyncio.wait([asyncio.create_task(process.ended())], timeout=_END_S)
            process.kill()
            await process.ended()
        self._running.clear()


@asynccontextmanager
async def embedded(
    given: Given,
    state: State,
    partitions: int,
    environment: Mapping[str, str],
    say: Callable[[str], None],
) -> AsyncIterator[Embedded]:
    """What the groups need of it, while the block lasts. Raises EmbeddedError, SettingsError."""
    wanted = set(given.embedded.values())
    running = Embedded()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(running.stop)
        if STORAGE in wanted:
            azurite = find_azurite(environment)
            command = azurite.command
            port = port_of(state, "storage")
            if azurite.fetch:
                say("Azurite is not installed: npx fetches it (about 40 MB), once")
                command = await fetched(azurite, environment, state.logs / "storage-fetch.log")
            plan = _storage_plan(command, port, state)
            await running.start(plan, state.logs, environment)
            running.connections[STORAGE] = (
                f"DefaultEndpointsProtocol=http;AccountName={_ACCOUNT};AccountKey={_ACCOUNT_KEY};"
                f"BlobEndpoint=http://127.0.0.1:{port}/{_ACCOUNT};"
            )
        if EVENTS in wanted:
            plan = _hub_plan(given, partitions, port_of(state, "hub"), state)
            found = _CONNECTION.search(await running.start(plan, state.logs, environment))
            assert found is not None
            running.connections[EVENTS] = found[1]
        if COSMOS in wanted:
            plan = _cosmos_plan(given, partitions, port_of(state, "cosmos"), state)
            said = await running.start(plan, state.logs, environment)
            found, admin = _CONNECTION.search(said), _ADMIN.search(said)
            assert found is not None and admin is not None
            running.connections[COSMOS] = found[1]
            running.told.append(f"ranges of the embedded Cosmos DB split and merge at {admin[1]}")
        yield running


def port_of(state: State, name: str) -> int:
    """The one that it had before, or any. Raises EmbeddedError."""
    port = state.ports().get(name)
    if port is None:
        port = free_port()
        state.keep_port(name, port)
        return port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise EmbeddedError(
                f"port {port} of the embedded {name} is taken by another program. It cannot be "
                "another one, for it is part of where positions are kept: end that program, or "
                f"begin with a new folder (--state). `ss -ltnp 'sport = :{port}'` says who has it"
            ) from None
    return port


def _storage_plan(command: Sequence[str], port: int, state: State) -> Plan:
    return Plan(
        "storage",
        (
            *command,
            *("--blobHost", "127.0.0.1", "--blobPort", str(port)),
            *("--location", str(state.storage), "--skipApiVersionCheck"),
            *("--silent", "--disableTelemetry"),
        ),
        port,
        re.compile(r"successfully listens on "),
    )


def _hub_plan(given: Given, partitions: int, port: int, state: State) -> Plan:
    hubs = [
        word
        for name, groups in sorted(given.wanted.hubs.items())
        for word in ("--hub", f"{name}:{partitions}:{','.join(sorted(groups - {'$Default'}))}")
    ]
    command = (sys.executable, "-m", "tidegate_hub", "serve", "--port", str(port))
    where = ("--data", str(state.hub))
    return Plan("hub", (*command, *where, *hubs), port, re.compile(r"^ready", re.MULTILINE))


def _cosmos_plan(given: Given, ranges: int, port: int, state: State) -> Plan:
    # What is read has as many ranges as a hub has partitions; leases and letters have one.
    containers = [
        word
        for name, (key_path, is_read) in sorted(given.wanted.containers.items())
        for word in ("--container", f"{name}:{key_path}:{ranges if is_read else 1}")
    ]
    command = (sys.executable, "-m", "tidegate_cosmos", "serve", "--port", str(port))
    where = ("--admin-port", "0", "--data", str(state.cosmos))
    return Plan(
        "cosmos", (*command, *where, *containers), port, re.compile(r"^ready", re.MULTILINE)
    )


def _tail(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()
    return text.splitlines()[-1] if text else "it has said nothing"
