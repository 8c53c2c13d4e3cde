"""Carries out the faults that act at once, on what exists when they are injected."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate_hub.broker import Broker
from tidegate_hub.client import Client
from tidegate_hub.faults import Fault, Kind
from tidegate_hub.hubs import Partition
from tidegate_hub.links import HubLink, expire, scripted


def strike(broker: Broker, clients: Iterable[Client], fault: Fault) -> None:
    """Does what an immediate fault says."""
    if fault.kind is Kind.EXPIRE_RETENTION:
        for partition in _partitions(broker, fault):
            expire(partition, fault)
        return
    places = (fault.hub, fault.partition, fault.group, fault.parameters.get("on"))
    is_anywhere = not any(places)
    for client in list(clients):
        struck = [link for link in _links(client) if _is_at(link, fault)]
        if fault.kind is Kind.DROP_CONNECTION:
            if struck or is_anywhere:
                client.abort()
        else:
            for link in struck:
                link.detach(scripted(fault.parameters))


def _links(client: Client) -> list[HubLink]:
    return [context for context in client.contexts() if isinstance(context, HubLink)]


def _is_at(link: HubLink, fault: Fault) -> bool:
    partition_id = None if link.partition is None else link.partition.id
    on = fault.parameters.get("on")
    is_meant = not isinstance(on, tuple) or link.operation in on
    return is_meant and fault.is_at(link.hub.name, partition_id, link.group)


def _partitions(broker: Broker, fault: Fault) -> list[Partition]:
    return [
        partition
        for hub in broker.hubs
        for partition in hub.partitions
        if fault.is_at(hub.name, partition.id, None)
    ]
