"""The links of `$cbs` and `$management`: requests come in on one, answers go out on the other.

Rules: an answer goes to the link whose target the request named; answers wait for credit in the
order of their requests, and a link on which too many wait is detached; as on the service, they are
sent unsettled with a counted tag.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tidegate_amqp import Accepted, Error
from tidegate_amqp.events import Delivery
from tidegate_amqp.receiver import ReceiverLink
from tidegate_amqp.sections import Message, read_message
from tidegate_amqp.sender import SenderLink
from tidegate_hub import management, replies
from tidegate_hub.access_conditions import invalid_signature, too_many_answers
from tidegate_hub.addresses import CBS
from tidegate_hub.conditions import HubError, entity_not_found, tracked
from tidegate_hub.faults import Kind, Operation, Target, delay_of
from tidegate_hub.links import busy, resource_of
from tidegate_hub.sas import resource_path

if TYPE_CHECKING:
    from tidegate_hub.client import Client

CREDIT = 100
MAX_WAITING_ANSWERS = 1_000
# Of one connection: a message id, which an answer repeats, may be large.
MAX_WAITING_ANSWER_BYTES = 4 << 20
_LOW_CREDIT = 50
# The length to which a name from a client is cut in an error.
_SHOWN = 256


class Answers:
    """The link on which answers go out."""

    def __init__(self, client: Client, link: SenderLink, node: str, address: Any) -> None:
        self.client = client
        self.link = link
        self.node = node
        self.address = address
        self._waiting: deque[bytes] = deque()
        self._sent = 0

    def send(self, answer: bytes) -> None:
        self._waiting.append(answer)
        self.client.waiting_answer_bytes += len(answer)
        self.pump()
        count = len(self._waiting)
        is_too_much = self.client.waiting_answer_bytes > MAX_WAITING_ANSWER_BYTES
        if count > MAX_WAITING_ANSWERS or (count and is_too_much):
            self.drop()
            error = too_many_answers(count)
            self.link.detach(Error(error.condition, self.client.tracked(error.description)))

    def pump(self) -> None:
        while self._waiting and self.link.is_attached and self.link.sendable > 0:
            self._sent += 1
            answer = self._waiting.popleft()
            self.client.waiting_answer_bytes -= len(answer)
            self.link.send(answer, tag=self._sent.to_bytes(4, "little"))
        if not self._waiting:
            self.link.finish_drain()

    def drop(self) -> None:
        """Forget the answers that wait, because the link is gone."""
        self.client.waiting_answer_bytes -= sum(map(len, self._waiting))
        self._waiting.clear()


class Requests:
    """The link on which requests come in."""

    def __init__(self, client: Client, link: ReceiverLink, node: str) -> None:
        self.client = client
        self.link = link
        self.node = node
        # Requests that a fault delays. They use credit until they are answered.
        self._unanswered = 0

    def open(self) -> None:
        self.link.grant(CREDIT, available=0)

    def on_delivery(self, delivery: Delivery) -> None:
        if not delivery.settled:
            self.link.settle(delivery.delivery_id, Accepted())
            # As on the service, the outcome of a request comes before its answer.
            self.link.session.flush_settled()
        self._unanswered += 1
        message = read_message(delivery.payload)
        client, target = self.client, self._target(message)
        faults, now = client.broker.faults, client.now()
        if faults.take(Kind.DROP_CONNECTION, target, now):
            client.abort()
            return
        delay_s = delay_of(faults, target, now)
        if delay_s:
            client.wire.call_later(delay_s, lambda: self._answer(message, target))
        else:
            self._answer(message, target)

    def _target(self, message: Message) -> Target:
        """The place that a request is about, as far as it says one."""
        request = message.application_properties
        if self.node == CBS:
            hub = resource_path(str(request.get("name", ""))).partition("/")[0]
            return Target(Operation.TOKEN, hub or None)
        partition = request.get("partition")
        return Target(
            Operation.MANAGEMENT,
            str(request.get("name", "")),
            None if partition is None else str(partition),
        )

    def _answer(self, message: Message, target: Target) -> None:
        self._unanswered -= 1
        if self.client.is_lost:
            return
        if self.link.credit + self._unanswered < _LOW_CREDIT and self.link.is_attached:
            self.link.grant(CREDIT - self._unanswered, available=0)
        try:
            answer = self._carry_out(message, target)
        except HubError as error:
            answer = replies.refused(message.message_id, error)
        link = self.client.answers_for(self.link.session, self.node, message.reply_to)
        if link is not None:
            link.send(answer)
            self.client.flush_soon()

    def _carry_out(self, message: Message, target: Target) -> bytes:
        """Does what a request asks for. Raises HubError."""
        client, broker = self.client, self.client.broker
        request = message.application_properties
        if self.node == CBS:
            if broker.faults.take(Kind.REFUSE_TOKEN, target, client.now()):
                raise invalid_signature()
            client.access.put_token(request, message.value, client.now(), self._require_entity)
            return replies.token_accepted(message.message_id)
        fault = broker.faults.take(Kind.SERVER_BUSY, target, client.now())
        if fault is not None:
            raise busy(broker.namespace, fault)
        token, hub = request.get("security_token"), target.hub or ""
        client.access.check_token(token, hub, client.now(), resource_of(broker.namespace, hub))
        return replies.read_answered(message.message_id, management.read(broker.hubs, request))

    def _require_entity(self, audience: str) -> None:
        """Refuses a token for an event hub that does not exist, as the service does."""
        client, broker = self.client, self.client.broker
        hub = resource_path(audience).partition("/")[0]
        if not hub or hub.startswith("$") or hub in broker.hubs:
            return
        error = entity_not_found(audience)
        place = f"{broker.namespace}:{hub[:_SHOWN]}"
        words = tracked(error.description, client.tracking_id, place, client.now_iso())
        raise HubError(error.condition, words)
