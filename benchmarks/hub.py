"""tidegate-hub: start, memory, ingest and serving, beside what the official SDK costs its process.

Rules: PARTS lists every figure once, for quick and full runs alike; what a quick run leaves out is
there with its reason. No other stand-in exists to put beside the hub, so the peer of an event
served is the SDK that receives it: the hub shall never be what a test waits for.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from amqp_load import count_events, plain_batch, send_batches
from harness import Bench, Better, cpu_seconds, make_line, resident_mb, resident_peak_mb
from hub_server import PARTITIONS, sdk_costs, server

BODY_BYTES = 200
STORED = 10_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """What a line of the table says before anything is measured."""

    what: str
    unit: str
    target: float | None = None
    better: Better = "less"


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure of ours, and the peer's where it has one."""

    ours: float
    peer: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Figures that are measured together, in this order; `measure` is told if the run is quick."""

    figures: tuple[Figure, ...]
    measure: Callable[[bool], Sequence[Measured]]
    not_when_quick: str = ""


def measure_start(quick: bool) -> Sequence[Measured]:
    starts, memory = [], 0.0
    for _ in range(5 if quick else 20):
        with server() as hub:
            starts.append(hub.start_s)
            memory = resident_mb(hub.pid)
    starts.sort()
    return [Measured(starts[len(starts) // 2]), Measured(starts[0]), Measured(memory)]


def load_figures(name: str) -> tuple[Figure, ...]:
    return (
        Figure(f"ingest, 200 B{name}", "events/s", target=200_000, better="more"),
        Figure(f"ingest, 200 B{name}", "us CPU/event"),
        Figure(f"serve, 200 B{name}", "events/s", better="more"),
        Figure(f"serve, 200 B{name}", "us CPU/event", target=1.5),
    )


def measure_load(quick: bool, *arguments: str, peer: dict[str, float]) -> Sequence[Measured]:
    """Ingest by hand-built batches, then serving of what was ingested."""
    batch, count = plain_batch(BODY_BYTES)
    times = (1_000_000 if quick else 4_000_000) // count
    events = times * count
    with server(*arguments) as hub:
        asyncio.run(send_batches(hub.port, "load", batch, 2 * PARTITIONS))
        used, begun = cpu_seconds(hub.pid), time.perf_counter()
        asyncio.run(send_batches(hub.port, "load", batch, times))
        ingest_s, ingest_cpu_s = time.perf_counter() - begun, cpu_seconds(hub.pid) - used
        used, begun = cpu_seconds(hub.pid), time.perf_counter()
        asyncio.run(count_events(hub.port, "load", PARTITIONS, events))
        serve_s, serve_cpu_s = time.perf_counter() - begun, cpu_seconds(hub.pid) - used
    return [
        Measured(events / ingest_s, peer.get("send_rate")),
        Measured(ingest_cpu_s / events * 1e6, peer.get("send_us")),
        Measured(events / serve_s, peer.get("receive_rate")),
        Measured(serve_cpu_s / events * 1e6, peer.get("receive_us")),
    ]


def measure_load_in_memory(quick: bool) -> Sequence[Measured]:
    return measure_load(quick, peer=sdk_costs(20_000 if quick else 200_000))


def measure_load_on_disk(quick: bool, *arguments: str) -> Sequence[Measured]:
    with data_directory() as directory:
        return measure_load(quick, "--data", directory, *arguments, peer={})


def measure_load_with_fsync(quick: bool) -> Sequence[Measured]:
    return measure_load_on_disk(quick, "--fsync", "always")


def measure_stored(_quick: bool) -> Sequence[Measured]:
    """Ten million events on disk, read, and found again by the next start."""
    batch, count = plain_batch(BODY_BYTES)
    times = -(-STORED // count)
    with data_directory() as directory:
        with server("--data", directory) as hub:
            asyncio.run(send_batches(hub.port, "load", batch, times))
            asyncio.run(count_events(hub.port, "load", PARTITIONS, times * count))
            peak = resident_peak_mb(hub.pid)
        with server("--data", directory) as hub:
            return [Measured(peak), Measured(hub.start_s), Measured(resident_mb(hub.pid))]


@contextlib.contextmanager
def data_directory() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="bench-hub-") as directory:
        yield directory


PARTS = (
    Part(
        (
            Figure("start to first connection, median", "s", target=0.3),
            Figure("start to first connection, best", "s"),
            Figure("resident when empty", "MB", target=40),
        ),
        measure_start,
    ),
    Part(load_figures(""), measure_load_in_memory),
    Part(load_figures(", --data"), measure_load_on_disk),
    Part(
        load_figures(", --fsync always"),
        measure_load_with_fsync,
        not_when_quick="takes about a minute where the disk is slow: run without QUICK=1",
    ),
    Part(
        (
            Figure("10 million stored and read, peak", "MB resident", target=300),
            Figure("start with 10 million stored", "s"),
            Figure("resident after that start", "MB"),
        ),
        measure_stored,
        not_when_quick="takes about a minute and 4 GB of disk: run without QUICK=1",
    ),
)


def measure_all(bench: Bench, parts: Sequence[Part]) -> None:
    """Add every figure of every part, measured or with the reason why it was not."""
    for part in parts:
        if bench.quick and part.not_when_quick:
            for figure in part.figures:
                bench.add(
                    make_line(
                        figure.what, figure.unit, target=figure.target, better=figure.better,
                        reason=part.not_when_quick,
                    )
                )  # fmt: skip
            continue
        for figure, measured in zip(part.figures, part.measure(bench.quick), strict=True):
            bench.add(
                make_line(
                    figure.what, figure.unit, target=figure.target, better=figure.better,
                    ours=measured.ours, peer=measured.peer,
                )
            )  # fmt: skip


def main() -> None:
    bench = Bench("hub")
    measure_all(bench, PARTS)
    bench.finish()


if __name__ == "__main__":
    main()
