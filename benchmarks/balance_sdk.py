"""The official SDK's processors in the simulator's world: same clock, hub, events and scripts.

What runs is the SDK's own `EventProcessor` (the asyncio one: its loop, its `OwnershipManager`) with
its `BlobCheckpointStore`, unmodified and with default settings. Stood in for are what they do I/O
with: the storage service (balance_blobs.py), the receivers, and the time that they look at.

Rules: what favours the SDK is left so. Its group begins balanced, its processors' cycles spread
over a whole interval; a reader learns at once that it was stolen from; a checkpoint is written by
the user's handler as often as ours are.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from azure.eventhub.aio._eventprocessor import _ownership_manager
from azure.eventhub.aio._eventprocessor.event_processor import EventProcessor
from azure.eventhub.aio._eventprocessor.partition_context import PartitionContext
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

from balance_blobs import Account, Container, for_ever
from balance_loop import VirtualLoop
from simulation.history import ASKED_TO_STOP, KILLED, STARTED, STOPPED, Handled, Lived, Record
from simulation.hub import Link
from simulation.process import Leases
from simulation.scenarios import CHANGE_AT
from simulation.script import Script, What
from simulation.world import World

HOST, HUB, GROUP = "h", "e", "g"
INTERVAL_S = 30.0  # the SDK's default, which a jitter of up to a fifth makes longer
PATIENCE_S = 3600.0
EVENTS_FOR_S = 900.0
# Balanced for longer than a cycle: nothing is under way any more.
CALM_S = 40.0


@dataclass(frozen=True, slots=True)
class Event:
    """An event as far as the SDK looks into it."""

    sequence_number: int

    @property
    def offset(self) -> str:
        return str(self.sequence_number * 8)


@dataclass(frozen=True, slots=True)
class SdkRun:
    """What was seen of a run, and the requests to storage by their kind."""

    records: tuple[Record, ...]
    requests: Counter[str]


class StolenFromError(Exception):
    """The hub gave the partition to another reader."""


class Receiver:
    """Reads one partition, as the SDK's EventHubConsumer does for its processor."""

    def __init__(
        self, process: SdkProcess, partition: str, position: str, give: Callable[..., Any]
    ) -> None:
        self._process = process
        self._world = process.world
        self._partition = partition
        self._sequence = -1 if position == "-1" else int(position) // 8
        self._give = give
        self._link: Link | None = None
        self._is_stolen = False
        self._woken = asyncio.Event()

    async def receive(self, _batch: bool, most: int, _wait: float | None) -> None:
        """Gives the next events to the processor, as soon as there are any."""
        world = self._world
        if self._link is None and not self._is_stolen:
            await asyncio.sleep(world.hub_latency())
            await self._process.stay_alive()
            self._link = Link(self._process.who, self._partition, 0, self._on_end)
            world.hub.attach(self._link, self._sequence)
        while not self._is_stolen:
            newest = min(world.hub.last_sequence(self._partition), self._sequence + most)
            if newest > self._sequence:
                first, self._sequence = self._sequence + 1, newest
                await self._give([Event(number) for number in range(first, newest + 1)])
                return
            await self._wait_for_event()
        raise StolenFromError

    async def _wait_for_event(self) -> None:
        self._woken.clear()
        next_at = self._world.hub.next_at(self._partition, self._sequence)
        if next_at is not None:
            self._world.clock.at(next_at + self._world.hub_latency(), self._woken.set)
        await self._woken.wait()
        await self._process.stay_alive()

    def _on_end(self, why: str, _level: int) -> None:
        self._link, self._is_stolen = None, why == "stolen"
        self._world.clock.after(self._world.hub_latency(), self._woken.set)

    async def close(self) -> None:
        await self._process.stay_alive()
        if self._link is not None:
            self._world.hub.detach(self._link)
            self._link = None


