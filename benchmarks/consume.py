"""Receiving: our native source beside the official SDK, sync and aio, on one hub in one run.

16 partitions, events of 200 B and 1 KB, plain and over TLS, to a handler that counts; then
latency, idle CPU and memory. Every reader is a process of its own (consume_reader.py).

Rules: every figure is listed once, for quick and full runs alike. The SDK's figures are of the same
hub and the same transport. librdkafka reads as many messages of the same size from a Kafka broker
of Kafka's own jars, over the same transport; where there is none its lines say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from amqp_load import plain_batch, send_batches
from harness import Bench, Better, make_line, timed
from hub_server import PARTITIONS, server

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import kafka_broker
from support.certificates import Certificates, make_certificates

READER = Path(__file__).with_name("consume_reader.py")
SENDER = Path(__file__).with_name("paced_sender.py")
PEERS = ("sync", "aio")
SIZES = (200, 1024)
RATE = 1_000
STORED = 5_000_000
LIMIT_S = 600.0

TARGETS = {
    (200, "plain"): 4.0,
    (1024, "plain"): 5.0,
    (200, "TLS"): 5.0,
    (1024, "TLS"): 7.0,
}
TIMES_LESS = {200: 8.0, 1024: 6.0}
NOT_QUICK = "takes too long for a quick run: run without QUICK=1"

Said = dict[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A hub that runs, with and without TLS."""

    port: int
    tls_port: int
    ca_file: Path

    def text(self, transport: str) -> str:
        port, end = (self.tls_port, "") if transport == "TLS" else (
            self.port, ";UseDevelopmentEmulator=true"
        )  # fmt: skip
        return f"Endpoint=sb://localhost:{port};SharedAccessKeyName=k;SharedAccessKey=s{end}"

    def ask(
        self, what: str, by: str, transport: str = "plain", events: int = 0, seconds: float = 0
    ) -> Said:
        """What one reader measured."""
        ca_file = self.ca_file if transport == "TLS" else None
        return read(what, by, self.text(transport), events, seconds, ca_file)


def read(what: str, by: str, text: str, events: int, seconds: float, ca_file: Path | None) -> Said:
    """What a reader, in a process of its own, measured."""
    command = [sys.executable, str(READER), what, by, text, str(events), str(seconds)]
    if ca_file is not None:
        command.append(str(ca_file))
    ran = timed(command, timeout_s=LIMIT_S)
    rows = [row.split() for row in ran.output.splitlines()]
    return {row[0]: float(row[1]) for row in rows if len(row) == 2 and _is_number(row[1])}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="bench-consume-") as directory:
        made: Certificates = make_certificates(Path(directory))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            tls_port = int(probe.getsockname()[1])
        with server(
            *("--tls-port", str(tls_port), "--cert", str(made.certificate)),
            *("--key", str(made.private_key), *arguments),
        ) as hub:
            yield Place(hub.port, tls_port, made.authority)


