"""What the admin API needs of the hub server, and what its document says of itself."""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias

from tidegate_http import openapi, routes
from tidegate_hub.admin.schemas import SCHEMAS
from tidegate_hub.broker import Broker
from tidegate_hub.client import Client
from tidegate_hub.faults import Fault


class HubControl(Protocol):
    """What the API needs of the hub server."""

    broker: Broker
    clients: set[Client]

    def inject(self, fault: Fault) -> Fault: ...


Call: TypeAlias = routes.Call[HubControl]
Route: TypeAlias = routes.Route[HubControl]

ABOUT: Final = openapi.About(
    title="tidegate-hub admin API",
    description="Looks into a running tidegate-hub, changes it, and makes it fail on "
    "demand. It has no authentication: keep its port to yourself.",
    schemas=SCHEMAS,
    parameters={
        "hub": ("The name of a hub; case does not matter.", "telemetry"),
        "partition": ("The id of a partition.", "0"),
        "number": ("The number of a connection.", "1"),
        "id": ("The id of a fault.", "fault-1"),
    },
)
