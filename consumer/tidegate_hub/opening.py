"""What happens when a client attaches a link: it becomes a publisher, a feed, requests or answers,
or it is refused with the condition and words of the service.

Rules: a link is checked whole before anything changes; evictions of other receivers come last. A
refusal names the place that was asked for, as far as it exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate_amqp import Described, Error, Link, ReceiverLink, SenderLink, Source, Symbol
from tidegate_amqp.encode import encode_int, encode_uint
from tidegate_amqp.performatives import MAX_ULONG, Attach
from tidegate_amqp.types import Raw
from tidegate_hub import addresses, selectors
from tidegate_hub.broker import MAX_MESSAGE_SIZE
from tidegate_hub.conditions import (
    NAMELESS,
    HubError,
    cbs_is_open,
    entity_not_found,
    internal_error,
    invalid_filter,
    invalid_filter_type,
    system_tracker,
    tracked,
)
from tidegate_hub.faults import Kind, Operation, Target, delay_of
from tidegate_hub.feed import Feed
from tidegate_hub.hubs import Partition
from tidegate_hub.links import HubLink, busy, resource_of, scripted
from tidegate_hub.publisher import Publisher
from tidegate_hub.receivers import Refuse, decide_attach
from tidegate_hub.responder import Answers, Requests
from tidegate_hub.sas import LISTEN, SEND, Claim
from tidegate_hub.storage.errors import StorageError

if TYPE_CHECKING:
    from tidegate_hub.client import Client

EPOCH = "com.microsoft:epoch"
TIMEOUT = "com.microsoft:timeout"
TRACKING_ID = "com.microsoft:tracking-id"
RECEIVER_NAME = "com.microsoft:receiver-name"
RUNTIME_METRIC = "com.microsoft:enable-receiver-runtime-metric"

_SETTLED = 1
_FIRST = 0
# The service's timeout for every link of a partition, for any timeout in the request.
_TIMEOUT_MS = 65_000
_NETWORK_TYPE = 1
# A selector is known by its descriptor, and one without a descriptor by its key. The first code is
# the registered one, the second is that of the service and of the .NET client.
_SELECTOR_NAMES = ("apache.org:selector-filter:string", "jms-selector")
_SERVICE_SELECTOR_CODE = 0x137000000A
_SELECTOR_CODES = (0x468C00000004, _SERVICE_SELECTOR_CODE)
# How much of a name that a client sent is given back to it.
_SHOWN = 256


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
        delay_s = delay_of(faults, target, now)
        if delay_s:
            client.wire.call_later(delay_s, lambda: _open_late(client, link, attach, address))
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
        words = tracked(
            error.description, client.tracking_id, _place(client, address), client.now_iso()
        )
        link.refuse(Error(error.condition, words))


def _place(client: Client, address: addresses.Address) -> str:
    """The name by which the service tracks an address; the namespace, if there is no such hub."""
    broker = client.broker
    if not isinstance(address, addresses.Publish | addresses.Receive):
        return broker.namespace
    if address.hub not in broker.hubs:
        return broker.namespace
    partition = None if address.partition is None else address.partition[:_SHOWN]
    group = address.group[:_SHOWN] if isinstance(address, addresses.Receive) else None
    return system_tracker(broker.namespace, broker.hubs.get(address.hub).name, partition, group)


def _open_request_link(client: Client, link: Link, attach: Attach, node: str) -> None:
    if node == addresses.CBS:
        for other in client.contexts():
            is_one = isinstance(other, Requests | Answers) and other.node == node
            if is_one and type(other.link) is type(link) and not other.link.is_gone:
                raise cbs_is_open(client.container_id)
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
        properties=_publisher_properties(client, attach, partition),
        rcv_settle_mode=_FIRST,
    )
    publisher.open()


def _open_feed(client: Client, link: Link, attach: Attach, address: addresses.Receive) -> None:
    assert isinstance(link, SenderLink)
    path = address.path
    hub = client.broker.hubs.get(address.hub, path)
    group = hub.group(address.group, _place(client, address))
    partition = hub.partition(address.partition)
    target = Target(Operation.ATTACH, hub.name, partition.id, group)
    allowed_until = _check_attach(client, target, LISTEN, path)
    feed = Feed(client, link, hub, partition, group)
    feed.path, feed.allowed_until = path, allowed_until
    properties = attach.properties or {}
    epoch = properties.get(EPOCH)
    feed.epoch = epoch if isinstance(epoch, int) else None
    feed.name = str(properties.get(RECEIVER_NAME) or NAMELESS)[:_SHOWN]
    feed.wants_metrics = RUNTIME_METRIC in (attach.desired_capabilities or ())
    selector = selectors.parse(_selector(attach))
    answered = attach._replace(source=_answered_source(attach.source))
    try:
        feed.expire(target)
    except StorageError as error:
        client.broker.report(f"{hub.name}/{partition.id}: {error}")
        raise internal_error() from error
    position = selectors.resolve(selector, partition.log)
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
        answered,
        max_message_size=MAX_MESSAGE_SIZE,
        properties=_feed_properties(client, attach),
        snd_settle_mode=_SETTLED,
    )
    feed.open(position)


def _selector(attach: Attach) -> str | None:
    """The text of the one selector that may be there. Raises HubError."""
    texts = [
        _selector_text(attach.name, str(key), value)
        for key, value in (attach.source.filter or {}).items()
    ]
    if len(texts) > 1:
        raise invalid_filter(", ".join(texts))
    return texts[0] if texts else None


def _selector_text(link: str, key: str, value: Any) -> str:
    kind, text = (value.descriptor, value.value) if isinstance(value, Described) else (key, value)
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        raise invalid_filter_type(link, "null" if text is None else type(text).__name__, key)
    if kind not in _SELECTOR_CODES and str(kind) not in _SELECTOR_NAMES:
        raise invalid_filter_type(link, str(kind)[:_SHOWN], key)
    return text


def _answered_source(source: Source) -> Source:
    """The source as the service gives it back: its filter has the service's own descriptor."""
    filters = {
        key: Described(_SERVICE_SELECTOR_CODE, each.value if isinstance(each, Described) else each)
        for key, each in (source.filter or {}).items()
    }
    return source._replace(filter=filters or None)