def fill(place: Place, size: int, events: int) -> int:
    """Stores about so many events; gives how many."""
    batch, count = plain_batch(size, 100_000)
    times = -(-events // count // PARTITIONS) * PARTITIONS
    asyncio.run(send_batches(place.port, "load", batch, times))
    return times * count


def read_kafka(size: int, quick: bool) -> dict[str, Said]:
    """What librdkafka took for messages of that size, by transport."""
    if quick or kafka_broker.missing():
        return {}
    events = 1_000_000
    with tempfile.TemporaryDirectory(prefix="bench-consume-") as directory:
        made = make_certificates(Path(directory))
        with kafka_broker.broker(made) as broker:
            kafka_broker.fill(broker, "load", PARTITIONS, size, events)
            return {
                transport: read(
                    "count", "kafka", broker.address(transport), events, 0,
                    broker.ca_file if transport == "TLS" else None,
                )
                for transport in ("plain", "TLS")
            }  # fmt: skip


def measure_load(bench: Bench, size: int) -> None:
    """CPU and rate of receiving, of ours and of the peers, plain and over TLS."""
    kind = "1 KB" if size == 1024 else f"{size} B"
    kafka = read_kafka(size, bench.quick)
    with running() as place:
        stored = fill(place, size, 200_000 if bench.quick else 1_000_000)
        for transport in ("plain", "TLS"):
            ours = place.ask("count", "native", transport, stored)
            what = f"receive, {kind}, {transport}"
            for peer in PEERS:
                beside = f"{what}, SDK {peer}"
                is_left_out = bench.quick and (peer == "aio" or size != 200)
                theirs = {} if is_left_out else place.ask(
                    "count", peer, transport, min(stored, 30_000 if bench.quick else 60_000)
                )  # fmt: skip
                add(bench, beside, "us CPU/event", ours["us"], theirs.get("us"),
                    TARGETS[size, transport])  # fmt: skip
                add(bench, beside, "events/s", ours["rate"], theirs.get("rate"), better="more")
                times = theirs["us"] / ours["us"] if theirs else None
                add(bench, f"{beside}: times less CPU", "times", times, None, TIMES_LESS[size],
                    better="more", reason=None if theirs else NOT_QUICK)  # fmt: skip
            theirs = kafka.get(transport, {})
            reason = None if theirs else kafka_broker.missing() or NOT_QUICK
            add(bench, f"{what}, librdkafka", "us CPU/event", ours["us"] if theirs else None,
                theirs.get("us"), reason=reason)  # fmt: skip
        if size == 200:
            looked = place.ask("look", "native", events=stored)
            theirs = place.ask("look", "sync", events=min(stored, 30_000))
            add(bench, f"receive and read body, number and time, {kind}, plain, SDK sync",
                "us CPU/event", looked["us"], theirs["us"])  # fmt: skip


def add(
    bench: Bench,
    what: str,
    unit: str,
    ours: float | None,
    peer: float | None = None,
    target: float | None = None,
    *,
    better: Better = "less",
    reason: str | None = None,
) -> None:
    bench.add(
        make_line(what, unit, ours=ours, peer=peer, target=target, better=better, reason=reason)
    )


def measure_latency(bench: Bench) -> None:
    """One of 16 partitions gets 1,000 events/s: how old they are when the handler has them."""
    seconds = 4.0 if bench.quick else 15.0
    figures: dict[str, Said] = {}
    for by in ("native",) if bench.quick else ("native", *PEERS):
        with running() as place:
            command = [sys.executable, str(SENDER), str(place.port), "load", "0", str(RATE)]
            with subprocess.Popen([*command, str(seconds + 30)]) as sending:
                try:
                    figures[by] = place.ask("latency", by, seconds=seconds)
                finally:
                    sending.terminate()
    for peer in PEERS:
        theirs = figures.get(peer, {})
        for name, target in (("p50_ms", 50.0), ("p99_ms", 100.0)):
            add(bench, f"latency {name[:3]}, 1 of 16 active, 1,000 events/s, SDK {peer}", "ms",
                figures["native"][name], theirs.get(name), target)  # fmt: skip


def measure_idle(bench: Bench) -> None:
    seconds = 4.0 if bench.quick else 20.0
    with running() as place:
        ours = place.ask("idle", "native", seconds=seconds)
        for peer in PEERS:
            theirs = {} if bench.quick else place.ask("idle", peer, seconds=seconds)
            add(bench, f"idle, 16 partitions, SDK {peer}", "% of a core", ours["core_percent"],
                theirs.get("core_percent"), 1.0)  # fmt: skip


def measure_memory(bench: Bench) -> None:
    peak = "memory, 5 million events waiting, peak"
    growth = "memory, growth while they are read"
    if bench.quick:
        add(bench, peak, "MB resident", None, target=200, reason=NOT_QUICK)
        add(bench, growth, "MB", None, target=10, reason=NOT_QUICK)
        return
    with (
        tempfile.TemporaryDirectory(prefix="bench-consume-") as data,
        running("--data", data, "--fsync", "never") as place,
    ):
        stored = fill(place, 200, STORED)
        ours = place.ask("memory", "native", events=stored)
    add(bench, peak, "MB resident", ours["peak_mb"], target=200)
    add(bench, growth, "MB", ours["growth_mb"], target=10)


def main() -> None:
    bench = Bench("consume")
    for size in SIZES:
        measure_load(bench, size)
    measure_latency(bench)
    measure_idle(bench)
    measure_memory(bench)
    bench.finish()


if __name__ == "__main__":
    main()
