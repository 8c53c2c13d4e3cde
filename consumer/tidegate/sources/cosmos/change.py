"""A change of the feed, as a handler gets it: a dict with what reading in order needs. Pure.

Rules:
- It is the service's JSON as it came. In the latest-version mode that is the item, with `_lsn` and
  `_ts`; with all versions and deletes it is `current`, `previous` and `metadata`.
- The mode alone decides which of the two it is, never the content: an item of a user may have a
  property `metadata` or `current` of its own.
- A change without a log sequence number cannot be put in order: it is refused, never passed over.
- A handler may change the dict. Its place, its times and its content as a dead letter are those of
  the change as it came.
- Changes of one transaction have one LSN and come in one page. Behind each but the last of them
  there is no place to go on from: their position is the one before the transaction.
"""

from __future__ import annotations

import json
import marshal
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from tidegate.model import NO_SEQUENCE, Position
from tidegate.sources.cosmos.places import Place
from tidegate.sources.cosmos.settings import FeedMode

# Letters of changes that share an LSN are told apart by so many numbers.
_OF_ONE_LSN = 1_000_000


class ChangeError(ValueError):
    """An item of a page is no change of the feed; the message says what it lacks and what to do."""


class Change(dict[str, Any]):
    """See the module."""

    # No `__slots__`: a dict's own are not enough for pickling by users' code.
    _place: Place
    _size: int | None
    _received: bytes
    # Which of its transaction it is.
    _number: int

    def __init__(self, item: dict[str, Any], mode: FeedMode = FeedMode.LATEST_VERSION) -> None:
        super().__init__(item)
        self._mode = mode
        self._has_envelope = mode is FeedMode.ALL_VERSIONS_AND_DELETES
        # As it came. Of all ways to keep a copy this one costs least.
        self._received = marshal.dumps(item)
        metadata = self.metadata
        found = _lsn(metadata.get("lsn") if self._has_envelope else item.get("_lsn"))
        self._lsn = NO_SEQUENCE if found is None else found
        at = metadata.get("crts") if self._has_envelope else item.get("_ts")
        self._enqueued_at = float(at) if isinstance(at, int | float) else None
        self._size = None
        self._is_place, self._number = True, 0

    # --- in order

    def put_at(self, place: Place, *, is_place: bool = True) -> None:
        """Set its place in the feed. The source calls this once."""
        self._place, self._is_place = place, is_place

    @property
    def place(self) -> Place:
        return self._place

    @property
    def is_place(self) -> bool:
        """Whether reading can go on behind it."""
        return self._is_place

    @property
    def position(self) -> Position:
        """Up to which everything is handled, once this is."""
        return self.place.position

    @property
    def lsn(self) -> int:
        """The log sequence number of the service's range at this change."""
        return self._lsn

    @property
    def sequence_number(self) -> int:
        return self.lsn

    @property
    def offset(self) -> str:
        return self.position.offset

    @property
    def enqueued_at(self) -> float | None:
        """When it was written, in seconds since 1970."""
        return self._enqueued_at

    def as_received(self) -> Change:
        """The change without what anybody changed in it."""
        change = Change(marshal.loads(self._received), self._mode)
        change.put_at(self._place, is_place=self._is_place)
        change._number, change._size = self._number, self._size
        return change

    @property
    def letter_place(self) -> Position:
        """As its dead letter is called: one name for each change, whatever shares its LSN."""
        item = self.current or self.previous or self.metadata
        said = f"{item.get('_rid')}/{item.get('id')}/{self._number}"
        mark = zlib.crc32(said.encode(errors="surrogatepass")) % _OF_ONE_LSN
        number = self.lsn * _OF_ONE_LSN + mark
        return Position(self.offset, number)

    # --- what it says

    @property
    def operation(self) -> str:
        """`create`, `replace` or `delete`; `upsert` where only the latest version is told."""
        return str(self.metadata.get("operationType") or "upsert")

    @property
    def current(self) -> dict[str, Any]:
        """The item as it is after the change; empty after a delete."""
        return self._part("current") if self._has_envelope else self

    @property
    def previous(self) -> dict[str, Any] | None:
        """The item as it was before, where the service tells that."""
        return self._part("previous") or None

    @property
    def metadata(self) -> dict[str, Any]:
        """The service's words about the change itself; empty in the latest-version mode."""
        return self._part("metadata")

    def _part(self, name: str) -> dict[str, Any]:
        """A part of the envelope; empty where there is no envelope, or no such part."""
        part = self.get(name) if self._has_envelope else None
        return part if isinstance(part, dict) else {}

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
        said = marshal.loads(self._received)
        text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
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
        id = self.current.get("id", self.metadata.get("id"))
        return f"Change(lsn={self.lsn}, id={id!r}, operation={self.operation!r})"


def change_of(item: dict[str, Any], mode: FeedMode) -> Change:
    """A change of a page as the service sent it. Raises ChangeError."""
    change = Change(item, mode)
    if change.lsn == NO_SEQUENCE:
        where = "metadata.lsn" if mode is FeedMode.ALL_VERSIONS_AND_DELETES else "_lsn"
        raise ChangeError(
            f"the feed has a change (id {str(change.current.get('id'))[:60]!r}) without a log "
            f"sequence number ({where}), so it cannot be put in order. Nothing of its page was "
            "handed out. Read a container of Azure Cosmos DB or of tidegate-cosmos: this server "
            "does not serve the whole change feed."
        )
    return change


def _lsn(value: Any) -> int | None:
    """A log sequence number in the form that the service uses; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value > NO_SEQUENCE else None


def placed(page: Sequence[Change], handled: int, size: int | None) -> Iterator[tuple[Change, bool]]:
    """The changes of a page that are not handled yet, and whether each ends its transaction."""
    share = None if size is None or not page else max(size // len(page), 1)
    number = 0
    for index, change in enumerate(page):
        if change.lsn <= handled:
            continue
        change._size = share
        number = number + 1 if index and page[index - 1].lsn == change.lsn else 0
        change._number = number
        yield change, index + 1 == len(page) or page[index + 1].lsn != change.lsn
