"""What both transports offer, and the errors that they end with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidegate.sending.outgoing import Outgoing


class SendError(Exception):
    """Events could not be sent; the message says why and what to do."""


class Sender(Protocol):
    """Sends events to one hub. Events of one key or partition arrive in their order."""

    @property
    def accepted(self) -> int:
        """Events that the service has."""

    async def send(self, events: Sequence[Outgoing]) -> None:
        """Takes events; returns when there is room for more. Raises SendError."""

    async def flush(self) -> None:
        """Returns when the service has everything. Raises SendError."""

    async def close(self) -> None: ...
