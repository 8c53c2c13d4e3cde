"""The hub as a Python worker of Spark's reads it: where it is, and how one is let in.

Rules: it goes to executors with each task, so it is small and has no other settings of the group;
two that are equal are one connection. Our own receiver reads: the SDK is of no use here, because
its events come one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tidegate.settings import SettingsError
from tidegate.sources.eventhubs import NativeSettings, NativeSource, Transport

_READER_BYTES = 4 << 20
# A receive gives all that there is.
_ALL = 1 << 20
# Nothing came for so long: the hub is asked whether it still can.
_QUIET_S = 1.0


@dataclass(frozen=True, slots=True)
class HubPlace:
    """See the module."""

    # A connection string, or with an identity the host name of the namespace.
    address: str = field(repr=False)
    hub: str
    group: str
    has_identity: bool = False
    has_web_sockets: bool = False
    ca_file: str = ""
    buffer_bytes: int = 64 << 20

    def source(self, credential: Any = None) -> NativeSource:
        return NativeSource(
            self.address,
            self.hub,
            self.group,
            credential=credential,
            transport=Transport.WEBSOCKET if self.has_web_sockets else Transport.TCP,
            settings=NativeSettings(
                buffer_bytes=self.buffer_bytes,
                reader_bytes=min(_READER_BYTES, self.buffer_bytes),
                batch_events=_ALL,
                quiet_s=_QUIET_S,
                tells_end=False,
                ca_file=self.ca_file,
            ),
        )


def hub_of(setup: Any) -> HubPlace:
    """Of a group that was set up (commands/wiring.py). Raises SettingsError."""
    spec = setup.group.spec.source.hubs
    if spec.transport != "native":
        raise SettingsError(
            f"spec.source.eventHubs.transport {spec.transport}: Spark reads by transport native "
            "alone: leave it out"
        )
    return HubPlace(
        setup.address,
        spec.hub,
        spec.consumer_group,
        has_identity=spec.namespace is not None,
        has_web_sockets=spec.web_sockets,
        ca_file=spec.ca_file or "",
        buffer_bytes=spec.buffer_bytes,
    )
