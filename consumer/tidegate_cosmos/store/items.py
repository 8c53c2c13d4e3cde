"""One version of an item, and the change that made it. Frozen values; pure.

Rules: an item is kept as the JSON that clients get, with the service's own properties last, so that
an answer is put together without encoding anything again. A change says what became of an item in
one write: `current` is None for a deletion, `previous` is None for a new item.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from tidegate_cosmos.store.keys import UNDEFINED, Value

Operation = Literal["create", "replace", "delete"]
ItemKey = tuple[str, str]
OWN = ("_rid", "_self", "_etag", "_attachments", "_ts")


@dataclass(frozen=True)
class Item:
    """A stored item. `place` is its effective key and its id; `number` orders items by age."""

    place: ItemKey
    values: tuple[Value, ...]
    number: int
    document: Mapping[str, Any]
    lsn: int
    written_at: float

    @property
    def etag(self) -> str:
        return str(self.document["_etag"])

    @cached_property
    def body(self) -> bytes:
        """The item as clients read it."""
        return encoded(self.document)

    @property
    def feed_body(self) -> bytes:
        """The item as the change feed shows it."""
        return b'%s,"_lsn":%d}' % (self.body[:-1], self.lsn)


@dataclass(frozen=True)
class Change:
    """One write, as the change feed tells it."""

    lsn: int
    at: float
    operation: Operation
    current: Item | None
    previous: Item | None
    has_expired: bool = False

    @property
    def item(self) -> Item:
        """The version that says whose change it is."""
        found = self.current or self.previous
        assert found is not None, "a change without any version"
        return found

    def latest_body(self) -> bytes:
        """The change as the feed of latest versions shows it where metadata shall stand apart."""
        assert self.current is not None, "the feed of latest versions has no deletions"
        metadata = encoded({"lsn": self.lsn, "crts": int(self.at)})
        return b'{"current":%s,"metadata":%s}' % (self.current.feed_body, metadata)

    def full_body(self, paths: tuple[tuple[str, ...], ...]) -> bytes:
        """The change as the feed of all versions and deletes shows it."""
        metadata: dict[str, Any] = {
            "lsn": self.lsn,
            "crts": int(self.at),
            "operationType": self.operation,
        }
        if self.previous is not None:
            metadata["previousImageLSN"] = self.previous.lsn
        if self.current is None:
            metadata["id"] = self.item.place[1]
            metadata["partitionKey"] = {
                path[-1]: value
                for path, value in zip(paths, self.item.values, strict=False)
                if value is not UNDEFINED
            }
            if self.has_expired:
                metadata["timeToLiveExpired"] = True
        current = b"{}" if self.current is None else self.current.body
        previous = b"" if self.previous is None else b',"previous":' + self.previous.body
        return b'{"current":%s%s,"metadata":%s}' % (current, previous, encoded(metadata))


def encoded(value: object) -> bytes:
    """A value as JSON, as short as it can be."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
