"""What runs around a consumer, and what sends to one: CPU per event, per batch and per look.

Rules: ours and the peer in one process and one run: sending beside the official SDK, counting
beside prometheus_client's own counters. A figure of sending is CPU of the sender's own process; the
hub is another one. Spans and the view have no peer: they have a target or are only told.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from opentelemetry.sdk.trace import TracerProvider
from prometheus_client import CollectorRegistry, Counter, Histogram

from harness import Bench, make_line
from hub_server import server
from tidegate.model import Position
from tidegate.ops.board import Board
from tidegate.ops.live import screen
from tidegate.ops.metrics import BOUNDS, Metrics, MetricsText
from tidegate.ops.observer import BatchHandled, EndKnown, Observer, Observers, ReaderOpened
from tidegate.ops.terminal import Picture
from tidegate.ops.tracing import Tracing
from tidegate.sending.native import NativeSender
from tidegate.sending.outgoing import Outgoing
from tidegate.sending.sdk import SdkSender
from tidegate.sending.sending import Sender
from tidegate.sending.sensors import KINDS, world

NOW, WALL = 1_000.0, 1_700_000_000.0
HUB = "load"
HOMES = 2_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one thing done many times."""

    cpu_us: float
    rate: float


def cost(count: int, work: Callable[[], object]) -> Cost:
    """What `work` costs, which does `count` of something."""
    begun, used = time.perf_counter(), time.process_time()
    work()
    took, cpu = time.perf_counter() - begun, time.process_time() - used
    return Cost(cpu / count * 1e6, count / took)


def sending(new_sender: Callable[[], Sender], events: Sequence[Outgoing], at_once: int) -> Cost:
    """Sends all events; the connection is made before the clock starts."""

    async def send() -> Cost:
        sender = new_sender()
        await sender.send(events[:1])
        await sender.flush()
        begun, used = time.perf_counter(), time.process_time()
        for first in range(0, len(events), at_once):
            await sender.send(events[first : first + at_once])
        await sender.flush()
        took, cpu = time.perf_counter() - begun, time.process_time() - used
        await sender.close()
        return Cost(cpu / len(events) * 1e6, len(events) / took)

    return asyncio.run(send())


def add_sending(bench: Bench, connection: str) -> None:
    scale = 1 if bench.quick else 5
    generated = world(HOMES, random.Random(1).random, time.time)
    readings = list(itertools.islice(generated, 20_000 * scale))
    shapes = (
        ("send an event of 200 B", [Outgoing(b"x" * 200)] * (100_000 * scale), 20, 2.0),
        ("send an event of 1 KB", [Outgoing(b"x" * 1024)] * (30_000 * scale), 10, 5.0),
        (f"send a home's {len(KINDS)} readings, keyed: an event", readings, 20, 8.0),
    )
    for what, events, less, target in shapes:
        ours = sending(lambda: NativeSender(connection, HUB), events, 5_000)
        # The SDK is so much slower that fewer events say as much.
        theirs = sending(lambda: SdkSender(connection, HUB), events[: len(events) // less], 5_000)
        bench.add(make_line(what, "us of CPU", ours=ours.cpu_us, peer=theirs.cpu_us, target=target))
        bench.add(make_line(what, "events/s", ours=ours.rate, peer=theirs.rate, better="more"))


def handled(partition: str, sequence: int) -> BatchHandled:
    position = Position(str(sequence), sequence)
    return BatchHandled(NOW, partition, 100, 20_000, 0.02, position, WALL - 1)


def board_of(partitions: int) -> Board:
    """A board of a member that reads so many partitions."""
    board = Board("pod-1")
    for partition in map(str, range(partitions)):
        board.hear(ReaderOpened(NOW, partition, 7))
        board.hear(handled(partition, 999))
        board.hear(EndKnown(NOW, partition, 1_099, WALL))
    return board


def add_metrics(bench: Bench) -> None:
    count = 20_000 if bench.quick else 200_000
    board = board_of(256)
    metrics = Metrics("home", board, lambda: WALL)
    fact = handled("3", 5_000)

    def count_as_we_do() -> None:
        for _ in range(count):
            metrics.hear(fact)

    ours = cost(count, count_as_we_do)
    registry = CollectorRegistry()
    counters = [
        Counter(name, name, ["group", "partition"], registry=registry)
        for name in ("events", "size", "batches")
    ]
    times = [Histogram(name, name, buckets=BOUNDS, registry=registry) for name in ("took", "age")]

    def count_as_the_library_does() -> None:
        for _ in range(count):
            for counter in counters:
                counter.labels("home", fact.partition).inc(fact.events)
            for each in times:
                each.observe(fact.seconds)

    peer = cost(count, count_as_the_library_does)
    what = "count a batch: 3 counters, 2 histograms"
    bench.add(make_line(what, "us of CPU", ours=ours.cpu_us, peer=peer.cpu_us, target=3.0))
    for number in range(256):
        metrics.hear(handled(str(number), 5_000))
    text = MetricsText(metrics, lambda: NOW, lambda: WALL)
    rounds = 5 if bench.quick else 30
    once = cost(rounds, lambda: [text.write() for _ in range(rounds)])
    bench.add(make_line("/metrics of 256 partitions", "ms", ours=once.cpu_us / 1e3, target=100.0))


def add_around(bench: Bench) -> None:
    """What a batch pays for traces that nobody takes, and a second for the view."""
    count = 100_000 if bench.quick else 1_000_000
    observer = Observers(Observer(), Observer())
    nothing = nullcontext()

    def handle() -> None:
        for _ in range(count):
            with observer.handling("3", ()):
                pass

    def bare() -> None:
        for _ in range(count):
            with nothing:
                pass

    off = cost(count, handle).cpu_us - cost(count, bare).cpu_us
    bench.add(make_line("a batch, traces off", "us of CPU", ours=off, target=0.5))
    add_spans(bench)
    board, picture = board_of(32), Picture(has_colours=True)
    rounds = 50 if bench.quick else 500

    def draw() -> None:
        for number in range(rounds):
            board.hear(handled("3", 5_000 + number))
            lines = screen(board, (), group="home", columns=120, rows=40, now=NOW, wall=WALL)
            picture.change(lines, (120, 40))

    drawn = cost(rounds, draw)
    bench.add(make_line("a picture of the live view", "ms", ours=drawn.cpu_us / 1e3, target=5.0))


def add_spans(bench: Bench) -> None:
    """A span around a batch of 100 events of one trace, kept by nobody."""

    @dataclass(frozen=True, slots=True)
    class Traced:
        properties: dict[str, str]

    parent = {"traceparent": f"00-{5:032x}-{7:016x}-01"}
    events = [Traced(parent)] * 100
    spans = Tracing(TracerProvider().get_tracer("bench"), "telemetry", "home")
    rounds = 200 if bench.quick else 2_000

    def handle() -> None:
        for _ in range(rounds):
            with spans.handling("3", events):  # type: ignore[arg-type]
                pass

    on = cost(rounds, handle)
    bench.add(make_line("a batch of 100 events, traces on", "us of CPU", ours=on.cpu_us))


def main() -> None:
    bench = Bench("operations")
    with server() as hub:
        connection = (
            f"Endpoint=sb://localhost:{hub.port};SharedAccessKeyName=k;SharedAccessKey=s;"
            "UseDevelopmentEmulator=true"
        )
        add_sending(bench, connection)
    add_metrics(bench)
    add_around(bench)
    bench.finish()


if __name__ == "__main__":
    main()
