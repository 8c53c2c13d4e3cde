"""Event Hubs by our own receiver (`transport: native`): one connection for all partitions.

Rules:
- A hub's partitions, links, requests and token share one connection; what is lost is made again.
- Credit is bytes: what waits in all readers together stays below the settings' limit.
- What this receiver does not understand is NotUnderstoodError: see choose.py for who reads then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from tidegate.model import BEGINNING, PartitionEnd, PartitionId, Position, Rewind
from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.settings import SettingsError
from tidegate.sources.native.connector import Connector
from tidegate.sources.native.credit import Room
from tidegate.sources.native.dropped import DroppedExchanges
from tidegate.sources.native.endpoint import Transport, endpoint_of
from tidegate.sources.native.event import Event
from tidegate.sources.native.reader import NativeReader
from tidegate.sources.native.refusals import trouble_of
from tidegate.sources.native.requests import (
    MANAGEMENT,
    PartitionFacts,
    hub_identity,
    partition_facts,
    partition_ids,
    read_hub,
    read_partition,
)
from tidegate.sources.native.selectors import after, from_on
from tidegate.sources.native.settings import NativeSettings
from tidegate.sources.native.tokens import Credential, Tokens
from tidegate.sources.start import From, Start, resolve, start_of
from tidegate_amqp import AmqpError

__all__ = ["NativeSettings", "NativeSource", "Start", "Transport"]


class NativeSource:
    """One hub and consumer group. `address` is a connection string, or with a credential the host
    name of the namespace. `sdk_reads` raises SourceError where the official SDK gets no answer."""

    def __init__(
        self,
        address: str,
        hub: str,
        group: str,
        start: Start | None = None,
        *,
        credential: Credential | None = None,
        transport: Transport = Transport.TCP,
        settings: NativeSettings | None = None,
        sdk_reads: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        endpoint = endpoint_of(address, transport)
        self._hub = hub or endpoint.hub
        if not self._hub:
            raise SettingsError(
                "hub: name the event hub, here or as EntityPath of the connection string"
            )
        self._group = group
        self._start = (start or Start()).checked()
        self._settings = (settings or NativeSettings()).checked()
        self._tokens = Tokens(endpoint, self._hub, credential)
        self._connector = Connector(
            endpoint, self._tokens, self._settings, DroppedExchanges(sdk_reads)
        )
        self._readers: set[NativeReader] = set()

    async def partitions(self) -> tuple[PartitionId, ...]:
        """All partitions that there are now. Raises SourceError."""
        token = await self._connector.token()
        return partition_ids(
            await self._ask(lambda key, name: read_hub(key, name, self._hub, token))
        )

    async def identity(self) -> str:
        """The hub's name and its time of creation. Raises SourceError."""
        token = await self._connector.token()
        return hub_identity(
            await self._ask(lambda key, name: read_hub(key, name, self._hub, token))
        )

    async def end(self, partition: PartitionId) -> PartitionEnd:
        """How far a partition has come. Raises SourceError."""
        return (await self.facts(partition)).end

    async def resolve_start(self, partition: PartitionId, rewind: Rewind | None = None) -> Position:
        """Where a partition without a checkpoint begins, or a rewind goes to."""
        start = self._start if rewind is None else start_of(rewind)

        async def first(place: From) -> Event:
            return await self.first(partition, place)

        return await resolve(start, lambda: self.facts(partition), first)

    async def check_unread(self, partition: PartitionId) -> None:
        """Raises StolenError where a reader with an epoch of ours has the partition.

        Epochs begin with 1, so a link with 0 takes nothing from such a reader.
        """
        reader = self._new_reader(partition, after(BEGINNING), 0)
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await reader.open()
        except (SourceError, TimeoutError):
            # The reader that is opened next meets any other error, and reports it.
            return
        finally:
            await reader.close()

    def reader(
        self,
        partition: PartitionId,
        position: Position,
        epoch: int | None,
        room: Room | None = None,
    ) -> NativeReader:
        """A reader of what comes after a position; without an epoch it competes with nobody."""
        return self._new_reader(partition, after(position), epoch, room)

    async def close(self) -> None:
        for reader in list(self._readers):
            await reader.close()
        await self._connector.close()

    # --- readers

    def _new_reader(
        self, partition: PartitionId, begin: str, epoch: int | None, room: Room | None = None
    ) -> NativeReader:
        reader = NativeReader(
            self._connector,
            self._settings,
            self._hub,
            self._group,
            partition,
            begin,
            epoch,
            room or Room(self._settings.reader_bytes),
            self._forget,
        )
        self._readers.add(reader)
        self._share_room()
        return reader

    def _forget(self, reader: NativeReader) -> None:
        self._readers.discard(reader)
        self._share_room()

    def _share_room(self) -> None:
        share = self._settings.buffer_bytes // max(len(self._readers), 1)
        for reader in self._readers:
            reader.room.limit_bytes = min(share, self._settings.reader_bytes)

    async def first(self, partition: PartitionId, place: From) -> Event:
        """The first event from a place on. Raises SourceError."""
        reader = self._new_reader(partition, from_on(place), None)
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                await reader.open()
                while True:
                    events = await reader.receive()
                    if events:
                        return events[0]
        except TimeoutError as error:
            raise SourceError(
                f"hub '{self._hub}', partition {partition}: the event to start at did not come "
                f"within {self._settings.timeout_s:g} s"
            ) from error
        finally:
            await reader.close()

    # --- requests

    async def facts(self, partition: PartitionId) -> PartitionFacts:
        """Where a partition begins and ends. Raises SourceError."""
        token = await self._connector.token()
        value = await self._ask(
            lambda key, name: read_partition(key, name, self._hub, partition, token)
        )
        return partition_facts(value, time.time())

    async def _ask(self, make: Callable[[UUID, str], bytes]) -> Any:
        """What `$management` answers. Raises SourceError."""
        place = f"hub '{self._hub}'"
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                connection = await self._connector.connection()
                with self._connector.dropped.exchange("a request to $management"):
                    answer = await connection.ask(MANAGEMENT, make)
        except TimeoutError as error:
            raise SourceError(
                f"{place}: no answer within {self._settings.timeout_s:g} s"
            ) from error
        except AmqpError as error:
            raise NotUnderstoodError(f"{place}: {error}") from error
        if answer.error is not None:
            raise trouble_of(answer.error, place).error
        return answer.value
