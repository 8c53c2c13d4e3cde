"""Counts what happens, for Prometheus. The names are those of `catalogue`.

Rules:
- Counting is an addition to a dictionary; the library's types are made only when somebody asks
  for the text. So a batch costs about a microsecond, with or without anybody who reads it.
- Gauges of partitions are those of the board, at the time of asking; they end with the ownership.
- Metrics that a handler registers with prometheus_client's own registry are shown as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import REGISTRY
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from tidegate import __version__
from tidegate.lag import LagKind
from tidegate.ops import observer as facts
from tidegate.ops.board import Board, Row
from tidegate.ops.catalogue import METRICS
from tidegate.ops.observer import Observer

# From half a millisecond, which a small batch takes, to ten minutes, which is a backlog.
BOUNDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0,
)  # fmt: skip
_LE = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")


class Times:
    """How often something took how long."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus has them: each counts all that is not longer."""
        so_far, found = 0, []
        for le, count in zip(_LE, self.counts, strict=True):
            so_far += count
            found.append((le, float(so_far)))
        return found


class Metrics(Observer):
    """Counts facts. The board must hear them before this does."""

    def __init__(self, group: str, board: Board, wall: Callable[[], float]) -> None:
        self.group = group
        self.board = board
        self._wall = wall
        self.counts: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self.times: defaultdict[str, Times] = defaultdict(Times)
        self.state_bytes: dict[str, int] = {}
        self.units: defaultdict[tuple[str, ...], float] = defaultdict(float)

    def hear(self, fact: facts.Fact) -> None:
        counts = self.counts
        match fact:
            case facts.BatchHandled():
                self._on_handled(fact)
            case facts.LeaseRenewed():
                self.times["tidegate_lease_renewal_seconds"].add(fact.seconds)
            case facts.LedgerAnswered():
                result = fact.refusal or "done"
                counts["tidegate_ledger_operations_total"][fact.operation, result] += 1
                self.times["tidegate_ledger_operation_seconds"].add(fact.seconds)
            case facts.CheckpointWritten():
                counts["tidegate_checkpoints_written_total"][(fact.partition,)] += 1
                self.state_bytes[fact.partition] = fact.size
            case facts.UnitsSpent():
                self.units[(fact.on,)] += fact.units
            case facts.BatchFailed():
                counts["tidegate_batches_failed_total"][(fact.partition,)] += 1
                if fact.is_hung:
                    counts["tidegate_handlers_hung_total"][(fact.partition,)] += 1
            case facts.DeadLettered():
                counts["tidegate_events_dead_lettered_total"][(fact.partition,)] += fact.events
            case facts.ReaderOpened():
                counts["tidegate_readers_opened_total"][()] += 1
            case facts.ReaderClosed():
                counts["tidegate_readers_closed_total"][(fact.reason,)] += 1
            case facts.LeaseEnded():
                counts["tidegate_leases_ended_total"][(fact.why,)] += 1
            case facts.Reported():
                counts["tidegate_reports_total"][(fact.report.kind,)] += 1

    def _on_handled(self, fact: facts.BatchHandled) -> None:
        counts, key = self.counts, (fact.partition,)
        counts["tidegate_events_handled_total"][key] += fact.events
        counts["tidegate_bytes_handled_total"][key] += fact.size
        counts["tidegate_batches_handled_total"][key] += 1
        self.times["tidegate_handler_seconds"].add(fact.seconds)
        if fact.enqueued_at is not None:
            age = max(self._wall() - fact.enqueued_at, 0.0)
            self.times["tidegate_event_age_seconds"].add(age)


