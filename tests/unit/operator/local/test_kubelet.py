"""Processes in the place of pods: started, asked, started again in place, and ended for good."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.wait import wait_until_async
from tidegate_operator.facts import pod_facts
from tidegate_operator.kinds import POD, Document, ObjectName
from tidegate_operator.local.admission import admit
from tidegate_operator.local.kubelet import Kubelet, Machine
from tidegate_operator.local.pod_room import Room, RoomError
from tidegate_operator.local.store import Store
from tidegate_operator.model import PodFacts

SOON = 30.0
NAME = ObjectName(POD, "homes", "activity-1-x")
# Answers as a consumer does, and does besides what its pod is to show.
PROGRAM = """
import http.server, os, pathlib, signal, sys
port, what = int(sys.argv[1]), os.environ["WHAT"]
if what == "fails":
    pathlib.Path(os.environ["TIDEGATE_LAST_WORDS"]).write_text("HandlerNotImported: no file")
    sys.exit(78)
if what == "says":
    sys.exit('{"level": "error", "message": "it cannot go on"}')
if what == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if what == "unready" and self.path == "/readyz" else 200)
        self.end_headers()
    def log_message(self, _format, *said):
        print(*said, flush=True)
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


class _Room(Room):
    """With a program of the test's own."""

    def command(self, port: int) -> list[str]:
        return [sys.executable, "-I", "-c", PROGRAM, str(port)]


class World:
    """A kubelet, its store, and one pod."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.what = "serves"
        self.missing = ""
        self.said: list[str] = []
        numbers = iter(range(100))
        self.store = Store(time.time, lambda: f"uid-{next(numbers)}", admit)
        machine = Machine(
            self.store, self.room, time.monotonic, time.time,
            lambda _, text: self.said.append(text.removeprefix(f"{NAME.name} ")),
        )  # fmt: skip
        self.kubelet = Kubelet(machine)

    def room(self, _: Document) -> Room:
        if self.missing:
            raise RoomError(self.missing)
        last_words = self.folder / "last-words"
        last_words.touch()
        (self.folder / "room").mkdir(exist_ok=True)
        variables = {**os.environ, "WHAT": self.what, "TIDEGATE_LAST_WORDS": str(last_words)}
        return _Room(self.folder / "room", self.folder / "log", last_words, (), variables, ())

    def put(self, grace_s: int = 20) -> None:
        def probe(path: str, threshold: int) -> Document:
            asked = {"httpGet": {"path": path}, "periodSeconds": 1, "timeoutSeconds": 2}
            return {**asked, "failureThreshold": threshold}

        self.store.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": NAME.name,
                    "namespace": NAME.namespace,
                    "labels": {"app.kubernetes.io/instance": "activity"},
                },
                "spec": {
                    "nodeName": "here",
                    "terminationGracePeriodSeconds": grace_s,
                    "containers": [
                        {
                            "name": "consumer",
                            "startupProbe": probe("/healthz", 60),
                            "readinessProbe": probe("/readyz", 60),
                            "livenessProbe": probe("/healthz", 60),
                        }
                    ],
                },
            }
        )

    def facts(self) -> PodFacts | None:
        found = self.store.find(NAME)
        return pod_facts(found) if found is not None else None

    async def until(self, what: str, is_so: Callable[[PodFacts], Any]) -> PodFacts:
        def met() -> bool:
            facts = self.facts()
            return facts is not None and bool(is_so(facts))

        await wait_until_async(met, SOON, what, lambda: (self.facts(), self.said))
        facts = self.facts()
        assert facts is not None
        return facts

    async def until_gone(self) -> None:
        await wait_until_async(lambda: self.facts() is None, SOON, "the pod to go")

    def process(self) -> psutil.Process:
        (pod,) = self.kubelet._pods.values()
        assert pod._process is not None
        return psutil.Process(pod._process.pid)


@contextlib.asynccontextmanager
async def running(folder: Path, what: str = "serves", grace_s: int = 20) -> AsyncIterator[World]:
    world = World(folder)
    world.what = what
    task = asyncio.create_task(world.kubelet.run())
    await asyncio.sleep(0)
    world.put(grace_s)
    try:
        yield world
    finally:
        world.kubelet.close()
        world.kubelet.kill()
        async with asyncio.timeout(SOON):
            await task


async def test_a_pod_is_a_process_that_is_ready_when_it_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        facts = await world.until("it to be ready", lambda facts: facts.is_ready)
        assert (facts.phase, facts.container.restarts) == ("Running", 0)
        process = world.process()
        assert os.getsid(process.pid) == process.pid, "Ctrl-C is not for it"
        world.store.delete(NAME)
        await world.until_gone()
        assert not process.is_running()
        assert world.said == ["starts", "has joined", "has ended"]
        assert not (tmp_path / "room").exists()


async def test_who_is_killed_is_started_again_in_place_at_once(tmp_path: Path) -> None:
    async with running(tmp_path) as world:
        await world.until("it to be ready", lambda facts: facts.is_ready)
        before = world.process()
        before.kill()
        facts = await world.until("another one", lambda each: each.container.restarts == 1)
        await world.until("it to be ready again", lambda each: each.is_ready)
        assert world.process().pid != before.pid
        assert facts.uid == "uid-0", "the same pod"
        end = facts.container.last_end
        assert end is not None and end.exit_code == 137


async def test_who_fails_again_and_again_rests_and_its_last_words_say_why(tmp_path: Path) -> None:
    async with running(tmp_path, "fails") as world:
        facts = await world.until(
            "it to rest", lambda each: each.container.waiting == "CrashLoopBackOff"
        )
        assert facts.container.waiting_message.startswith("back-off 1s restarting")
        end = facts.container.last_end
        assert end is not None
        assert (end.exit_code, end.message) == (78, "HandlerNotImported: no file")
        assert not facts.is_ready


async def test_without_last_words_the_end_of_the_log_says_why(tmp_path: Path) -> None:
    async with running(tmp_path, "says") as world:
        facts = await world.until("an end", lambda each: each.container.last_end)
        assert facts.container.last_end is not None
        assert facts.container.last_end.message == "it cannot go on"


async def test_one_that_is_not_ready_runs_and_is_not_called_ready(tmp_path: Path) -> None:
    async with running(tmp_path, "unready") as world:
        await world.until("it to run", lambda facts: facts.container.running)
        log = tmp_path / "log"
        await wait_until_async(lambda: log.read_text().count("/readyz") > 1, SOON, "two questions")
        facts = world.facts()
        assert facts is not None and not facts.is_ready
        assert world.said == ["starts"]


@pytest.mark.slow
async def test_one_that_does_not_hear_is_killed_when_its_grace_is_over(tmp_path: Path) -> None:
    async with running(tmp_path, "deaf", grace_s=1) as world:
        await world.until("it to be ready", lambda facts: facts.is_ready)
        process = world.process()
        began = time.monotonic()
        world.store.delete(NAME)
        await world.until_gone()
        assert time.monotonic() - began >= 1
        assert not process.is_running()
        assert world.said[-1].startswith("has ended by signal 9")


async def test_what_is_missing_is_said_once_and_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.missing = "Secret 'x' is not there"
    task = asyncio.create_task(world.kubelet.run())
    await asyncio.sleep(0)
    world.put()
    facts = await world.until("why", lambda each: each.container.waiting_message)
    assert facts.container.waiting == "CreateContainerConfigError"
    world.missing = ""
    await world.until("it to be ready", lambda each: each.is_ready)
    assert world.said.count("cannot be started: Secret 'x' is not there") == 1
    world.kubelet.close()
    await task
    assert world.facts() is None
