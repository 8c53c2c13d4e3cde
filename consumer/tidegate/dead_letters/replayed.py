"""An event made from its dead letter, for a handler. Pure.

Rules: it has what the event had that came, under the same names. A change of a container is the
dict that it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.delivery.letters import DeadLetter
from tidegate.model import Position
from tidegate.ports import SourceEvent
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import place_of
from tidegate.sources.cosmos.settings import FeedMode


def replayed(letter: DeadLetter, mode: FeedMode | None) -> SourceEvent:
    """The event for the handler; `mode` is that of the feed, None for an event hub.

    Raises PlaceError and ValueError where a change is none.
    """
    if mode is None:
        return ReplayedEvent(letter)
    change = Change(json.loads(letter.body), mode)
    change.put_at(place_of(letter.position, letter.partition))
    return change


@dataclass(frozen=True, slots=True)
class ReplayedEvent:
    """See the module."""

    letter: DeadLetter

    @property
    def position(self) -> Position:
        return self.letter.position

    @property
    def sequence_number(self) -> int:
        return self.letter.position.sequence

    @property
    def offset(self) -> str:
        return self.letter.position.offset

    @property
    def enqueued_at(self) -> float | None:
        return self.letter.enqueued_at

    @property
    def enqueued_time(self) -> datetime | None:
        at = self.letter.enqueued_at
        return None if at is None else datetime.fromtimestamp(at, UTC)

    @property
    def partition_key(self) -> bytes | None:
        key = self.letter.partition_key
        return None if key is None else key.encode()

    @property
    def content(self) -> bytes:
        return self.letter.body

    @property
    def size(self) -> int:
        return len(self.letter.body)

    @property
    def body(self) -> Iterator[bytes]:
        return iter((self.letter.body,))

    def body_as_str(self, encoding: str = "UTF-8") -> str:
        return self.letter.body.decode(encoding)

    def body_as_json(self, encoding: str = "UTF-8") -> Any:
        return json.loads(self.body_as_str(encoding))

    @property
    def properties(self) -> dict[bytes, Any]:
        return {key.encode(): value for key, value in self.letter.properties.items()}

    @property
    def system_properties(self) -> dict[bytes, Any]:
        return {key.encode(): value for key, value in self.letter.system_properties.items()}
