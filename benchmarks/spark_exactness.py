"""Exactness of a pipeline on Spark: the example's activity of homes while everything is killed.

A driver of two executors and a Python member share a hub of 8 partitions. Meanwhile a driver, an
executor, a Python worker, the planner of Spark's query or the Python member is killed, again and
again. In the end each row of each minute, in both files of its slice, must be what the events say.

Rules: every process is its own: hub, Azurite, sender and group share this machine's cores. What is
killed and when follows from the seed, which is printed; SEED=… repeats a run, MINUTES=… makes it
longer. There is no peer: on the official SDK nobody has totals that survive.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import Bench, make_line
from hub_server import ServedHub, server

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.activity_groups import POD, ActivityGroup, activity_group
from support.azurite import running_azurite
from support.struck_driver import KINDS

HUB = "homes"
PARTITIONS = 8
RATE = 100  # events a second for each partition
MINUTES = 5.0
GAP_S = (4.0, 16.0)
CATCH_UP_S = 600.0
NOT_QUICK = "a driver of Spark's takes longer to come back than a quick run: run without QUICK=1"
# Round by round, each round in an order of its own.
KILLED = (*KINDS, POD, "worker", "executor")


@contextmanager
def place() -> Iterator[ActivityGroup]:
    """Hub, Azurite and the group, with nobody in it yet."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-spark-")))
        azurite = stack.enter_context(running_azurite(folder))
        hub = stack.enter_context(server("--hub", f"{HUB}:{PARTITIONS}"))
        group = activity_group(ServedHub(hub.port), azurite, folder, PARTITIONS, HUB)
        yield stack.enter_context(group)


def strike(activity: ActivityGroup, seed: int, seconds: float) -> None:
    """Kills one after another for so long."""
    dice = random.Random(seed)
    until = time.monotonic() + seconds
    left: list[str] = []
    while True:
        pause = dice.uniform(*GAP_S)
        if time.monotonic() + pause >= until:
            return
        # Not a wait for anything: that nobody is ready for it is what makes it a kill.
        time.sleep(pause)
        left = left or dice.sample(KILLED, len(KILLED))
        kind = left.pop()
        print(f"  {until - time.monotonic():4.0f} s to go: a {kind} is killed", flush=True)
        activity.strike(kind, dice)


def measure(bench: Bench, seed: int, minutes: float) -> None:
    events = int(RATE * minutes * 60)
    with place() as activity:
        activity.start()
        begun = time.monotonic()
        with activity.sending(0, events, minutes * 60):
            strike(activity, seed, minutes * 60)
        sent = time.monotonic()
        activity.wait_until_handled(events, CATCH_UP_S)
        ended = time.monotonic()
        activity.stop()
        found = activity.compared(events)
    bench.add(make_line("killed while events came", "s", ours=round(sent - begun, 1)))
    for kind in sorted(set(KILLED)):
        bench.add(make_line(f"killed: {kind}", "kills", ours=activity.killed[kind]))
    bench.add(make_line("events", "events", ours=events * PARTITIONS))
    bench.add(make_line("all handled after the last was sent", "s", ours=round(ended - sent, 1)))
    bench.add(make_line("slices compared", "slices", ours=found.slices))
    bench.add(make_line("slices whose Parquet was compared too", "slices", ours=found.tables))
    bench.add(make_line("rows compared", "rows", ours=found.rows))
    bench.add(make_line("homes of a slice that are wrong", "homes", ours=found.wrong, target=0))
    bench.add(make_line("replaced versions that are left", "versions", ours=found.left_over))


def main() -> None:
    bench = Bench("spark-exactness")
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    print(f"SEED={seed}")
    if bench.quick:
        what = "homes of a slice that are wrong"
        bench.add(make_line(what, "homes", target=0, reason=NOT_QUICK))
    else:
        measure(bench, seed, float(os.environ.get("MINUTES") or MINUTES))
    bench.finish()


if __name__ == "__main__":
    main()
