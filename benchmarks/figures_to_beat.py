"""The figures that Tidegate set out to beat, line by line, and where each stands in the runs. Pure.

Rules: `today` is what was measured or published before, with its source; the peer beside ours is
what the same run measured, where it had one. A target that is missed, or a peer that is better, has
a reason here (`GAPS`), or the page's test fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import runs
from page_words import line_of

SDK = "azure-eventhub 5.15.1"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    what: str
    today: str
    bench: str
    line: str
    target: float | None
    # Of a line that is worked out from others of its benchmark, ours alone.
    of: Callable[[Callable[[str], float]], float] | None = None
    unit: str = ""
    no_peer: str = ""
    # What is said where there is no target.
    note: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What the runs say of it."""

    ours: float | None
    peer: float | None
    unit: str
    target: float | None
    reason: str
    is_more_better: bool = False

    @property
    def is_met(self) -> bool | None:
        if self.target is None or self.ours is None:
            return None
        return self.ours <= self.target


def _growth(partitions: int, change: str, today: str, target: float, moves: int) -> list[Figure]:
    what, fewest = f"{partitions} partitions, {change}", f"moves beyond the fewest ({moves})"
    balanced = f"{what}: balanced, p95"
    return [
        Figure(f"{what} members: balanced, p95", today, "balance", balanced, target),
        Figure(f"{what} members: {fewest}", "", "balance", f"{what}: {fewest}, most", 0),
    ]


def _cost(size: str, today: str, sdk: str, target: float) -> Figure:
    line = f"receive, {size}, plain, SDK {sdk}"
    return Figure(f"CPU to receive an event of {size}, beside the SDK ({sdk})", today, "consume",
                  line, target)  # fmt: skip