class _Shown(Collector):
    """What the metrics and the board say now, as the library's types."""

    def __init__(self, metrics: Metrics, now: Callable[[], float], wall: Callable[[], float]):
        self._metrics = metrics
        self._now = now
        self._wall = wall

    def collect(self) -> Iterable[Metric]:
        gauges = dict(self._gauges())
        for metric in METRICS:
            labels = ("group", *metric.labels)
            if metric.kind == "histogram":
                yield self._histogram(metric.name, metric.meaning)
                continue
            if metric.kind == "counter":
                family: Metric = CounterMetricFamily(metric.name, metric.meaning, labels=labels)
                values: Mapping[tuple[str, ...], float] = self._metrics.counts[metric.name]
                if metric.name == "tidegate_request_units_total":
                    values = self._metrics.units
            else:
                family = GaugeMetricFamily(metric.name, metric.meaning, labels=labels)
                values = gauges.get(metric.name, {})
            for key, value in sorted(values.items()):
                family.add_metric([self._metrics.group, *key], value)  # type: ignore[attr-defined]
            yield family

    def _histogram(self, name: str, meaning: str) -> HistogramMetricFamily:
        family = HistogramMetricFamily(name, meaning, labels=("group",))
        times = self._metrics.times[name]
        family.add_metric([self._metrics.group], times.buckets(), times.sum)
        return family

    def _gauges(self) -> Iterator[tuple[str, dict[tuple[str, ...], float]]]:
        board, now = self._metrics.board, self._now()
        ours = [row for row in board.rows(now, self._wall()) if row.is_ours]
        yield from _of_partitions(ours, board, self._metrics.state_bytes)
        owned = sum(board.owner(partition) is not None for partition in board.partitions)
        yield "tidegate_group_members", {(): len(board.members())}
        yield "tidegate_group_partitions", {(): len(board.partitions)}
        yield "tidegate_group_partitions_owned", {(): owned}
        if board.listed_at is not None:
            yield "tidegate_group_partitions_unread", {(): len(board.unread())}
            yield "tidegate_listing_age_seconds", {(): max(now - board.listed_at, 0.0)}
        yield "tidegate_transport_fallback", {(): float(board.has_fallen_back)}
        yield "tidegate_ready", {(): float(board.is_present())}
        yield "tidegate_member_info", {(board.name, __version__): 1}


def _of_partitions(
    rows: list[Row], board: Board, state_bytes: dict[str, int]
) -> Iterator[tuple[str, dict[tuple[str, ...], float]]]:
    def by(value: Callable[[Row], float | None]) -> dict[tuple[str, ...], float]:
        found = {(row.partition,): value(row) for row in rows}
        return {key: each for key, each in found.items() if each is not None}

    yield "tidegate_partition_owned", by(lambda row: float(row.is_ours))
    yield "tidegate_partition_stuck", by(lambda row: board.places[row.partition].is_stuck)
    yield (
        "tidegate_partition_circuit_open",
        by(lambda row: board.places[row.partition].is_circuit_open),
    )
    yield "tidegate_partition_epoch", by(lambda row: row.epoch)
    yield "tidegate_partition_rate", by(lambda row: row.rate)
    yield "tidegate_position_sequence", by(lambda row: row.handled)
    yield "tidegate_checkpoint_sequence", by(lambda row: board.places[row.partition].checkpoint)
    yield "tidegate_lag_events", by(lambda row: row.lag.events)
    yield "tidegate_lag_seconds", by(lambda row: row.lag.behind_s)
    kinds = {(row.partition, kind): float(row.lag.kind == kind) for row in rows for kind in LagKind}
    yield "tidegate_lag_kind", {(p, str(kind)): value for (p, kind), value in kinds.items()}
    yield "tidegate_checkpoint_state_bytes", by(lambda row: state_bytes.get(row.partition))


class MetricsText:
    """Writes it all down, in the form that the asker accepts."""

    def __init__(
        self, metrics: Metrics, now: Callable[[], float], wall: Callable[[], float]
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Shown(metrics, now, wall))

    def write(self, accept: str = "") -> tuple[bytes, str]:
        """The text and its content type: our metrics, then those of the process and handlers."""
        encode, content_type = choose_encoder(accept)
        both = Both(self._registry, REGISTRY)
        return encode(both), content_type


class Both:
    """Two registries as one, for the text has one end."""

    def __init__(self, *registries: CollectorRegistry) -> None:
        self._registries = registries

    def collect(self) -> Iterator[Metric]:
        for registry in self._registries:
            yield from registry.collect()
