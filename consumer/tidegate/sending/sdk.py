"""Sends through the official SDK (`--transport sdk`): its retries, its every way of being let in.

Rules: only the SDK's public interface; one batch of one key or partition at a time, in order, so
that `send` returns when the service has them. What the SDK raises becomes SendError, whose text is
the SDK's own message and never the connection string.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from azure.eventhub import EventData, EventDataBatch
from azure.eventhub.aio import EventHubProducerClient
from azure.eventhub.exceptions import EventHubError

from tidegate.sending.outgoing import Outgoing
from tidegate.sending.sending import SendError


class SdkSender:
    """One producer client. With a credential the address is the host name of the namespace."""

    def __init__(self, address: str, hub: str, credential: Any = None) -> None:
        self._hub = hub
        self.accepted = 0  # events that the service has
        if credential is None:
            self._client = EventHubProducerClient.from_connection_string(address, eventhub_name=hub)
        else:
            self._client = EventHubProducerClient(address, hub, credential)

    async def send(self, events: Sequence[Outgoing]) -> None:
        groups: dict[tuple[str, str], list[Outgoing]] = {}
        for event in events:
            groups.setdefault((event.partition, event.key), []).append(event)
        try:
            for (partition, key), members in groups.items():
                await self._send_group(partition or None, key or None, members)
        except EventHubError as error:
            raise SendError(f"hub {self._hub!r}: {error.message}") from error

    async def _send_group(
        self, partition: str | None, key: str | None, events: Sequence[Outgoing]
    ) -> None:
        batch = await self._new_batch(partition, key)
        for event in events:
            data = EventData(event.body)
            if event.properties:
                data.properties.update(event.properties)
            if not _fits(batch, data):
                if len(batch):
                    await self._send_batch(batch)
                    batch = await self._new_batch(partition, key)
                if not _fits(batch, data):
                    raise SendError(
                        f"an event of {len(event.body):,} bytes is too large for hub {self._hub!r}"
                    )
        await self._send_batch(batch)

    async def _send_batch(self, batch: EventDataBatch) -> None:
        await self._client.send_batch(batch)
        self.accepted += len(batch)

    async def _new_batch(self, partition: str | None, key: str | None) -> EventDataBatch:
        return await self._client.create_batch(partition_id=partition, partition_key=key)

    async def flush(self) -> None:
        """There is nothing under way once `send` has returned."""

    async def close(self) -> None:
        await self._client.close()


def _fits(batch: EventDataBatch, data: EventData) -> bool:
    """Adds an event to a batch, if there is room for it."""
    try:
        batch.add(data)
    except ValueError:
        return False
    return True
