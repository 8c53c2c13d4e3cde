"""What every kind of link at the hub has in common: where it is, and how it is told to go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate_amqp import Error, Link
from tidegate_hub.conditions import HubError, server_busy, system_tracker, tracked
from tidegate_hub.faults import (
    Fault,
    Kind,
    Operation,
    ParameterValue,
    Target,
    delay_of,
    number,
)
from tidegate_hub.hubs import Hub, Partition
from tidegate_hub.sas import SEND, Claim

if TYPE_CHECKING:
    from tidegate_hub.client import Client


class HubLink:
    """A link of a client to a hub. `context` of the AMQP link is one of these."""

    operation = Operation.SEND
    claim: Claim = SEND

    def __init__(
        self,
        client: Client,
        link: Link,
        hub: Hub,
        partition: Partition | None,
        group: str | None = None,
    ) -> None:
        self.client = client
        self.link = link
        self.hub = hub
        self.partition = partition
        self.group = group
        # The path for which there was a right to be here, and when that right lapses, in seconds
        # since 1970; None: never.
        self.path = hub.name
        self.allowed_until: float | None = None
        # Whether the hub has ended the link: what still came over it is passed over.
        self.is_ended = False

    @property
    def target(self) -> Target:
        partition_id = None if self.partition is None else self.partition.id
        return Target(self.operation, self.hub.name, partition_id, self.group)

    def error(self, error: HubError) -> Error:
        """The error as it goes over the wire, with the ids by which the service tracks it."""
        place = system_tracker(
            self.client.broker.namespace,
            self.hub.name,
            None if self.partition is None else self.partition.id,
            self.group,
        )
        return Error(
            error.condition,
            tracked(error.description, self.client.tracking_id, place, self.client.now_iso()),
        )

    def detach(self, error: HubError) -> None:
        """Ends the link, telling the client why."""
        self.is_ended = True
        if self.link.is_attached:
            self.link.detach(self.error(error))
        self.drop()
        self.client.flush_soon()

    def keep(self) -> None:
        """The link is open: it counts at the hub, and goes when its connection does."""
        self.hub.links.add(self)
        self.client.links.add(self)

    def drop(self) -> None:
        """The link is gone: forgets it."""
        self.hub.links.discard(self)
        self.client.links.discard(self)

    @property
    def resource(self) -> str:
        """What the link is for, as the service writes it in its refusals."""
        return resource_of(self.client.broker.namespace, self.path)

    def has_lapsed(self, now: float) -> bool:
        """Whether the right to be here has ended, with no newer token to go on with."""
        if self.allowed_until is None or now < self.allowed_until:
            return False
        try:
            access = self.client.access
            self.allowed_until = access.require(self.claim, self.path, now, self.resource)
        except HubError:
            return True
        return False

    def delay_s(self) -> float:
        """How long a scripted fault holds this operation up; 0 where none does."""
        faults = self.client.broker.faults
        return delay_of(faults, self.target, self.client.now()) if faults else 0.0

    def is_struck(self) -> bool:
        """Lets scripted faults end the link or its connection; True when one did."""
        client = self.client
        faults = client.broker.faults
        if not faults:
            return False
        now = client.now()
        if faults.take(Kind.DROP_CONNECTION, self.target, now):
            client.abort()
            return True
        fault = faults.take(Kind.DETACH_LINK, self.target, now)
        if fault is not None:
            self.detach(scripted(fault.parameters))
            return True
        return False


def resource_of(namespace: str, path: str) -> str:
    return f"sb://{namespace}/{path.lower()}"


def busy(namespace: str, fault: Fault) -> HubError:
    """What a `server_busy` fault makes the hub say."""
    return server_busy(namespace, int(number(fault.parameters.get("wait_seconds", 4))))


def scripted(parameters: Mapping[str, ParameterValue]) -> HubError:
    """The error that a detach fault names."""
    return HubError(
        str(parameters.get("condition", "amqp:link:detach-forced")),
        str(parameters.get("description", "The link was detached by a scripted fault.")),
    )


def expire(partition: Partition, fault: Fault) -> None:
    """Drops the events that an `expire_retention` fault means. Raises StorageError."""
    log = partition.log
    before = fault.parameters.get("before_sequence", log.next_sequence)
    wanted = before if isinstance(before, int) else log.next_sequence
    log.trim_to(min(max(wanted, log.first_sequence), log.next_sequence))
