"""A link on which a client sends events.

Rules: deliveries of a link are stored in the order in which they came, also behind a delay; each
is answered once, after it is stored (on disk, where the fsync policy says so).
"""

from __future__ import annotations

from tidegate_amqp import Accepted, AmqpError, Rejected
from tidegate_amqp.events import Delivery
from tidegate_amqp.receiver import ReceiverLink
from tidegate_hub.broker import MAX_MESSAGE_SIZE, as_hub_error
from tidegate_hub.conditions import (
    HubError,
    internal_error,
    message_too_large,
    throttled,
)
from tidegate_hub.faults import Allowance, Kind, spend
from tidegate_hub.ingest import Arrival, read_delivery
from tidegate_hub.links import HubLink, busy, number
from tidegate_hub.storage.errors import StorageError

CREDIT = 1_000
# The service tops the credit up after this many deliveries.
TOP_UP_AFTER = 100

ACCEPTED = Accepted()


class Publisher(HubLink):
    """One sender of a client, as the hub sees it."""

    link: ReceiverLink

    def open(self) -> None:
        self.hub.links.add(self)
        self.link.grant(CREDIT)
        self._held: list[Delivery] = []
        self._is_held = False

    def on_delivery(self, delivery: Delivery) -> None:
        if self._is_held:
            self._held.append(delivery)
            return
        delay_s = self.delay_s()
        if delay_s:
            self._held.append(delivery)
            self._is_held = True
            self.client.wire.call_later(delay_s, self._release)
            return
        self._accept(delivery)

    def _release(self) -> None:
        held, self._held, self._is_held = self._held, [], False
        for delivery in held:
            if not self.client.is_lost:
                self._accept(delivery)
        self.client.flush_soon()

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
        if self.link.credit <= CREDIT - TOP_UP_AFTER:
            self.link.grant(CREDIT)
        if delivery.settled:
            return
        when_durable = self.client.broker.when_durable
        if when_durable is None:
            self.link.settle(delivery.delivery_id, ACCEPTED)
        else:
            when_durable(lambda failure: self._settle_late(delivery.delivery_id, failure))

    def _settle_late(self, delivery_id: int, failure: StorageError | None) -> None:
        if not self.link.is_attached or self.client.is_lost:
            return
        if failure is None:
            self.link.settle(delivery_id, ACCEPTED)
        else:
            self.client.broker.report_refusal(f"{self.hub.name}: a send was refused: {failure}")
            self.link.settle(delivery_id, Rejected(self.error(internal_error())))
        self.client.flush_soon()

    def _reject(self, delivery: Delivery, error: HubError) -> None:
        self.client.broker.counters.deliveries_refused += 1
        if self.link.credit <= CREDIT - TOP_UP_AFTER:
            self.link.grant(CREDIT)
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
        allowances = self.hub.allowances
        allowance: Allowance | None = allowances.get(fault.id)
        allowances[fault.id], is_enough = spend(allowance, rate, len(arrival.events), now)
        if not is_enough:
            raise throttled()
