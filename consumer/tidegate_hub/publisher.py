"""A link on which a client sends events.

Rules: deliveries of a link are stored in the order in which they came, also behind a delay; each
is answered once, after it is stored (on disk, where the fsync policy says so). Where a delay holds
up more than a certain size, no more credit is given until less waits.
"""

from __future__ import annotations

from collections import deque

from tidegate_amqp import Accepted, AmqpError, Rejected
from tidegate_amqp.events import Delivery
from tidegate_amqp.receiver import ReceiverLink
from tidegate_hub.broker import MAX_MESSAGE_SIZE, as_hub_error
from tidegate_hub.conditions import (
    HubError,
    message_too_large,
    storage_failed,
    throttled,
)
from tidegate_hub.faults import Allowance, Fault, Kind, number, spend
from tidegate_hub.ingest import Arrival, read_delivery
from tidegate_hub.links import HubLink, busy
from tidegate_hub.storage.errors import StorageError

# Credit of a sender to a partition, and of a sender that names no partition.
CREDIT = 1_000
CREDIT_WITHOUT_PARTITION = 300
# The service tops the credit up after this many deliveries.
TOP_UP_AFTER = 100
# The `available` field of the service's flows: 0 in the first, the maximum in later ones.
_NOTHING = 0
_ANY_NUMBER = (1 << 32) - 1
# How much a delay may hold up.
MAX_HELD_BYTES = 16 << 20

ACCEPTED = Accepted()


class Publisher(HubLink):
    """One sender of a client, as the hub sees it."""

    link: ReceiverLink

    def open(self) -> None:
        self.keep()
        self._credit = CREDIT_WITHOUT_PARTITION if self.partition is None else CREDIT
        # What a delay holds up, and when the last of it is due.
        self._held: deque[Delivery] = deque()
        self._held_bytes = 0
        self._due_at = 0.0
        self.link.grant(self._credit, available=_NOTHING)

    def drop(self) -> None:
        super().drop()
        if self.client.is_lost:
            self._held.clear()

    def on_delivery(self, delivery: Delivery) -> None:
        delay_s = self.delay_s()
        if not delay_s and not self._held:
            self._accept(delivery)
            return
        now = self.client.monotonic()
        self._due_at = max(self._due_at, now + delay_s)
        self._held.append(delivery)
        self._held_bytes += len(delivery.payload)
        if self._held_bytes >= MAX_HELD_BYTES and self.link.is_attached and self.link.credit:
            self.link.grant(0)
        self.client.wire.call_later(self._due_at - now, self._release)

    def _release(self) -> None:
        """The oldest delivery that is held up is due: there is a call for each."""
        if self.client.is_lost:
            return
        delivery = self._held.popleft()
        self._held_bytes -= len(delivery.payload)
        self._accept(delivery)
        self.client.flush_soon()

    def _top_up(self) -> None:
        is_due = self.link.credit <= self._credit - TOP_UP_AFTER
        if is_due and self._held_bytes < MAX_HELD_BYTES:
            self.link.grant(self._credit, available=_ANY_NUMBER)

    def _accept(self, delivery: Delivery) -> None:
        broker = self.client.broker
        if self.is_ended or self.is_struck():
            return
        if delivery.size > MAX_MESSAGE_SIZE:
            delivery_id, size = delivery.delivery_id, delivery.size
            self._reject(delivery, message_too_large(delivery_id, size, MAX_MESSAGE_SIZE))
            return
        try:
            arrival = read_delivery(delivery.payload, delivery.message_format)
            self._check_load(arrival)
            broker.publish(self.hub, self.partition, arrival)
        except AmqpError as error:
            self._reject(delivery, as_hub_error(error))
            return
        except HubError as error:
            self._reject(delivery, error)
            return
        broker.counters.deliveries_in += 1
        broker.counters.bytes_in += delivery.size
        self._confirm(delivery)

    def _confirm(self, delivery: Delivery) -> None:
        # The callback must not keep the payload: a slow disk lets many of them wait.
        delivery_id = None if delivery.settled else delivery.delivery_id
        when_durable = self.client.broker.when_durable
        if when_durable is not None:
            when_durable(lambda failure: self._settle_late(delivery_id, failure))
            return
        self._top_up()
        if delivery_id is not None:
            self.link.settle(delivery_id, ACCEPTED)

    def _settle_late(self, delivery_id: int | None, failure: StorageError | None) -> None:
        """Give credit and the outcome once a delivery is on disk: few wait for a slow disk."""
        if not self.link.is_attached or self.client.is_lost:
            return
        self._top_up()
        if delivery_id is None:
            self.client.flush_soon()
            return
        if failure is None:
            self.link.settle(delivery_id, ACCEPTED)
        else:
            self.client.broker.report_refusal(
                "send", f"{self.hub.name}: a send was refused: {failure}"
            )
            self.link.settle(delivery_id, Rejected(self.error(storage_failed())))
        self.client.flush_soon()

    def _reject(self, delivery: Delivery, error: HubError) -> None:
        self.client.broker.counters.deliveries_refused += 1
        self._top_up()
        if not delivery.settled:
            self.link.settle(delivery.delivery_id, Rejected(self.error(error)))

    def _check_load(self, arrival: Arrival) -> None:
        """Lets scripted faults refuse a send. Raises HubError."""
        broker = self.client.broker
        if not broker.faults:
            return
        now = self.client.now()
        fault = broker.faults.take(Kind.SERVER_BUSY, self.target, now)
        if fault is not None:
            raise busy(broker.namespace, fault)
        fault = broker.faults.take(Kind.THROTTLE, self.target, now)
        if fault is None:
            return
        rate = number(fault.parameters.get("events_per_second"))
        allowance = self._allowances(fault).get(fault.id)
        left, is_enough = spend(allowance, rate, len(arrival.events), now)
        self.hub.allowances[fault.id] = left
        if not is_enough:
            raise throttled()

    def _allowances(self, fault: Fault) -> dict[str, Allowance]:
        """What throttle faults still allow; those that have ended go when there is a new one."""
        allowances, faults = self.hub.allowances, self.client.broker.faults
        if fault.id not in allowances:
            for ended in [each for each in allowances if not faults.stands(each)]:
                del allowances[ended]
        return allowances
