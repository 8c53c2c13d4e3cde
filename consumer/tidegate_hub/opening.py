"""What happens when a client attaches a link: it becomes a publisher, a feed, requests or answers,
or it is refused with the condition and words of the service.

Rule: a link is checked whole before anything changes; evictions of other receivers come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate_amqp import Described, Error, Link, ReceiverLink, SenderLink, Symbol
from tidegate_amqp.encode import encode_uint
from tidegate_amqp.performatives import MAX_ULONG, Attach
from tidegate_amqp.types import Raw
from tidegate_hub import addresses, selectors
from tidegate_hub.broker import MAX_MESSAGE_SIZE
from tidegate_hub.conditions import HubError, entity_not_found
from tidegate_hub.faults import Kind, Operation, Target
from tidegate_hub.feed import Feed
from tidegate_hub.links import HubLink, busy, number, resource_of, scripted
from tidegate_hub.publisher import Publisher
from tidegate_hub.receivers import Refuse, decide_attach
from tidegate_hub.responder import Answers, Requests
from tidegate_hub.sas import LISTEN, SEND, Claim

if TYPE_CHECKING:
    from tidegate_hub.client import Client

EPOCH = "com.microsoft:epoch"
TIMEOUT = "com.microsoft:timeout"
RECEIVER_NAME = "com.microsoft:receiver-name"
RUNTIME_METRIC = "com.microsoft:enable-receiver-runtime-metric"

_SETTLED = 1


def open_link(client: Client, link: Link, attach: Attach) -> None:
    """Accepts or refuses a link that a client attached; a scripted fault may delay that."""
    is_publisher = isinstance(link, ReceiverLink)
    end = attach.target if is_publisher else attach.source
    address = addresses.parse(getattr(end, "address", None), is_publisher=is_publisher)
    faults, now, target = client.broker.faults, client.now(), _target(address)
    if faults and target is not None:
        if faults.take(Kind.DROP_CONNECTION, target, now):
            client.abort()
            return
        delay = faults.take(Kind.DELAY, target, now)
        if delay is not None:
            seconds = number(delay.parameters.get("seconds"))
            client.wire.call_later(seconds, lambda: _open_late(client, link, attach, address))
            return
    _open(client, link, attach, address)


def _target(address: addresses.Address) -> Target | None:
    """The place by which scripted faults know the address of a link to a hub."""
    match address:
        case addresses.Publish():
            return Target(Operation.ATTACH, address.hub, address.partition)
        case addresses.Receive():
            return Target(Operation.ATTACH, address.hub, address.partition, address.group)
    return None


def _open_late(client: Client, link: Link, attach: Attach, address: addresses.Address) -> None:
    if not client.is_lost and not link.is_gone:
        _open(client, link, attach, address)
        client.flush()


def _open(client: Client, link: Link, attach: Attach, address: addresses.Address) -> None:
    try:
        match address:
            case addresses.Request(node):
                _open_request_link(client, link, attach, node)
            case addresses.Publish():
                _open_publisher(client, link, attach, address)
            case addresses.Receive():
                _open_feed(client, link, attach, address)
            case addresses.Unknown(path):
                raise entity_not_found(path)
    except HubError as error:
        link.refuse(Error(error.condition, client.tracked(error.description)))


def _open_request_link(client: Client, link: Link, attach: Attach, node: str) -> None:
    link.accept(attach, max_message_size=MAX_ULONG)
    if isinstance(link, ReceiverLink):
        link.max_message_size = MAX_MESSAGE_SIZE
        requests = Requests(client, link, node)
        link.context = requests
        requests.open()
    elif isinstance(link, SenderLink):
        address = getattr(attach.target, "address", None)
        link.context = Answers(client, link, node, address)


def _check_attach(client: Client, target: Target, claim: Claim, path: str) -> float | None:
    """Faults first, then the right to be here. Raises HubError."""
    broker = client.broker
    if broker.faults:
        now = client.now()
        fault = broker.faults.take(Kind.SERVER_BUSY, target, now)
        if fault is not None:
            raise busy(broker.namespace, fault)
        fault = broker.faults.take(Kind.DETACH_LINK, target, now)
        if fault is not None:
            raise scripted(fault.parameters)
    resource = resource_of(broker.namespace, path)
    return client.access.require(claim, path, client.now(), resource)


def _open_publisher(client: Client, link: Link, attach: Attach, address: addresses.Publish) -> None:
    assert isinstance(link, ReceiverLink)
    path = address.path
    hub = client.broker.hubs.get(address.hub, path)
    partition = None if address.partition is None else hub.partition(address.partition)
    target = Target(Operation.ATTACH, hub.name, address.partition)
    allowed_until = _check_attach(client, target, SEND, path)
    publisher = Publisher(client, link, hub, partition)
    publisher.path, publisher.allowed_until = path, allowed_until
    link.context = publisher
    link.max_message_size = MAX_MESSAGE_SIZE
    link.accept(
        attach,
        max_message_size=MAX_MESSAGE_SIZE,
        properties=_reply_properties(client, attach),
    )
    publisher.open()


def _open_feed(client: Client, link: Link, attach: Attach, address: addresses.Receive) -> None:
    assert isinstance(link, SenderLink)
    path = address.path
    hub = client.broker.hubs.get(address.hub, path)
    group = hub.group(address.group, path)
    partition = hub.partition(address.partition)
    target = Target(Operation.ATTACH, hub.name, partition.id, group)
    allowed_until = _check_attach(client, target, LISTEN, path)
    feed = Feed(client, link, hub, partition, group)
    feed.path, feed.allowed_until = path, allowed_until
    properties = attach.properties or {}
    epoch = properties.get(EPOCH)
    feed.epoch = epoch if isinstance(epoch, int) else None
    feed.name = str(properties.get(RECEIVER_NAME) or "nil")
    feed.wants_metrics = RUNTIME_METRIC in (attach.desired_capabilities or ())
    position = selectors.resolve(selectors.parse(_selector(attach)), partition.log)
    current = [other.as_receiver() for other in partition.feeds[group]]
    decision = decide_attach(current, feed.as_receiver())
    if isinstance(decision, Refuse):
        raise decision.error
    for eviction in decision.evict:
        evicted = eviction.receiver.key
        assert isinstance(evicted, HubLink)
        evicted.detach(eviction.error)
    link.context = feed
    link.accept(
        attach,
        max_message_size=MAX_MESSAGE_SIZE,
        properties=_reply_properties(client, attach),
        snd_settle_mode=_SETTLED,
    )
    feed.open(position)


def _selector(attach: Attach) -> str | None:
    """The text of the one filter that may be there."""
    for value in (attach.source.filter or {}).values():
        text: Any = value.value if isinstance(value, Described) else value
        if isinstance(text, bytes):
            return text.decode("utf-8", "replace")
        return None if text is None else str(text)
    return None


def _reply_properties(client: Client, attach: Attach) -> dict[str, Any]:
    """What the service says of the link and its client."""
    asked = attach.properties or {}
    reply: dict[str, Any] = {}
    if isinstance(asked.get(TIMEOUT), int):
        reply[TIMEOUT] = Raw(encode_uint(asked[TIMEOUT] & 0xFFFFFFFF))
    if isinstance(asked.get(EPOCH), int):
        reply[EPOCH] = asked[EPOCH]
    reply["client-id"] = client.container_id
    reply["client-ip"] = client.peer_name
    return {Symbol(key): value for key, value in reply.items()}
