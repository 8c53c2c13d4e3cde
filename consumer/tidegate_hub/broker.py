"""What all connections share: hubs, storage, keys, faults and counters. No sockets, no loop.

Rules: time is passed in or comes from the clock given; a publish is stored before it is answered,
and on disk before that where the fsync policy says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidegate_hub.conditions import (
    HubError,
    entity_updated,
    storage_failed,
    storage_full,
    undecodable_message,
)
from tidegate_hub.config import HubSpec
from tidegate_hub.faults import FaultPlan
from tidegate_hub.hubs import Hub, Hubs, Partition
from tidegate_hub.ingest import Arrival
from tidegate_hub.placement import KeyPlacement, round_robin
from tidegate_hub.sas import KeyRule
from tidegate_hub.stamping import stamp
from tidegate_hub.storage.errors import StorageError, StorageFull
from tidegate_hub.storage.retention import KEEP_FOR_EVER, Retention
from tidegate_hub.storage.store import Store

MAX_MESSAGE_SIZE = 1_048_576
REFUSALS_REPORTED_EVERY_MS = 1_000


@dataclass(slots=True)
class Counters:
    events_in: int = 0
    events_out: int = 0
    bytes_in: int = 0
    deliveries_in: int = 0
    deliveries_refused: int = 0
    connections_opened: int = 0


@dataclass(slots=True)
class Broker:
    """The hub server's state, apart from its connections."""

    store: Store
    namespace: str
    clock_ms: Callable[[], int]
    rules: tuple[KeyRule, ...] = ()
    is_checked: bool = False
    hubs: Hubs = field(default_factory=Hubs)
    faults: FaultPlan = field(default_factory=FaultPlan)
    counters: Counters = field(default_factory=Counters)
    placement: KeyPlacement = field(default_factory=KeyPlacement)
    # Called with what to do once everything published so far is on disk.
    when_durable: Callable[[Callable[[StorageError | None], None]], None] | None = None
    # What is kept of a hub that does not say it itself; what is set of it goes also for those that
    # the store remembers.
    retention: Retention = KEEP_FOR_EVER
    # Called with an error that people running the hub should see.
    report: Callable[[str], None] = print
    # When a refusal of a send or of a connection was reported last.
    refusals_reported_ms: dict[str, int] = field(default_factory=dict)

    def load_hubs(self) -> None:
        """Makes the hubs that the store remembers."""
        for stored in self.store.load_hubs():
            hub = Hub(stored.name, stored.groups, stored.created_ms)
            self._change(hub, stored.partitions, {}, stored.retention.changed_by(self.retention))
            self.hubs.add(hub)

    def add_hub(self, spec: HubSpec) -> Hub:
        """Makes a hub, or gives the one that exists with what the spec adds to it.

        Where it cannot be saved, because the disk is full, nothing of it is there. Where there
        are partitions more, links of the hub are told to attach again.
        """
        is_new = spec.name not in self.hubs
        hub = Hub(spec.name, (), self.clock_ms()) if is_new else self.hubs.get(spec.name)
        hours = spec.retention_hours
        own = Retention(None if hours is None else int(hours * 3_600_000), spec.retention_bytes)
        kept = self.retention if is_new else hub.retention
        groups = {group.lower(): group for group in spec.groups}
        has_grown = self._change(hub, spec.partitions, groups, kept.changed_by(own))
        if is_new:
            self.hubs.add(hub)
        elif has_grown:
            for link in list(hub.links):
                link.detach(entity_updated())
        return hub

    def grow_hub(self, name: str, partitions: int) -> Hub:
        """Adds partitions up to a total to a hub that is there. Raises HubError if it is not."""
        return self.add_hub(HubSpec(self.hubs.get(name).name, partitions))

    def _change(self, hub: Hub, total: int, groups: dict[str, str], retention: Retention) -> bool:
        """Saves the hub with what is more, then has it so; True if there are more partitions."""
        more = [
            Partition(hub, number, self.store.open_log(hub.name, str(number)))
            for number in range(len(hub.partitions), total)
        ]
        groups = hub.groups | {key: name for key, name in groups.items() if key not in hub.groups}
        self.store.save_hub(
            hub.name,
            len(hub.partitions) + len(more),
            tuple(groups.values()),
            hub.created_ms,
            retention,
        )
        hub.partitions += more
        hub.groups = groups
        hub.retention = retention
        return bool(more)

    def publish(self, hub: Hub, partition: Partition | None, arrival: Arrival) -> None:
        """Stores a delivery's events. Raises HubError, and then nothing of it is stored."""
        target = self._place(hub, arrival.key) if partition is None else partition
        log = target.log
        now = max(self.clock_ms(), log.last_enqueued_ms)
        try:
            log.append(stamp(arrival.events, log.next_sequence, log.next_offset, now), now)
        except StorageError as error:
            self.report_refusal("send", f"{hub.name}/{target.id}: a send was refused: {error}")
            raise storage_full() if isinstance(error, StorageFull) else storage_failed() from error
        except ValueError as error:
            raise undecodable_message(str(error)) from error
        self.counters.events_in += len(arrival.events)
        if self.when_durable is None:
            target.wake()
        else:
            self.when_durable(lambda _failure: target.wake())

    def report_refusal(self, what: str, line: str) -> None:
        """Report one of each kind in a while: clients try again and again while a disk is full."""
        now_ms = self.clock_ms()
        if now_ms - self.refusals_reported_ms.get(what, 0) >= REFUSALS_REPORTED_EVERY_MS:
            self.refusals_reported_ms[what] = now_ms
            self.report(line)

    def _place(self, hub: Hub, key: str | None) -> Partition:
        count = len(hub.partitions)
        if key:
            return hub.partitions[self.placement.partition_for(key, count)]
        hub.deliveries_placed += 1
        return hub.partitions[round_robin(hub.deliveries_placed - 1, count)]


def as_hub_error(error: Exception) -> HubError:
    """A decoding error of a message, in the hub's own terms."""
    return undecodable_message(str(error))
