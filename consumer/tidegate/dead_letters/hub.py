"""Sends dead letters, and replays, to a hub, by the official SDK.

Rules: the event is sent as it came, with its own properties and key. A dead letter has what is said
of it in further properties, `tidegate-...`; a replay to a group's own hub has none of these.
"""

from __future__ import annotations

from typing import Any

from azure.eventhub import EventData, TransportType
from azure.eventhub.aio import EventHubProducerClient
from azure.eventhub.exceptions import EventHubError

from tidegate.delivery.letters import DeadLetter
from tidegate.handling import DeadLetterError

_LONGEST_TEXT = 1_000


class HubLetters:
    """Events on their way to one hub."""

    def __init__(
        self, connection_string: str, hub: str, *, says_why: bool, web_sockets: bool = False
    ) -> None:
        self._hub = hub
        self._says_why = says_why
        kind = TransportType.AmqpOverWebsocket if web_sockets else TransportType.Amqp
        self._client = EventHubProducerClient.from_connection_string(
            connection_string, eventhub_name=hub, transport_type=kind
        )

    async def put(self, letter: DeadLetter) -> str:
        """Sends a letter. Raises DeadLetterError."""
        try:
            batch = await self._client.create_batch(partition_key=letter.partition_key)
            batch.add(self._event(letter))
            await self._client.send_batch(batch)
        except EventHubError as error:
            raise DeadLetterError(f"hub '{self._hub}': {error.message}") from error
        except ValueError as error:
            raise DeadLetterError(
                f"hub '{self._hub}': the event of {letter.id} does not fit into an event: {error}"
            ) from error
        return f"hub {self._hub}"

    def _event(self, letter: DeadLetter) -> EventData:
        event = EventData(letter.body)
        event.properties.update(letter.properties)
        if self._says_why:
            event.properties.update(_why(letter))
        for name in ("content-type", "correlation-id", "message-id"):
            value = letter.system_properties.get(name)
            if value is not None:
                text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
                setattr(event, name.replace("-", "_"), text)
        return event

    async def close(self) -> None:
        await self._client.close()


def _why(letter: DeadLetter) -> dict[str, Any]:
    return {
        "tidegate-partition": letter.partition,
        "tidegate-offset": letter.position.offset,
        "tidegate-sequence-number": letter.position.sequence,
        "tidegate-error": letter.error[:_LONGEST_TEXT],
        "tidegate-attempts": letter.attempts,
        "tidegate-member": letter.member,
    }
