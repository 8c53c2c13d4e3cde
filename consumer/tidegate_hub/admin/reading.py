"""What the admin API tells: the hub's state as JSON values. Reads only.

Rules: no key, token or event body is in any of it; offsets are texts, as for every client; times
are UTC in RFC 3339.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tidegate_http.messages import Problem, Response, answer
from tidegate_hub.admin.control import Call
from tidegate_hub.client import Client
from tidegate_hub.conditions import NAMELESS
from tidegate_hub.fault_json import to_json
from tidegate_hub.faults import Fault
from tidegate_hub.feed import Feed
from tidegate_hub.hubs import Hub, Partition
from tidegate_hub.links import HubLink

_MS_PER_HOUR = 3_600_000


def health(_call: Call) -> Response:
    return answer({"status": "ok"})


def stats(call: Call) -> Response:
    broker = call.served.broker
    counters = broker.counters
    logs = [partition.log for hub in broker.hubs for partition in hub.partitions]
    return answer(
        {
            "at": _time(call.now * 1000),
            "events_in": counters.events_in,
            "events_out": counters.events_out,
            "bytes_in": counters.bytes_in,
            "deliveries_in": counters.deliveries_in,
            "deliveries_refused": counters.deliveries_refused,
            "connections_opened": counters.connections_opened,
            "connections": len(call.served.clients),
            "hubs": sum(1 for _ in broker.hubs),
            "partitions": len(logs),
            "events": sum(log.next_sequence - log.first_sequence for log in logs),
            "bytes": sum(log.size_bytes for log in logs),
            "standing_faults": len(broker.faults.list(call.now)),
        }
    )


def list_hubs(call: Call) -> Response:
    return answer({"hubs": [hub_facts(hub) for hub in call.served.broker.hubs]})


def one_hub(call: Call) -> Response:
    return answer(hub_facts(hub_of(call)))


def list_partitions(call: Call) -> Response:
    return answer({"partitions": [_partition(each) for each in hub_of(call).partitions]})


def one_partition(call: Call) -> Response:
    hub, wanted = hub_of(call), call.parameters["partition"]
    for partition in hub.partitions:
        if partition.id == wanted:
            return answer(_partition(partition))
    raise Problem(
        404,
        f'Hub "{hub.name}" has no partition "{wanted[:100]}".',
        expected=f"a number from 0 to {len(hub.partitions) - 1}",
        field="partition",
    )


def list_connections(call: Call) -> Response:
    clients = sorted(call.served.clients, key=lambda client: client.number)
    return answer({"connections": [_connection(client) for client in clients]})


def list_faults(call: Call) -> Response:
    standing = call.served.broker.faults.list(call.now)
    return answer({"faults": [fault_facts(fault) for fault in standing]})


def hub_of(call: Call) -> Hub:
    """The hub that the path names. Raises Problem."""
    hubs, name = call.served.broker.hubs, call.parameters["hub"]
    if name not in hubs:
        raise Problem(
            404, f'There is no hub "{name[:100]}".', expected=hub_names(call), field="hub"
        )
    return hubs.get(name)


def hub_names(call: Call) -> str:
    """The hubs that there are, for an error."""
    names = [hub.name for hub in call.served.broker.hubs]
    if not names:
        return "a hub made before with POST /api/v1/hubs"
    return f"one of {', '.join(names[:10])}{', …' if len(names) > 10 else ''}"


def hub_facts(hub: Hub) -> dict[str, Any]:
    logs = [partition.log for partition in hub.partitions]
    age_ms = hub.retention.max_age_ms
    receivers = sum(isinstance(link, Feed) for link in hub.links)
    return {
        "name": hub.name,
        "partition_count": len(logs),
        "groups": list(hub.groups.values()),
        "created_at": _time(hub.created_ms),
        "retention": {
            "hours": None if age_ms is None else age_ms / _MS_PER_HOUR,
            "bytes": hub.retention.max_bytes,
        },
        "events": sum(log.next_sequence - log.first_sequence for log in logs),
        "bytes": sum(log.size_bytes for log in logs),
        "publishers": len(hub.links) - receivers,
        "receivers": receivers,
    }


def fault_facts(fault: Fault) -> dict[str, Any]:
    return {**to_json(fault), "is_standing": not fault.is_immediate}


def _partition(partition: Partition) -> dict[str, Any]:
    log = partition.log
    return {
        "id": partition.id,
        "first_sequence": log.first_sequence,
        "next_sequence": log.next_sequence,
        "events": log.next_sequence - log.first_sequence,
        "bytes": log.size_bytes,
        "stored_bytes": log.stored_bytes,
        "first_offset": None if log.is_empty else str(log.first_offset),
        "last_offset": str(log.last_offset),
        "first_enqueued_at": None if log.is_empty else _time(log.first_enqueued_ms),
        "last_enqueued_at": _time(log.last_enqueued_ms) if log.next_sequence else None,
        "receivers": [_receiver(feed) for feed in partition.all_feeds()],
    }


def _receiver(feed: Feed) -> dict[str, Any]:
    log = feed.partition.log
    position = max(feed.position, log.first_sequence)
    return {
        "connection": feed.client.number,
        "client": feed.client.container_id,
        "group": feed.group,
        "name": None if feed.name == NAMELESS else feed.name,
        "epoch": feed.epoch,
        "position": position,
        "behind": max(log.next_sequence - position, 0),
        "credit": max(feed.link.credit, 0),
    }


def _connection(client: Client) -> dict[str, Any]:
    peer = client.connection.peer
    said = {} if peer is None else peer.properties or {}
    product = " ".join(str(said[key]) for key in ("product", "version") if key in said)
    links = [context for context in client.contexts() if isinstance(context, HubLink)]
    return {
        "number": client.number,
        "peer": client.peer_name,
        "client": client.container_id,
        "product": product or None,
        "links": [_link(link) for link in links],
    }


def _link(link: HubLink) -> dict[str, Any]:
    is_receiver = isinstance(link, Feed)
    return {
        "role": "receiver" if is_receiver else "publisher",
        "hub": link.hub.name,
        "partition": None if link.partition is None else link.partition.id,
        "group": link.group,
        "epoch": link.epoch if isinstance(link, Feed) else None,
    }


def _time(ms: float) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
