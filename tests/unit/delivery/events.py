"""Events made by hand, for tests of delivery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.model import Position


@dataclass(frozen=True)
class MadeEvent:
    """An event with this number; its offset is ten times that."""

    sequence_number: int
    content: bytes = b"{}"
    enqueued_at: float | None = 1_000.0
    partition_key: bytes | None = None
    properties: Mapping[bytes, Any] = field(default_factory=dict)
    system_properties: Mapping[bytes, Any] = field(default_factory=dict)

    @property
    def offset(self) -> str:
        return str(self.sequence_number * 10)

    @property
    def position(self) -> Position:
        return Position(self.offset, self.sequence_number)

    def as_received(self) -> MadeEvent:
        return self

    @property
    def size(self) -> int:
        return len(self.content)

    @property
    def enqueued_time(self) -> datetime | None:
        return None if self.enqueued_at is None else datetime.fromtimestamp(self.enqueued_at, UTC)

    def body_as_str(self, encoding: str = "UTF-8") -> str:
        return self.content.decode(encoding)

    def body_as_json(self, encoding: str = "UTF-8") -> Any:
        return json.loads(self.body_as_str(encoding))


def events(first: int, end: int) -> list[MadeEvent]:
    return [MadeEvent(number, b'{"n":%d}' % number) for number in range(first, end)]
