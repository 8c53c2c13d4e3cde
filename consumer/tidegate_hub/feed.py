"""A link on which a client receives the events of one partition.

Rules:
- A turn sends as much as credit, window and a byte limit allow, then others get theirs.
- Nothing is sent while the transport holds back; nothing is copied that is not sent.
- A position that retention has passed moves up to the oldest event that is left.
- A batch is held only while some of it is still to be sent: others share the memory for events.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate_amqp import Link
from tidegate_amqp.sender import SenderLink
from tidegate_hub.conditions import NAMELESS, internal_error
from tidegate_hub.faults import Kind, Operation, Target
from tidegate_hub.hubs import Hub, Partition
from tidegate_hub.links import HubLink, busy, expire
from tidegate_hub.receivers import Receiver
from tidegate_hub.sas import LISTEN
from tidegate_hub.stamping import runtime_metrics
from tidegate_hub.storage.errors import StorageError

if TYPE_CHECKING:
    from tidegate_hub.client import Client
    from tidegate_hub.storage.batch import Batch

EVENTS_A_TURN = 1_000
BYTES_A_TURN = 1 << 19


class Feed(HubLink):
    """One receiver of a client, as the hub sees it."""

    operation = Operation.RECEIVE
    claim = LISTEN
    link: SenderLink
    partition: Partition
    group: str

    def __init__(
        self, client: Client, link: Link, hub: Hub, partition: Partition, group: str
    ) -> None:
        super().__init__(client, link, hub, partition, group)
        self.position = 0
        self.epoch: int | None = None
        self.name = NAMELESS
        self.wants_metrics = False
        self.is_delayed = False
        self._has_waited = False
        self._batch: Batch | None = None

    def open(self, position: int) -> None:
        self.position = position
        self.keep()
        self.partition.feeds[self.group].append(self)
        if self.link.credit:
            self.schedule()

    def as_receiver(self) -> Receiver:
        return Receiver(self, self.epoch, self.name)

    def drop(self) -> None:
        super().drop()
        self.partition.waiting.discard(self)
        feeds = self.partition.feeds[self.group]
        if self in feeds:
            feeds.remove(self)
        self._batch = None

    def schedule(self) -> None:
        """Asks for a turn."""
        self.client.schedule(self)

    def take_turn(self) -> bool:
        """Sends what may be sent now; True when there may be more to send at once."""
        if not self.link.is_attached or self.is_delayed or self._is_at_end():
            return False
        if self.link.sendable <= 0 or self._is_held_up():
            return False
        try:
            if self.expire(self.target) and self._is_at_end():
                return False
            self._send(min(self.link.sendable, EVENTS_A_TURN))
        except StorageError as error:
            self.client.broker.report(f"{self.hub.name}/{self.partition.id}: {error}")
            self.detach(internal_error())
            return False
        return True

    def _is_at_end(self) -> bool:
        """Whether there is nothing to send; if so, the next event gives this feed a turn."""
        log = self.partition.log
        self._move_to(max(self.position, log.first_sequence))
        if self.position < log.readable_sequence:
            return False
        self.link.finish_drain()
        self.partition.waiting.add(self)
        return True

    def _move_to(self, position: int) -> None:
        self.position = position
        if self._batch is not None and position >= self._batch.next_sequence:
            self._batch = None

    def expire(self, target: Target) -> bool:
        """Lets a scripted fault drop events first; True when one did. Raises StorageError."""
        broker = self.client.broker
        if not broker.faults:
            return False
        fault = broker.faults.take(Kind.EXPIRE_RETENTION, target, self.client.now())
        if fault is not None:
            expire(self.partition, fault)
        return fault is not None

    def _send(self, allowed: int) -> None:
        prefix = self._metrics() if self.wants_metrics else b""
        sent_bytes = 0
        while allowed > 0 and sent_bytes < BYTES_A_TURN:
            batch = self._current_batch()
            if batch is None:
                break
            index = self.position - batch.first_sequence
            count = min(allowed, batch.count - index)
            ends = batch.ends
            start = ends[index - 1] if index else 0
            count = _within(ends, index, count, start + BYTES_A_TURN - sent_bytes)
            run = ends if count == batch.count else ends[index : index + count]
            self.link.send_run(batch.payload, run, start, prefix)
            self._move_to(self.position + count)
            allowed -= count
            sent_bytes += run[-1] - start
            self.client.broker.counters.events_out += count

    def _current_batch(self) -> Batch | None:
        batch = self._batch
        position = self.position
        if batch is None or not batch.first_sequence <= position < batch.next_sequence:
            batch = self._batch = self.partition.log.batch_at(position)
        if batch is not None and batch.first_sequence > position:
            self.position = batch.first_sequence
        return batch

    def _metrics(self) -> bytes:
        log = self.partition.log
        now = self.client.broker.clock_ms()
        return runtime_metrics(log.next_sequence - 1, log.last_offset, log.last_enqueued_ms, now)

    def _is_held_up(self) -> bool:
        """Lets scripted faults delay this turn or end the link."""
        broker = self.client.broker
        if not broker.faults:
            return False
        delay_s = 0.0 if self._has_waited else self.delay_s()
        self._has_waited = False
        if delay_s:
            self.is_delayed = True
            self.client.wire.call_later(delay_s, self._go_on)
            return True
        fault = broker.faults.take(Kind.SERVER_BUSY, self.target, self.client.now())
        if fault is not None:
            self.detach(busy(broker.namespace, fault))
            return True
        return self.is_struck()

    def _go_on(self) -> None:
        self.is_delayed = False
        self._has_waited = True
        self.schedule()


def _within(ends: Sequence[int], index: int, count: int, limit: int) -> int:
    """How many of `count` events from `index` end within `limit` bytes; at least one."""
    if ends[index + count - 1] <= limit:
        return count
    return max(1, bisect_right(ends, limit, index, index + count) - index)