READING = "500 groups of 32 partitions that read"
# By Azure's list, of one listing: benchmarks/balance_ticks.py has the source.
LIST_USD = 0.055 / 10_000
NET = "no .NET here: the published figure, net#31941"
FIGURES: tuple[Figure, ...] = (
    *_growth(32, "1 -> 2", "495 s", 15, 16),
    *_growth(32, "1 -> 8", "104 s", 15, 28),
    *_growth(32, "4 -> 8", "103 s", 15, 16),
    *_growth(32, "8 -> 16", "37 s", 15, 16),
    Figure("cold start, 32 partitions, 0 -> 8 members: balanced, p95", "104 s", "balance",
           "32 partitions, 0 -> 8: balanced, p95", 10),
    Figure("cold start: needless moves", "28", "balance",
           "32 partitions, 0 -> 8: moves beyond the fewest (32), most", 0),
    *_growth(128, "1 -> 16", "240 s", 20, 120),
    Figure("SIGKILL one of eight, by its lease alone: partitions idle, p95", "200 s", "balance",
           "32 partitions, SIGKILL one of 8: partition idle, p95", 17),
    Figure("the same with real processes, p95", "200 s", "balance",
           "real, 32 partitions, one of eight killed: idle p95", 17),
    Figure("a pod deleted: partitions idle, longest", "", "cluster",
           "delete: partition idle, longest", 3),
    Figure("a pod evicted: partitions idle, longest", "", "cluster",
           "evict: partition idle, longest", 3),
    Figure("a pod deleted and killed, as Kubernetes confirms: idle, longest", "200 s (p95)",
           "cluster",
           "delete and kill: partition idle, longest", 3),
    Figure("a container restarted in place: read again, beyond its own start", "200 s (p95)",
           "balance", "real, restart in place: reads again", 1,
           of=lambda ours: ours("real, restart in place: reads again")
           - ours("real, restart in place: of that the process's own start")),
    Figure("the same: partitions that move", "", "balance",
           "32 partitions, one of 8 back in place in 2 s: moves beyond the fewest (0), most", 0),
    Figure("graceful 8 -> 4: a partition that is re-owned has no reader for, p95", "31 s (p50)",
           "balance", "32 partitions, 8 -> 4 gracefully: partition idle, p95", 2),
    Figure("the same with real processes: until all are re-owned, and so the last one has gone", "",
           "balance", "real, 32 partitions, 8 to 4: re-owned", None),
    Figure("rolling update of 8: moves beyond one of each", "28 moves in all, 104 s", "balance",
           "32 partitions, rolling update of 8: moves beyond the fewest (32), most", 0),
    Figure("the same on a cluster: moves of 12 partitions", "", "cluster", "rollout: moves", 12),
    Figure(".NET after a kill: taken over", "150 s", "balance",
           "32 partitions, SIGKILL one of 8: partition idle, p95", 17, no_peer=NET),
    Figure("Cosmos: a host killed, all is handled", "60 s", "cosmos",
           "one of 2 hosts killed, 16 ranges: all is handled", 17),
    Figure("Cosmos: 16 leases to 2 hosts", "95 s", "cosmos",
           "1 -> 2 hosts, 16 ranges: all own as much", 15),
    _cost("200 B", "34 µs", "sync", 4),
    _cost("1 KB", "34 µs", "sync", 5),
    _cost("200 B", "54 µs", "aio", 4),
    _cost("1 KB", "57 µs", "aio", 5),
    Figure("the same beside librdkafka, 200 B", "2.1 µs", "consume",
           "receive, 200 B, plain, librdkafka", None),
    Figure("the same beside librdkafka, 1 KB", "2.6 µs", "consume",
           "receive, 1 KB, plain, librdkafka", None),
    Figure("latency, 1 of 16 partitions active, p50", "3.8 s", "consume",
           "latency p50, 1 of 16 active, 1,000 events/s, SDK sync", 50),
    Figure("latency, p99 (the target is of p95)", "7.0 s (p95)", "consume",
           "latency p99, 1 of 16 active, 1,000 events/s, SDK sync", 100),
    Figure("a member that owns nothing, beside the SDK (sync)", "94 % of a core", "idle",
           "a member that owns nothing, SDK sync", 1),
    Figure("a receiver of 16 idle partitions, beside the SDK (sync)", "", "consume",
           "idle, 16 partitions, SDK sync", 1),
    Figure("Spark: CPU to read an event to Arrow, beside the SDK in a source", "", "spark",
           "read, to Arrow", 8),
    Figure("Spark: CPU of all its processes, an event of a pipeline", "", "spark",
           "stream, aggregated", None),
    Figure("Spark: a trigger at 1,000 events/s, p95; of the peer's few the longest", "", "spark",
           "a trigger, 1000 events/s, p95", None),
    Figure("scaling: ten times as much comes: more are asked for, longest of 30 tries; beside a "
           "model of KEDA", "15 s sync", "scaling",
           "ten times as much: more are asked for, longest of 30, beside KEDA, threshold 2,048", 5),
    Figure("scaling: an event for a group at zero: a pod is asked for", "30 s poll", "operator",
           "an event for groups that sleep: each asks for a pod, longest", 5),
    Figure("scaling: from a wish to the Deployment, p95 of 500 groups", "15 s sync of the HPA",
           "operator", "a wish for more pods: the Deployment grows, p95", 5),
    Figure("listings for the lag of a group of 32 partitions, a day: one for each estimate",
           "92,160 blob reads", "operator", f"{READING}: looks at ledgers", None,
           of=lambda ours: ours(f"{READING}: looks at ledgers") * 86_400 / 500, unit="listings"),
    Figure("what storage asks for them, a day", "0.041 $", "operator",
           f"{READING}: looks at ledgers", None, unit="$",
           of=lambda ours: ours(f"{READING}: looks at ledgers") * 86_400 / 500 * LIST_USD,
           note="the peer is better: a listing costs as much as 12 reads"),
    Figure("ten traces, no event older than 60 s: out of it, beside a model of KEDA's defaults", "",
           "scaling",
           "all traces, within 60 s: out of objective, beside KEDA, defaults", None),
    Figure("the same beside a model of KEDA at its best of a sweep", "", "scaling",
           "all traces, within 60 s: out of objective, beside KEDA, best", None),
    Figure("the same beside a model of Azure Functions", "180 s block of scale-in", "scaling",
           "all traces, within 60 s: out of objective, beside Functions", None),
    Figure("the same beside a model of Flink's autoscaler", "15 min window, 1 h down-delay",
           "scaling", "all traces, within 60 s: out of objective, beside Flink", None),
)  # fmt: skip