def _publisher_properties(
    client: Client, attach: Attach, partition: Partition | None
) -> dict[str, Any] | None:
    """The properties in the reply to a sender that sent properties. Recorded."""
    asked = attach.properties
    if not asked:
        return None
    if partition is not None:
        return _properties(_about(client))
    reply: dict[str, Any] = {}
    if isinstance(asked.get(TIMEOUT), int):
        reply[TIMEOUT] = Raw(encode_uint(asked[TIMEOUT] & 0xFFFFFFFF))
    return _properties({**reply, TRACKING_ID: client.tracking_id})


def _feed_properties(client: Client, attach: Attach) -> dict[str, Any] | None:
    """The properties in the reply to a receiver that sent properties. Recorded."""
    asked = attach.properties
    if not asked:
        return None
    identity = client.access.identity
    reply = _about(client)
    if isinstance(asked.get(EPOCH), int):
        reply[EPOCH] = asked[EPOCH]
    reply["client-auth-id"] = identity.app_id
    reply["client-auth-type"] = Raw(encode_int(identity.auth_code))
    reply["client-ip"] = client.peer_name
    reply["client-network-type"] = Raw(encode_int(_NETWORK_TYPE))
    return _properties(reply)


def _about(client: Client) -> dict[str, Any]:
    """The properties in the reply to every link of a partition."""
    identity = client.access.identity
    return {
        TIMEOUT: Raw(encode_uint(_TIMEOUT_MS)),
        "app-id": identity.app_id,
        "auth-type": identity.auth_type,
        "client-id": client.container_id,
    }


def _properties(reply: dict[str, Any]) -> dict[str, Any]:
    return {Symbol(key): value for key, value in reply.items()}
