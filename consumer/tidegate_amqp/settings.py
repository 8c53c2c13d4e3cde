"""What one end of a connection offers its peer. The defaults are what Event Hubs says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .composites import Error
from .sasl import SaslInit


def _accept_all(_init: SaslInit) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    container_id: str
    hostname: str | None = ""
    max_frame_size: int = 65_536
    channel_max: int = 4_999
    idle_time_out_ms: int | None = 120_000
    inactivity_limit_ms: int = 240_000
    handle_max: int = 255
    incoming_window: int = 5_000
    outgoing_window: int = 65_536
    # Limits for one peer; None: no limit.
    max_links: int | None = None
    max_attach_size: int | None = None
    max_unfinished_bytes: int | None = None
    # The most frames that one call of `Connection.receive` handles; None: no limit.
    frames_a_turn: int | None = None
    # The accepting end: whether the SASL mechanism and response that a peer chose will do.
    accepts_sasl: Callable[[SaslInit], bool] = _accept_all
    # The initiating end: what it says of itself.
    sasl_mechanism: str = "ANONYMOUS"
    sasl_response: bytes = b""

    def inactivity_error(self) -> Error:
        return Error(
            "amqp:connection:forced",
            f"The connection was inactive for more than the allowed {self.inactivity_limit_ms} "
            f"milliseconds and is closed by container '{self.container_id}'.",
        )
