"""The metrics that a consumer shows: their names, which do not change, and what they mean. Pure.

Rules: this is the one list. `docs/metrics.md` repeats it and a test compares the two; `metrics.py`
fills it and may show no other. Names follow Prometheus: base units, `_total` for what only grows.
A label's values are few: partitions of one source, kinds from our own lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. Every one also has the label `group`."""

    name: str
    kind: str  # counter, gauge or histogram
    meaning: str
    labels: tuple[str, ...] = ()


METRICS = (
    Metric(
        "tidegate_events_handled_total",
        "counter",
        "Events that the handler is done with.",
        ("partition",),
    ),
    Metric("tidegate_bytes_handled_total", "counter", "Bytes of their bodies.", ("partition",)),
    Metric(
        "tidegate_batches_handled_total",
        "counter",
        "Batches that the handler is done with.",
        ("partition",),
    ),
    Metric(
        "tidegate_batches_failed_total",
        "counter",
        "Attempts at a batch that ended in an error.",
        ("partition",),
    ),
    Metric(
        "tidegate_handlers_hung_total",
        "counter",
        "Batches whose handler did not come back within its limit.",
        ("partition",),
    ),
    Metric(
        "tidegate_events_dead_lettered_total",
        "counter",
        "Events that were put aside and passed.",
        ("partition",),
    ),
    Metric(
        "tidegate_handler_seconds",
        "histogram",
        "Time that the handler took for a batch, all attempts together.",
    ),
    Metric(
        "tidegate_event_age_seconds",
        "histogram",
        "From enqueueing a batch's last event to the end of its handling.",
    ),
    Metric(
        "tidegate_partition_owned",
        "gauge",
        "1 for each partition that this member reads.",
        ("partition",),
    ),
    Metric(
        "tidegate_partition_stuck",
        "gauge",
        "1 for each of them whose batch fails again and again.",
        ("partition",),
    ),
    Metric(
        "tidegate_partition_circuit_open",
        "gauge",
        "1 for each of them that stands because too many of its recent events fail.",
        ("partition",),
    ),
    Metric("tidegate_partition_epoch", "gauge", "The epoch with which it is read.", ("partition",)),
    Metric(
        "tidegate_partition_rate",
        "gauge",
        "Events handled a second, over the last 10 s.",
        ("partition",),
    ),
    Metric(
        "tidegate_position_sequence",
        "gauge",
        "Sequence number of the last event that was handled.",
        ("partition",),
    ),
    Metric(
        "tidegate_checkpoint_sequence",
        "gauge",
        "Sequence number of the last checkpoint.",
        ("partition",),
    ),
    Metric(
        "tidegate_lag_events",
        "gauge",
        "Events not yet handled. Absent where the lag is unknown.",
        ("partition",),
    ),
    Metric(
        "tidegate_lag_seconds",
        "gauge",
        "How long the oldest of them has waited, at most. Absent where unknown.",
        ("partition",),
    ),
    Metric(
        "tidegate_lag_kind",
        "gauge",
        "1 for what the lag is: exact, estimated, unknown or lost.",
        ("partition", "kind"),
    ),
    Metric(
        "tidegate_transport_fallback",
        "gauge",
        "1 once the official SDK reads, because the native transport was not understood.",
    ),
    Metric("tidegate_readers_opened_total", "counter", "Readers that were opened."),
    Metric(
        "tidegate_readers_closed_total",
        "counter",
        "Readers that ended: closed, stolen, failed or hung.",
        ("reason",),
    ),
    Metric(
        "tidegate_checkpoints_written_total",
        "counter",
        "Checkpoints that were written.",
        ("partition",),
    ),
    Metric(
        "tidegate_checkpoint_state_bytes",
        "gauge",
        "Size of the state that went with the last checkpoint.",
        ("partition",),
    ),
    Metric(
        "tidegate_leases_ended_total",
        "counter",
        "Leases of partitions that ended: let-go, or why a renewal was refused.",
        ("why",),
    ),
    Metric("tidegate_lease_renewal_seconds", "histogram", "Time that renewing a lease took."),
    Metric(
        "tidegate_ledger_operations_total",
        "counter",
        "Operations on the ledger; result is done, or why it was refused.",
        ("operation", "result"),
    ),
    Metric(
        "tidegate_ledger_operation_seconds",
        "histogram",
        "Time that an operation on the ledger took.",
    ),
    Metric(
        "tidegate_request_units_total",
        "counter",
        "Request units of Cosmos DB that this process has spent: on leases, and on the monitored "
        "container.",
        ("container",),
    ),
    Metric("tidegate_reports_total", "counter", "What was reported to people, by kind.", ("kind",)),
    Metric(
        "tidegate_group_members",
        "gauge",
        "Members of the group that are alive, by the last listing.",
    ),
    Metric("tidegate_group_partitions", "gauge", "Partitions that the source has."),
    Metric(
        "tidegate_group_partitions_owned",
        "gauge",
        "Those of them that have an owner, by the last listing.",
    ),
    Metric(
        "tidegate_group_partitions_unread",
        "gauge",
        "Those of them that nobody reads although they are not paused.",
    ),
    Metric("tidegate_listing_age_seconds", "gauge", "Age of the last listing."),
    Metric(
        "tidegate_ready", "gauge", "1 once this member has joined the group, as `/readyz` says."
    ),
    Metric(
        "tidegate_member_info",
        "gauge",
        "Always 1; says the member's name and the version.",
        ("member", "version"),
    ),
)


def as_markdown() -> str:
    """The table that `docs/metrics.md` shows."""
    return table_of(METRICS)


def table_of(metrics: Iterable[Metric]) -> str:
    """A table of these metrics."""
    rows = [
        f"| `{each.name}` | {each.kind} | {', '.join(each.labels)} | {each.meaning} |"
        for each in metrics
    ]
    return "\n".join(["| metric | kind | labels | meaning |", "| --- | --- | --- | --- |", *rows])
