"""Reads the listings of one group, one after another, and what has not changed only once.

Rules: pure. A blob whose text in the answer is byte for byte that of the listing before is what it
was: ETag, lease and time of change stand in that text. Whatever is written in a way that is not
known here is read as a whole page. Only the last listing is remembered, by digests of its texts, so
it does not matter if two listings are read at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

from tidegate.ledger.layout import Entry, GroupNames, Row, read_row
from tidegate.ledger.listing_xml import read_blob, read_page
from tidegate.model import Presence

_BEGIN, _END = b"<Blob>", b"</Blob>"
_DIGEST_BYTES = 16


@dataclass(slots=True)
class _Memory:
    """Of some of the blobs: what the last listing had of them, and what this one has so far."""

    known: dict[bytes, Entry | None] = field(default_factory=dict)
    fresh: dict[bytes, Entry | None] = field(default_factory=dict)

    def begin(self) -> None:
        self.fresh = {}

    def finish(self) -> None:
        self.known, self.fresh = self.fresh, {}


class Relisting:
    """See the module. Pages are read in their order; `finish` ends a listing."""

    def __init__(self, names: GroupNames, beside: Relisting | None = None) -> None:
        """One `beside` another, for members alone, remembers them in one place with it."""
        self._names = names
        self._rest = _Memory()
        self._members: _Memory = beside._members if beside is not None else _Memory()

    def begin(self) -> None:
        """A listing begins; one that was not finished counts for nothing."""
        self._rest.begin()
        self._members.begin()

    def finish(self) -> None:
        """The listing is whole."""
        self._rest.finish()
        self._members.finish()

    def page(self, body: bytes) -> tuple[list[Entry | None], str]:
        """What is on a page, and the marker of the next one, if any. Raises ValueError."""
        head, *blobs = body.split(_BEGIN)
        texts: list[bytes] = []
        tail = b""
        for blob in blobs:
            text, end, tail = blob.partition(_END)
            if not end or (tail.strip() and blob is not blobs[-1]):
                return self._whole(body)
            texts.append(text)
        rows, marker = read_page(head + tail)
        if rows:
            return self._whole(body)
        return [self._entry(text) for text in texts], marker

    def _entry(self, text: bytes) -> Entry | None:
        digest = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        for memory in (self._rest, self._members):
            if digest in memory.known:
                entry = memory.known[digest]
                break
        else:
            entry = read_row(self._names, read_blob(text.decode()) or _as_xml(text))
            memory = self._members if isinstance(entry, Presence) else self._rest
        memory.fresh[digest] = entry
        return entry

    def _whole(self, body: bytes) -> tuple[list[Entry | None], str]:
        rows, marker = read_page(body)
        return [read_row(self._names, row) for row in rows], marker


def _as_xml(text: bytes) -> Row:
    page = b"<EnumerationResults><Blobs>%b%b%b</Blobs></EnumerationResults>"
    ((row,), _) = read_page(page % (_BEGIN, text, _END))
    return row