# Where we lose or miss, and why: of a benchmark, the lines, the reason.
GAPS: tuple[tuple[str, str, str], ...] = (
    ("balance", r": partition idle, p\d+$|real, .*: idle p\d+$",
     "A partition of ours is without a reader while it is handed over. The SDK takes it from a "
     "living reader without a word, so it is never idle, and both handle the same events."),
    ("balance", r"SIGKILL.*handled twice|killed: duplicates",
     "What is handled and not yet in a checkpoint when a member dies comes again, with either. "
     "[A budget](delivery.md) bounds it; state in the checkpoint makes totals exact."),
    ("balance", r"settled tick: (listings|renewals|price|checkpoints)",
     "We look every 2 s and renew every 5 s; the SDK every 30 s or so. That is what taking over in "
     "15 s rather than 180 s costs; [`settledTickSeconds`](balancing.md) makes it less."),
    ("balance", r"rolling update of 8: moves beyond",
     "The script stops each old member 5 s after its successor began, whether or not all was "
     "handed over. In one run of fifty or so it gives a partition to who is there, which gives it "
     "on when the next one is. The operator stops nobody who has something left to give: on a "
     "cluster each partition moves once."),
    ("balance", r": moves$", "The peer was not done within the time, so it moved fewer."),
    ("consume", r"librdkafka$",
     "C beside Python: an event that is handed to Python costs more than librdkafka's whole way "
     "from the socket. Kafka's protocol has one header a batch, AMQP one a message."),
    ("consume", r"1 KB, TLS, SDK sync: times less CPU$",
     "More than half of what 1 KB over TLS costs us is bytes that are moved and decrypted; of the "
     "SDK's it is a twentieth. 5.9 to 7.9 times were seen, run by run."),
    ("consume", r"^idle, 16 partitions, SDK sync$",
     "16 receivers that wait on one connection, beside 16 connections that each only wait. A "
     "member that owns nothing is compared by `bench-idle`."),
    ("cosmos", r"what waits is handled",
     "A backlog that is gone in a second or two: one look more or less decides. Java's was seen at "
     "17,000 and at 71,000 items/s, ours at 31,000 to 50,000."),
    ("idle", r"SDK aio$",
     "That of asyncio sleeps until its next look, every 30 s; ours looks every 2 s."),
    ("migration", r"longest wait of a partition",
     "Who comes waits for who goes. Ours look every 2 s; the SDK's, which look every 30 s by "
     "default, look every second here, and handle again what was not in a checkpoint."),
    ("pages-of-many-homes", r"from the sensor to the page",
     "One process of Python writes the slices here and is too slow for 100,000 homes; a group has "
     "as many as it takes ([the page](residents-page.md))."),
    ("scaling", r": pods, beside (KEDA, best for no more|Flink)$",
     "They cost a little less and are out of the objective for an hour or more; ours are not."),
    ("slices", r"merge and encode|all, with uploads|in Azurite",
     "The peer writes the news of each batch as a part; ours writes the open slice whole, so that "
     "a page reads two ranges rather than 60 parts."),
    ("slices", r"longest write of a batch",
     "Azurite, one process of Node, takes in 16 whole slices while the writer wants the same two "
     "cores; not tried on the service."),
)  # fmt: skip


def found(figure: Figure, all_runs: runs.Runs) -> Found | None:
    """None where no run has the line yet."""
    try:
        line = line_of(all_runs, figure.bench, figure.line)
        ours = line["ours"]
        if figure.of is not None:
            ours = figure.of(lambda what: float(line_of(all_runs, figure.bench, what)["ours"]))
    except (KeyError, TypeError):
        return None
    peer = None if figure.no_peer or figure.of is not None else line["peer"]
    unit = figure.unit or line["unit"]
    return Found(ours, peer, unit, figure.target, str(line.get("reason") or ""))


def why(bench: str, what: str) -> str | None:
    """The reason for a line where we lose or miss."""
    for benches, lines, reason in GAPS:
        if re.fullmatch(benches, bench) and re.search(lines, what):
            return reason
    return None


def loses(line: dict[str, Any]) -> bool:
    """Whether the peer is better, or the target is missed."""
    ours, peer, ratio = line["ours"], line["peer"], line.get("ratio")
    if line.get("met") is False:
        return True
    if ours is None or peer is None:
        return False
    return bool(ratio < 1 if ratio is not None else ours > peer == 0)