class SdkProcess:
    """One process with an EventProcessor of the SDK, from its start to its end."""

    remembered: Leases = ()
    is_handling = False

    def __init__(self, world: SdkWorld, name: str, life: int) -> None:
        self.world = world
        self.name = name
        self.who = f"{name}#{life}"
        self.is_dead = self.is_asked_to_stop = False
        self._checkpointed_at: dict[str, float] = {}
        client: Any = SimpleNamespace(
            _address=SimpleNamespace(hostname=HOST),
            eventhub_name=HUB,
            get_partition_ids=self._partition_ids,
            _create_consumer=self._receiver,
        )
        container: Any = Container(world.account, lambda: self.is_silent)
        self.processor = EventProcessor(
            client,
            GROUP,
            self._on_batch,  # type: ignore[arg-type]
            batch=True,
            checkpoint_store=BlobCheckpointStore("", "", container_client=container),
            initial_event_position="-1",
            load_balancing_interval=INTERVAL_S,
        )
        world.record(Lived(world.clock.now, self.who, STARTED))

    @property
    def id(self) -> str:
        return self.processor._id

    @property
    def is_silent(self) -> bool:
        """Whether nothing that it does comes to an end; a world that is over lets it end."""
        return self.is_dead and not self.world.is_over

    async def stay_alive(self) -> None:
        if self.is_silent:
            await for_ever()

    async def _partition_ids(self) -> list[str]:
        return list(self.world.partitions)

    def _receiver(
        self, _group: str, partition: str, position: str, give: Callable[..., Any], **_options: Any
    ) -> Receiver:
        return Receiver(self, partition, position, give)

    async def _on_batch(self, context: PartitionContext, events: Sequence[Any]) -> None:
        """The user's handler: it takes its time, and writes a checkpoint every few seconds."""
        world, partition = self.world, context.partition_id
        first, last = events[0].sequence_number, events[-1].sequence_number
        await asyncio.sleep(world.script.handler_s * len(events))
        await self.stay_alive()
        now = world.clock.now
        world.record(Handled(now, self.who, partition, 0, first, last))
        if now - self._checkpointed_at.get(partition, 0.0) >= world.script.checkpoint_every_s:
            self._checkpointed_at[partition] = now
            await context.update_checkpoint(events[-1])

    # --- what befalls it

    def kill(self) -> None:
        self.world.record(Lived(self.world.clock.now, self.who, KILLED))
        self.is_dead = True

    def stop(self) -> None:
        self.is_asked_to_stop = True
        self.world.record(Lived(self.world.clock.now, self.who, ASKED_TO_STOP))
        self.world.spawn(self._stop())

    async def _stop(self) -> None:
        await self.processor.stop()
        self.world.record(Lived(self.world.clock.now, self.who, STOPPED))
        self.is_dead = True


class SdkWorld(World):
    """A world whose processes are the SDK's."""

    def __init__(self, script: Script) -> None:
        # Who is there for long is there from the start, and events come for as long as it takes.
        troubles = tuple(
            replace(t, at=0.0) if t.what is What.JOIN and t.at < CHANGE_AT else t
            for t in script.troubles
        )
        quiet_from = script.quiet_from + EVENTS_FOR_S
        super().__init__(replace(script, troubles=troubles, quiet_from=quiet_from))
        self._changed_at = script.quiet_from
        dice = self.dice
        self.account = Account(
            lambda: self.clock.now, lambda: script.latency_s * (0.5 + dice.random())
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_over = False

    def start(self, name: str, inherited: Leases = ()) -> Any:  # noqa: ARG002 - it knows no leases
        """Begins a life of a process; the first ones find the group balanced."""
        life = self._lives[name] = self._lives.get(name, -1) + 1
        process = SdkProcess(self, name, life)
        self.processes[name] = process  # type: ignore[assignment]
        is_first = self.clock.now == 0.0
        self.spawn(self._run(process, self.dice.random() * INTERVAL_S if is_first else 0.2))
        return process

    async def _run(self, process: SdkProcess, wait_s: float) -> None:
        await asyncio.sleep(wait_s)
        await process.stay_alive()
        await process.processor.start()

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._on_ended)

    def _on_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            raise problem

    def deal(self) -> None:
        """Every partition is owned, by processes in turn, as after a long time of quiet."""
        owners = list(self.processes.values())
        for number, partition in enumerate(self.partitions if owners else []):
            owner: Any = owners[number % len(owners)]
            name = f"{HOST}/{HUB}/{GROUP}/ownership/{partition}"
            self.account.write(name, {"ownerid": owner.id})

    async def live(self, end: float | None) -> SdkRun:
        """Runs until then, or until the group has been balanced for a while after the last trouble.

        What comes after that, when the processes are ended, is not part of what was seen.
        """
        await asyncio.sleep(0.001)  # the first processes are there
        self.deal()
        if end is None:
            await self._settle()
        else:
            await asyncio.sleep(end - self.clock.now)
        self.is_over = True
        return SdkRun(tuple(self.records), Counter(self.account.requests))

    async def _settle(self) -> None:
        await asyncio.sleep(self._changed_at - self.clock.now)
        end, calm_since = self.clock.now + PATIENCE_S, self.clock.now
        while self.clock.now < end and self.clock.now - calm_since < CALM_S:
            await asyncio.sleep(1.0)
            if not self.is_balanced():
                calm_since = self.clock.now

    def is_balanced(self) -> bool:
        alive = {process.who for process in self.processes.values() if not process.is_dead}
        counts = Counter(self.hub.reader(partition) for partition in self.partitions)
        shares = [counts[who] for who in alive]
        return counts.keys() <= alive and max(shares) - min(shares) <= 1


def run_sdk(script: Script, end: float | None = None, count_from: float = 0.0) -> SdkRun:
    """Lives through a script with the SDK; requests are counted from a time on."""
    # It warns of each partition that another took from it, which is what is measured here.
    logging.getLogger("azure.eventhub").setLevel(logging.ERROR)
    random.seed(f"sdk {script.seed}")
    world = SdkWorld(script)
    world.clock.at(count_from, world.account.requests.clear)
    module: Any = _ownership_manager
    clock_of_sdk, module.time = module.time, SimpleNamespace(time=lambda: world.clock.now)
    try:
        with asyncio.Runner(loop_factory=lambda: VirtualLoop(world.clock)) as runner:
            return runner.run(world.live(end))
    finally:
        module.time = clock_of_sdk
