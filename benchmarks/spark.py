"""Spark: our source beside one that calls the official SDK in `read`, in one run on one hub.

- `read`: CPU of what a task reads, from a socket's bytes to Arrow, without Spark; beside it what
  the SDK takes where a client of it lives for long.
- `stream`: events/s and CPU an event of all of Spark's processes together, with a pipeline that
  aggregates by home, sensor and minute.
- `latency`: how long triggers take while 1,000 events/s come.
- `executors`: events/s of our source on a standalone Spark of one and of two executors.

16 partitions, JSON of five small fields. PARTS=read,stream asks for parts; QUICK=1 for `read`
alone, because a session of Spark's takes half a minute to warm up.

Rules: every stream is a process of its own (spark_run.py) and reads all events once before it is
measured; hub and storage are other processes, and their CPU counts for nobody.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amqp_load import send_batches
from harness import Bench, Line, left_out, make_line, parts_of, timed
from hub_server import server
from spark_events import HUB, PARTITIONS, fill, json_batch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import running_azurite

HERE = Path(__file__).resolve().parent
PARTS = ("read", "stream", "latency", "executors")
NOT_QUICK = "a session of Spark's takes too long for a quick run: run without QUICK=1"
LIMIT_S = 1_800.0
# The SDK reads so much less in the same time.
EVENTS, SDK_EVENTS = 600_000, 250_000
RATE, SECONDS = 1_000, 40.0
STREAM = "stream, aggregated"
READ = "read, to Arrow"
# A client of the SDK's for each turn is most of what it takes.
READ_SELDOM = "read, to Arrow, the peer with few clients"

Said = dict[str, float]


@contextmanager
def storage_place() -> Iterator[str]:
    """The connection string of an Azurite."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-spark-") as folder,
        running_azurite(Path(folder)) as storage,
    ):
        yield storage


def ask(program: str, *arguments: object) -> Said:
    """What a program of ours measured."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    try:
        ran = timed(command, timeout_s=LIMIT_S)
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{program} failed:\n{error.output[-4000:]}") from None
    rows = [row.split() for row in ran.output.splitlines()]
    return {row[0]: float(row[1]) for row in rows if len(row) == 2 and row[1][:1].isdecimal()}


def stream(what: str, by: str, port: int, storage: str, events: int, more: float) -> Said:
    return ask("spark_run.py", what, by, port, storage, events, more)


def measure_read(bench: Bench) -> None:
    """What a task costs without Spark."""
    # No turns are left out for a shorter run than twice the one that counts for nobody.
    said = {}
    for by, events in (("ours", EVENTS), ("sdk", 100_000), ("sdk-seldom", 100_000)):
        with server() as hub:
            stored = fill(hub.port, min(events, 200_000) if bench.quick else events)
            said[by] = ask("spark_reader.py", by, hub.port, stored)["us"]
    us, ours = "us of CPU an event", said["ours"]
    bench.add(make_line(READ, us, ours=ours, peer=said["sdk"], target=8.0))
    bench.add(make_line(READ_SELDOM, us, ours=ours, peer=said["sdk-seldom"]))


def measure_stream(bench: Bench, storage: str) -> None:
    """CPU and rate of whole streams."""
    with server() as hub:
        ours = stream("load", "ours", hub.port, storage, fill(hub.port, EVENTS), 0)
    with server() as hub:
        peer = stream("load", "sdk", hub.port, storage, fill(hub.port, SDK_EVENTS), 0)
    us, rate, less = "us of CPU an event", "events/s", peer["us"] / 3
    bench.add(make_line(STREAM, us, ours=ours["us"], peer=peer["us"], target=less))
    bench.add(make_line(STREAM, rate, ours=ours["rate"], peer=peer["rate"], better="more"))


def measure_latency(bench: Bench, storage: str) -> None:
    """How long triggers take."""
    said: dict[str, Said] = {}
    for by in ("ours", "sdk"):
        with server() as hub, steady(hub.port):
            said[by] = stream("latency", by, hub.port, storage, 0, SECONDS)
    for name in ("p50", "p95"):
        ours, peer = said["ours"][f"{name}_ms"], said["sdk"][f"{name}_ms"]
        bench.add(make_line(f"a trigger, {RATE} events/s, {name}", "ms", ours=ours, peer=peer))


@contextmanager
def steady(port: int) -> Iterator[None]:
    """Events that come to every partition twice a second."""
    batch, _ = json_batch(most=RATE // 2 // PARTITIONS)
    is_over = threading.Event()

    def send() -> None:
        while not is_over.wait(0.5):
            asyncio.run(send_batches(port, HUB, batch, PARTITIONS))

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        is_over.set()
        sending.join()


def measure_executors(bench: Bench, storage: str) -> None:
    """What a second executor brings."""
    for executors in (1, 2):
        with server() as hub:
            events = fill(hub.port, EVENTS)
            said = stream("executors", "ours", hub.port, storage, events, executors)
        name = f"{STREAM}, {executors} executor{'s' if executors > 1 else ''}"
        bench.add(make_line(name, "events/s", ours=said["rate"], better="more"))
        bench.add(make_line(name, "us of CPU an event", ours=said["us"]))


def unmeasured(part: str) -> list[Line]:
    """The lines of a part, without figures."""
    us, rate, ms = "us of CPU an event", "events/s", "ms"
    names = {
        "read": [(READ, us), (READ_SELDOM, us)],
        "stream": [(STREAM, us), (STREAM, rate)],
        "latency": [(f"a trigger, {RATE} events/s, {name}", ms) for name in ("p50", "p95")],
        "executors": [
            (f"{STREAM}, {count}", unit)
            for count in ("1 executor", "2 executors")
            for unit in (rate, us)
        ],
    }
    return [make_line(what, unit, reason=NOT_QUICK) for what, unit in names[part]]


def main() -> None:
    wanted = parts_of(os.environ, PARTS)
    bench = Bench("spark")
    measures = {
        "stream": measure_stream,
        "latency": measure_latency,
        "executors": measure_executors,
    }
    if "read" in wanted:
        measure_read(bench)
    else:
        for line in unmeasured("read"):
            bench.add(left_out(line, "read"))
    for part, measure in measures.items():
        if part in wanted and not bench.quick:
            with storage_place() as storage:
                measure(bench, storage)
            continue
        for line in unmeasured(part):
            bench.add(line if part in wanted else left_out(line, part))
    bench.finish()


if __name__ == "__main__":
    main()
