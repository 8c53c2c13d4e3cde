"""Reads what many keys have in a slice at the price of a few requests: for pages that stay open.

Rules:
- What is asked for is put together: a request costs as much as REQUEST_BYTES, so that ranges closer
  than that to each other are read in one, and a small slice is read whole.
- A version's bytes do not change, but for what its writer takes back at once (see naming.py), so
  what was read is kept, up to so many bytes of all.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Protocol

from tidegate.slices.naming import PROJECTION, Version
from tidegate.slices.reading import FIRST_READ, Head, Row, block_rows, head_from, head_size

REQUEST_BYTES = 64 << 10
KEPT_BYTES = 64 << 20

# Where a range begins, and where it ends.
Span = tuple[int, int]


class Ranges(Protocol):
    """What is used of the container: see blobs.py."""

    async def range(self, version: Version, suffix: str, offset: int, length: int) -> bytes: ...


def put_together(spans: Iterable[Span], worth: int = REQUEST_BYTES) -> list[Span]:
    """As few spans as are worth it, which have all that these have."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] < worth:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


class ManyKeys:
    """See the module."""

    def __init__(self, blobs: Ranges, kept_bytes: int = KEPT_BYTES) -> None:
        self._blobs = blobs
        self._most = kept_bytes
        self._kept: OrderedDict[Version, dict[int, bytes]] = OrderedDict()
        self._heads: dict[Version, Head] = {}
        self._bytes = 0

    async def rows(
        self, version: Version, size: int, keys: Collection[str]
    ) -> dict[str, tuple[Row, ...]]:
        """The rows of those of these keys that have some. Raises SliceError."""
        head = await self._head(version, size)
        wanted: dict[Span, set[str]] = {}
        for key in keys:
            place = head.block_of(key)
            if place is not None:
                wanted.setdefault((place[0], sum(place)), set()).add(key)
        missing = [span for span in wanted if self._known(version, span) is None]
        for begin, end in put_together(missing):
            self._keep(version, begin, await self._read(version, begin, end))
        found: dict[str, tuple[Row, ...]] = {}
        for span, names in wanted.items():
            block = self._known(version, span)
            if block is None:  # so much was read at once that it could not be kept
                block = await self._read(version, *span)
            found.update(block_rows(head, block, names))
        return found

    async def _head(self, version: Version, size: int) -> Head:
        head = self._heads.get(version)
        if head is not None:
            self._kept.move_to_end(version)
            return head
        data = await self._read(version, 0, size if size <= REQUEST_BYTES else FIRST_READ)
        needed = head_size(data)
        if needed > len(data):
            data += await self._read(version, len(data), needed)
        head = self._heads[version] = head_from(data)
        self._keep(version, 0, data)
        return head

    async def _read(self, version: Version, begin: int, end: int) -> bytes:
        return await self._blobs.range(version, PROJECTION, begin, end - begin)

    def _known(self, version: Version, span: Span) -> bytes | None:
        for offset, data in self._kept.get(version, {}).items():
            if offset <= span[0] and span[1] <= offset + len(data):
                return data[span[0] - offset : span[1] - offset]
        return None

    def _keep(self, version: Version, offset: int, data: bytes) -> None:
        kept = self._kept.setdefault(version, {})
        self._bytes += len(data) - len(kept.get(offset, b""))
        kept[offset] = data
        self._kept.move_to_end(version)
        while self._bytes > self._most and len(self._kept) > 1:
            oldest, spans = self._kept.popitem(last=False)
            self._heads.pop(oldest, None)
            self._bytes -= sum(map(len, spans.values()))
