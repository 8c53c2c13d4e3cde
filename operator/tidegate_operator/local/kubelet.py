"""Runs pods as processes of this machine: a task for each pod, from its start to its end.

Rules:
- What ends is started again in place, with its scratch folder, after a rest that grows. What is to
  go is asked to, and killed when its grace is over.
- What a pod's status says is what a kubelet would have written, and nothing else is told.
- When this ends, however it ends, no process is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from tidegate_operator.facts import role_of
from tidegate_operator.kinds import POD, Document, Kind, ObjectName
from tidegate_operator.local.executors import Executors
from tidegate_operator.local.pod_life import Life, Probe
from tidegate_operator.local.pod_room import Room, RoomError, leave_room
from tidegate_operator.local.ports import free_port
from tidegate_operator.local.probing import Asker, ask
from tidegate_operator.local.processes import Process
from tidegate_operator.local.store import Store
from tidegate_operator.pod_nouns import Role

_AGAIN_S = 2.0
# What of a log is told where a process left no last words.
_LOG_TAIL = 2048


@dataclass(frozen=True, slots=True)
class Machine:
    """What pods are run with."""

    store: Store
    # Makes what a pod needs. Raises RoomError.
    make_room: Callable[[Document], Room]
    now: Callable[[], float]
    # The time of day.
    wall: Callable[[], float]
    # Takes a line for people: of which group, and what happened.
    say: Callable[[str, str], None]


class Kubelet:
    """See the module."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pods: dict[str, _Pod] = {}
        self._come: asyncio.Queue[_Pod | None] = asyncio.Queue()

    async def run(self) -> None:
        """Until `close`, and until the last pod has ended then."""
        end = self._machine.store.listen(self._hear)
        try:
            async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
                while (pod := await self._come.get()) is not None:
                    tasks.create_task(self._live(pod, session), name=f"pod {pod.name}")
        finally:
            end()

    def close(self) -> None:
        """All pods are asked to end."""
        for pod in self._pods.values():
            self._machine.store.delete(pod.name)
        self._come.put_nowait(None)

    def kill(self) -> None:
        """What still runs ends at once."""
        for pod in self._pods.values():
            pod.kill()

    @property
    def names(self) -> list[str]:
        """The pods that have not ended."""
        return sorted(pod.name.name for pod in self._pods.values())

    @property
    def grace_s(self) -> float:
        """The longest that a pod may take to end."""
        return max((pod.grace_s for pod in self._pods.values()), default=0.0)

    async def _live(self, pod: _Pod, session: aiohttp.ClientSession) -> None:
        try:
            await pod.live(session)
        finally:
            del self._pods[pod.uid]
            self._machine.store.end_pod(pod.name, pod.uid)

    def _hear(self, kind: Kind, document: Mapping[str, Any], is_gone: bool) -> None:
        # An executor is a process of its driver.
        if kind != POD or is_gone or role_of(document) is Role.EXECUTOR:
            return
        metadata = document["metadata"]
        pod = self._pods.get(metadata["uid"])
        if pod is None:
            pod = self._pods[metadata["uid"]] = _Pod(self._machine, dict(document))
            self._come.put_nowait(pod)
        if "deletionTimestamp" in metadata:
            pod.stop.set()


