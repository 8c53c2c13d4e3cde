"""A change of the feed, as a handler gets it: a dict with what reading in order needs. Pure.

Rules:
- It is the service's JSON as it came. In the latest-version mode that is the item, with `_lsn` and
  `_ts`; with all versions and deletes it is `current`, `previous` and `metadata`.
- Changes of one transaction have one LSN and come in one page. Behind each but the last of them
  there is no place to go on from: their position is the one before the transaction.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.model import Position
from tidegate.sources.cosmos.places import Place

# Letters of changes that share an LSN are told apart by so many numbers.
_OF_ONE_LSN = 1_000_000


class Change(dict[str, Any]):
    """See the module."""

    # No `__slots__`: a dict's own are not enough for pickling by users' code.
    place: Place
    # Whether reading can go on behind it.
    is_place: bool
    _size: int | None
    # Which of its transaction it is.
    number: int

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said)
        self._size = None
        self.is_place, self.number = True, 0

    # --- in order

    @property
    def position(self) -> Position:
        """Up to which everything is handled, once this is."""
        return self.place.position

    @property
    def lsn(self) -> int:
        """The log sequence number of the service's range at this change."""
        return lsn_of(self)

    @property
    def sequence_number(self) -> int:
        return self.lsn

    @property
    def offset(self) -> str:
        return self.position.offset

    @property
    def enqueued_at(self) -> float | None:
        """When it was written, in seconds since 1970."""
        metadata = self.get("metadata")
        at = self.get("_ts")
        if at is None and isinstance(metadata, dict):
            at = metadata.get("crts")
        return float(at) if isinstance(at, int | float) else None

    @property
    def letter_place(self) -> Position:
        """As its dead letter is called: one name for each change, whatever shares its LSN."""
        item = self.get("metadata") or self
        said = f"{item.get('_rid')}/{item.get('id', self.get('id'))}/{self.number}"
        mark = zlib.crc32(said.encode(errors="surrogatepass")) % _OF_ONE_LSN
        number = self.lsn * _OF_ONE_LSN + mark
        return Position(self.offset, number)

    # --- what it says

    @property
    def operation(self) -> str:
        """`create`, `replace` or `delete`; `upsert` where only the latest version is told."""
        metadata = self.get("metadata")
        said = metadata.get("operationType") if isinstance(metadata, dict) else None
        return str(said) if said else "upsert"

    @property
    def current(self) -> dict[str, Any]:
        """The item as it is after the change; empty after a delete."""
        if "metadata" not in self or "current" not in self:
            return {} if self.operation == "delete" else self
        return dict(self["current"] or {})

    @property
    def previous(self) -> dict[str, Any] | None:
        """The item as it was before, where the service tells that."""
        before = self.get("previous") if "metadata" in self else None
        return before if isinstance(before, dict) else None

    @property
    def properties(self) -> dict[str, Any]:
        """As of an event of a hub: an item has none beside itself."""
        return {}

    @property
    def system_properties(self) -> dict[str, Any]:
        return {"lsn": self.lsn, "operation": self.operation}

    @property
    def partition_key(self) -> bytes | None:
        return None

    @property
    def content(self) -> bytes:
        """It as JSON: what a dead letter keeps."""
        text = json.dumps(self, ensure_ascii=False, separators=(",", ":"))
        # JSON may hold halves of characters, which are no Unicode text.
        return text.encode(errors="surrogatepass")

    @property
    def size(self) -> int:
        """Bytes: its share of its page, where that is known."""
        if self._size is None:
            self._size = len(self.content)
        return self._size

    def body_as_json(self, encoding: str = "UTF-8") -> Any:  # noqa: ARG002
        """As of an event of a hub, so that a handler can be written for both."""
        return dict(self)

    def __repr__(self) -> str:
        return f"Change(lsn={self.lsn}, id={self.get('id')!r}, operation={self.operation!r})"


def lsn_of(said: dict[str, Any]) -> int:
    """Where in its range's log a change is."""
    metadata = said.get("metadata")
    lsn = said.get("_lsn")
    if lsn is None and isinstance(metadata, dict):
        lsn = metadata.get("lsn")
    return int(lsn) if lsn is not None else -1


def placed(
    page: Sequence[dict[str, Any]], handled: int, size: int | None
) -> Iterator[tuple[Change, bool]]:
    """The changes of a page that are not handled yet, and whether each ends its transaction."""
    share = None if size is None or not page else max(size // len(page), 1)
    number = 0
    for index, said in enumerate(page):
        lsn = lsn_of(said)
        if lsn <= handled:
            continue
        change = Change(said)
        change._size = share
        number = number + 1 if index and lsn_of(page[index - 1]) == lsn else 0
        change.number = number
        ends = index + 1 == len(page) or lsn_of(page[index + 1]) != lsn
        yield change, ends
