"""tidegate-hub: start, memory, ingest and serving, beside what the official SDK costs its process.

There is no other stand-in to put beside it, so the peer of an event served is the SDK that receives
it: the hub shall never be what a test waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from amqp_load import count_events, plain_batch, send_batches
from harness import Bench, cpu_seconds, resident_mb, resident_peak_mb, timed

HERE = Path(__file__).resolve().parent
PARTITIONS = 16
BODY_BYTES = 200
READY_LIMIT_S = 30.0


class Server:
    """A hub server in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.port = _free_port()
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tidegate_hub", "serve", "--port", str(self.port),
             "--hub", f"load:{PARTITIONS}", *arguments],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.pid = self._process.pid
        self._wait_until_it_answers()
        self.start_s = time.perf_counter() - begun

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + READY_LIMIT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            if self._process.poll() is not None:
                raise ChildProcessError(f"the hub ended with {self._process.returncode}")
        raise TimeoutError(f"the hub did not answer within {READY_LIMIT_S:.0f} s")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(READY_LIMIT_S)


@contextlib.contextmanager
def server(*arguments: str) -> Iterator[Server]:
    running = Server(*arguments)
    try:
        yield running
    finally:
        running.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bench_start(bench: Bench) -> None:
    starts, memory = [], 0.0
    for _ in range(5 if bench.quick else 20):
        with server() as hub:
            starts.append(hub.start_s)
            memory = resident_mb(hub.pid)
    starts.sort()
    bench.line("start to first connection, median", "s", ours=starts[len(starts) // 2], target=0.3)
    bench.line("resident when empty", "MB", ours=memory, target=40)


def bench_events(bench: Bench, name: str, *arguments: str) -> None:
    """Ingest by hand-built batches, then serving of what was ingested."""
    sdk = _sdk_costs(bench) if not arguments else {}
    batch, count = plain_batch(BODY_BYTES)
    times = (1_000_000 if bench.quick else 4_000_000) // count
    events = times * count
    with server(*arguments) as hub:
        asyncio.run(send_batches(hub.port, "load", batch, 2 * PARTITIONS))
        used, begun = cpu_seconds(hub.pid), time.perf_counter()
        asyncio.run(send_batches(hub.port, "load", batch, times))
        wall, used = time.perf_counter() - begun, cpu_seconds(hub.pid) - used
        bench.line(
            f"ingest, 200 B{name}", "events/s", ours=events / wall, better="more",
            peer=sdk.get("send_rate"), target=200_000,
        )  # fmt: skip
        bench.line(
            f"ingest, 200 B{name}", "us CPU/event", ours=used / events * 1e6,
            peer=sdk.get("send_us"),
        )  # fmt: skip
        used, begun = cpu_seconds(hub.pid), time.perf_counter()
        asyncio.run(count_events(hub.port, "load", PARTITIONS, events))
        wall, used = time.perf_counter() - begun, cpu_seconds(hub.pid) - used
        bench.line(f"serve, 200 B{name}", "events/s", ours=events / wall, better="more")
        bench.line(
            f"serve, 200 B{name}", "us CPU/event", ours=used / events * 1e6,
            peer=sdk.get("receive_us"), target=1.5,
        )  # fmt: skip


def _sdk_costs(bench: Bench) -> dict[str, float]:
    """What the official SDK spends on sending and receiving, in a process of its own."""
    events = 20_000 if bench.quick else 200_000
    with server() as hub:
        ran = timed(
            [sys.executable, str(HERE / "sdk_costs.py"), str(hub.port), str(events)],
            timeout_s=300,
        )
    return {
        name: float(value)
        for name, value in (row.split() for row in ran.output.splitlines() if row)
    }


def bench_stored(bench: Bench) -> None:
    """Ten million events on disk."""
    if bench.quick:
        bench.line(
            "10 million stored events", "MB resident",
            reason="takes about a minute and 4 GB of disk: run without QUICK=1",
        )  # fmt: skip
        return
    batch, count = plain_batch(BODY_BYTES)
    times = -(-10_000_000 // count)
    with tempfile.TemporaryDirectory(prefix="bench-hub-") as directory:
        with server("--data", directory) as hub:
            asyncio.run(send_batches(hub.port, "load", batch, times))
            asyncio.run(count_events(hub.port, "load", PARTITIONS, times * count))
            bench.line(
                "10 million stored and read, peak", "MB resident",
                ours=resident_peak_mb(hub.pid), target=300,
            )  # fmt: skip
        with server("--data", directory) as hub:
            bench.line("start with 10 million stored", "s", ours=hub.start_s)
            bench.line("resident after that start", "MB", ours=resident_mb(hub.pid))


def main() -> None:
    bench = Bench("hub")
    bench_start(bench)
    bench_events(bench, "")
    with tempfile.TemporaryDirectory(prefix="bench-hub-") as directory:
        bench_events(bench, ", --data", "--data", directory)
    if not bench.quick:
        with tempfile.TemporaryDirectory(prefix="bench-hub-") as directory:
            bench_events(
                bench, ", --fsync always", "--data", directory, "--fsync", "always"
            )
    bench_stored(bench)
    bench.finish()


if __name__ == "__main__":
    main()
