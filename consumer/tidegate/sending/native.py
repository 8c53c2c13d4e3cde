"""Sends hand-built batches over our own AMQP (`--transport native`).

Rules:
- Many batches are under way at once, but never more than so many bytes: `send` waits for room.
- What may pass is tried again, with pauses that grow, for `patience_s`; what will not come right by
  itself is SendError at once.
- The connection, its tokens and its ways of failing are those of the native source.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tidegate.ports import SourceError
from tidegate.sending.outgoing import Outgoing
from tidegate.sending.outlet import Outlet
from tidegate.sending.packing import PackingError, packed
from tidegate.sending.sending import SendError
from tidegate.sources.native.backoff import pause_s
from tidegate.sources.native.connection import HubConnection
from tidegate.sources.native.connector import Connector
from tidegate.sources.native.endpoint import endpoint_of
from tidegate.sources.native.refusals import SEND, Kind, passing
from tidegate.sources.native.settings import NativeSettings
from tidegate.sources.native.tokens import Credential, Tokens
from tidegate_amqp import Source, Target

# Bytes of batches that wait or are under way, of all addresses together.
_MOST_UNFINISHED = 16 << 20


class NativeSender:
    """One connection, and a link for each address that is sent to.

    `address` is a connection string, or with a credential the host name of the namespace.
    """

    def __init__(
        self,
        address: str,
        hub: str,
        credential: Credential | None = None,
        settings: NativeSettings | None = None,
    ) -> None:
        endpoint = endpoint_of(address)
        self._settings = (settings or NativeSettings()).checked()
        tokens = Tokens(endpoint, hub, credential, SEND)
        self._connector = Connector(endpoint, tokens, self._settings)
        self._hub = hub
        self._outlets: dict[str, Outlet] = {}
        self._connection: HubConnection | None = None
        self._failures = 0
        self._failing_since: float | None = None
        self._accepted_then = 0

    @property
    def accepted(self) -> int:
        """Events that the service has."""
        return sum(outlet.accepted for outlet in self._outlets.values())

    @property
    def _unfinished(self) -> int:
        return sum(outlet.unfinished_bytes for outlet in self._outlets.values())

    async def send(self, events: Sequence[Outgoing]) -> None:
        try:
            # A link says how much one message may hold: it comes before the packing.
            for partition in {event.partition for event in events}:
                await self._outlet(partition)
            for batch in packed(events, self._limit()):
                self._outlets[batch.partition].put(batch)
                self._flush_line()
                await self._until(_MOST_UNFINISHED)
        except PackingError as error:
            raise SendError(str(error)) from error

    async def flush(self) -> None:
        await self._until(0)

    async def close(self) -> None:
        await self._connector.close()

    def _limit(self) -> int:
        limits = [outlet.limit for outlet in self._outlets.values()]
        return min(limits)

    async def _outlet(self, partition: str) -> None:
        if partition not in self._outlets:
            address = f"{self._hub}/Partitions/{partition}" if partition else self._hub
            outlet = self._outlets[partition] = Outlet(
                address, f"{self._connector.place}/{address}"
            )
            await self._attach(outlet)

    async def _until(self, most: int) -> None:
        """Waits until no more than so many bytes are unfinished. Raises SendError."""
        while True:
            for outlet in self._outlets.values():
                outlet.changed.clear()
            for outlet in self._outlets.values():
                if outlet.trouble is not None:
                    await self._mend(outlet)
            if self._unfinished <= most:
                return
            await self._changed()
            self._flush_line()

    async def _changed(self) -> None:
        waits = [
            asyncio.ensure_future(outlet.changed.wait())
            for outlet in self._outlets.values()
            if outlet.unfinished_bytes
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _mend(self, outlet: Outlet) -> None:
        """Tries again what may pass. Raises SendError for what may not."""
        trouble, outlet.trouble = outlet.trouble, None
        assert trouble is not None
        now = asyncio.get_running_loop().time()
        if self._failing_since is None or self.accepted > self._accepted_then:
            self._failing_since, self._failures = now, 0
        self._accepted_then = self.accepted
        is_over = now - self._failing_since > self._settings.patience_s
        if trouble.kind is Kind.FATAL or is_over:
            raise SendError(str(trouble.error)) from trouble.error
        self._failures += 1
        if trouble.wants_token:
            self._connector.wants_token()
        await asyncio.sleep(pause_s(self._failures, random.random, trouble.at_least_s))
        if outlet.link is None:
            await self._attach(outlet)
        else:
            outlet.pump()
            self._flush_line()

    async def _attach(self, outlet: Outlet) -> None:
        """Makes the link; what goes wrong is the outlet's trouble, or SendError where fatal."""
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                self._connection = await self._connector.connection()
                outlet.changed.clear()
                outlet.link = await self._connection.sender(
                    outlet, Source(self._connection.container), Target(outlet.address)
                )
                await outlet.changed.wait()
        except SourceError as error:
            if error.is_fatal:
                raise SendError(str(error)) from error
            outlet.on_trouble(passing(str(error)))
        except TimeoutError:
            said = f"{outlet.place}: no answer within {self._settings.timeout_s:g} s"
            outlet.on_trouble(passing(said))

    def _flush_line(self) -> None:
        if self._connection is not None:
            self._connection.flush()
