"""`tidegate run` end to end, on one core and on two: a part of `make bench-load`.

From the hub by the native receiver through a handler that reads each body, to checkpoints on
Azurite by the defaults. One member is held to one core, with hub and Azurite on the other; then
two members, each on a core of its own that it shares with them.

Both begin with nothing owned, and so share from the first event on.

Rules: the handler is async, so that calls of different partitions do not overlap in it. Rates are
of the time between the first batch and the last; CPU is that of the members alone, from their first
batches on. Memory is what one had at the most.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from amqp_load import plain_batch, send_batches
from harness import Line, make_line
from hub_server import PARTITIONS, ServedHub, server
from support.azurite import running_azurite
from support.command_group import a_command_group
from support.wait import wait_until

SIZE = 200
EVENTS, QUICK_EVENTS = 4_000_000, 400_000
LIMIT_S = 300.0
ONE_CORE = "this machine has one core: members and servers would share it"
HANDLER = """
import json, os, resource, time
path = __file__.replace("handler.py", f"{os.getpid()}.told")
first, events, size = None, 0, 0

async def handle(batch, context):
    global first, events, size
    used = time.process_time()
    first = first or (time.time(), used)
    for event in batch:
        size += len(event.content)
    events += len(batch)
    now = time.time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open(path + ".new", "w") as file:
        json.dump([first[0], first[1], now, time.process_time(), events, size, peak], file)
    os.replace(path + ".new", path)
"""


def lines(quick: bool) -> Iterator[Line]:
    cores = sorted(os.sched_getaffinity(0))
    for members in (1, 2):
        what = f"tidegate run, 200 B, {members} on {members} of this machine's cores"
        if len(cores) < 2:
            yield make_line(f"{what}: handled", "events/s", reason=ONE_CORE)
            continue
        told, events = _measured(members, cores, QUICK_EVENTS if quick else EVENTS)
        seconds = max(each[2] for each in told) - min(each[0] for each in told)
        cpu = sum(each[3] - each[1] for each in told)
        yield make_line(f"{what}: handled", "events/s", ours=round(events / seconds), better="more")
        yield make_line(f"{what}: CPU of members", "us an event", ours=round(cpu / events * 1e6, 2))
        peak = max(each[6] for each in told) * 1024 / 1e6
        yield make_line(f"{what}: memory, most of one", "MB", ours=round(peak))


def _measured(members: int, cores: Sequence[int], events: int) -> tuple[list[list[float]], int]:
    """What the handler of each member told last, and how many events there were."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-load-")))
        # What is started from here on is held to the other core as well.
        stack.enter_context(_held_to(cores[1:] if members == 1 else cores))
        azurite = stack.enter_context(running_azurite(folder))
        hub = stack.enter_context(server())
        stored = _fill(hub.port, events)
        group = stack.enter_context(
            a_command_group(
                ServedHub(hub.port), azurite, folder, HANDLER, partitions=PARTITIONS,
                delivery="{}", hub_name="load", start="earliest",
            )
        )  # fmt: skip
        for number in range(members):
            core = str(cores[number])
            group.start(f"m{number}", within=("taskset", "--cpu-list", core))

        def told() -> list[list[float]]:
            return [json.loads(path.read_text()) for path in folder.glob("*.told")]

        def is_done() -> bool:
            return sum(each[4] for each in told()) >= stored

        wait_until(is_done, LIMIT_S, f"{stored} events to be handled", detail=told)
        return told(), stored


@contextlib.contextmanager
def _held_to(cores: Sequence[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _fill(port: int, events: int) -> int:
    batch, count = plain_batch(SIZE, 100_000)
    times = -(-events // count // PARTITIONS) * PARTITIONS
    asyncio.run(send_batches(port, "load", batch, times))
    return times * count