class _Pod:
    """One pod."""

    def __init__(self, machine: Machine, document: Document) -> None:
        self._machine = machine
        self._document = document
        role = str(role_of(document))
        self._life = Life(container=role)
        self._process: Process | None = None
        metadata, spec = document["metadata"], document["spec"]
        self.name = ObjectName(POD, metadata["namespace"], metadata["name"])
        self.uid: str = metadata["uid"]
        self.grace_s = float(spec["terminationGracePeriodSeconds"])
        self._container = next(each for each in spec["containers"] if each["name"] == role)
        self._group = metadata["labels"]["app.kubernetes.io/instance"]
        self.stop = asyncio.Event()
        self._is_killed = False

    def kill(self) -> None:
        """Now, and whatever is started after that."""
        self._is_killed = True
        self._kill_process()

    def _kill_process(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def live(self, session: aiohttp.ClientSession) -> None:
        room: Room | None = None
        try:
            while not self.stop.is_set():
                room = room or await self._make_room()
                if room is None:
                    await self._rest(_AGAIN_S)
                    continue
                await self._run(room, session)
                if not self.stop.is_set() and self._life.rest_s:
                    self._tell(self._life.resting(self.name.name))
                    await self._rest(self._life.rest_s)
        finally:
            if room is not None:
                leave_room(room.folder)

    async def _make_room(self) -> Room | None:
        try:
            room = await asyncio.to_thread(self._machine.make_room, self._document)
        except RoomError as problem:
            if self._life.waiting_message != str(problem):
                self._say(f"cannot be started: {problem}")
            self._tell(self._life.not_made(str(problem)))
            return None
        if room.left_out:
            self._say(f"runs without {' and '.join(room.left_out)}: these need a cluster")
        return room

    async def _run(self, room: Room, session: aiohttp.ClientSession) -> None:
        """One run of its process, to its end."""
        port = free_port()
        room.last_words.write_bytes(b"")
        try:
            executors = self._executors(room)
            process = await Process.started(room.command(port), room.variables, room.log)
        except OSError as problem:
            self._tell(self._life.not_made(f"its process cannot be started: {problem}"))
            await self._rest(_AGAIN_S)
            return
        self._process = process
        try:
            self._tell(self._life.started(self._machine.wall()))
            self._say("starts" if not self._life.restarts else "starts again")
            asks = asyncio.create_task(
                ask(
                    self._container,
                    Asker(session, f"http://127.0.0.1:{port}", self._machine.now),
                    started=self._started,
                    ready=self._ready,
                    is_dead=self._is_dead,
                )
            )
            beside = [asks]
            if executors is not None:
                node = self._document["spec"]["nodeName"]
                beside.append(asyncio.create_task(executors.follow(node)))
            try:
                await self._until_end(process)
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.wait(beside)
            for task in beside:
                if not task.cancelled():
                    task.result()
        finally:
            process.kill()
            code = await process.ended()
            self._process = None
        message = _last_words(room, code)
        self._tell(self._life.ended(self._machine.wall(), code, message))
        self._say_end(code, message)

    def _executors(self, room: Room) -> Executors | None:
        """Of the life of a driver that begins."""
        if room.spark is None:
            return None
        return Executors(self._machine.store, self.name, room.spark, self._machine.wall)

    async def _until_end(self, process: Process) -> None:
        """Of itself, or because it is asked to."""
        ended = asyncio.create_task(process.ended())
        asked = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait([ended, asked], return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                process.terminate()
                if self._is_killed:
                    process.kill()
                await asyncio.wait([ended], timeout=self.grace_s)
        finally:
            for task in (ended, asked):
                task.cancel()
            await asyncio.wait([ended, asked])

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stop.wait()

    # --- probes

    def _started(self, probe: Probe) -> bool:
        return probe.is_good or self._is_dead(probe)

    def _ready(self, probe: Probe) -> bool:
        is_ready = probe.is_good or (self._life.is_ready and not probe.is_lost)
        if is_ready != self._life.is_ready:
            self._tell(self._life.now_ready(is_ready))
            self._say("has joined" if is_ready else "is not ready any more")
        return False

    def _is_dead(self, probe: Probe) -> bool:
        if probe.is_lost:
            self._say(f"has not answered for {probe.patience_s:g} s and is killed")
            self._kill_process()
        return probe.is_lost

    # --- telling

    def _tell(self, life: Life) -> None:
        self._life = life
        self._machine.store.write_status(self.name, life.status(), self.uid)

    def _say(self, text: str) -> None:
        self._machine.say(self._group, f"{self.name.name} {text}")

    def _say_end(self, code: int, message: str) -> None:
        # One that has not begun yet does not know the signal.
        if self.stop.is_set() and code in (0, -signal.SIGTERM):
            self._say("has ended")
            return
        why = f": {message}" if message else ""
        rest = self._life.rest_s
        then = "" if self.stop.is_set() else f", and is started again {_when(rest)}"
        self._say(f"has ended {_how(code)}{then}{why}")


def _how(code: int) -> str:
    return f"with code {code}" if code >= 0 else f"by signal {-code}"


def _when(rest_s: float) -> str:
    return f"in {rest_s:g} s" if rest_s else "at once"


def _last_words(room: Room, code: int) -> str:
    said = room.last_words.read_text(encoding="utf-8", errors="replace").strip()
    if said or code == 0:
        return said
    with contextlib.suppress(OSError), room.log.open("rb") as log:
        log.seek(max(room.log.stat().st_size - _LOG_TAIL, 0))
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
        return _message(lines[-1]) if lines else ""
    return ""


def _message(line: str) -> str:
    """What a line of the log says."""
    try:
        return str(json.loads(line)["message"])
    except (ValueError, TypeError, KeyError):
        return line
