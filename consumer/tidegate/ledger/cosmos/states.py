"""States that are too long for their document: in parts beside it.

Rules:
- Parts are never written twice: a new state has parts of its own, and counts from when the document
  names them. The ones before go after that.
- Parts that a process has left when it died are removed once in a while, when they are old: whoever
  writes a state owns its partition, and nobody else's are being written.
"""

from __future__ import annotations

import asyncio

from tidegate.ledger.cosmos.documents import Content, body_of_parts, parts_of
from tidegate.ledger.cosmos.ids import Ids
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.layout import Place
from tidegate.ports import LedgerError, Refusal

_LEFT_S = 60.0


class States:
    """The parts of one group's states."""

    def __init__(self, items: LeaseContainer, ids: Ids) -> None:
        self._items = items
        self._ids = ids
        self._swept: set[Place] = set()

    async def body_of(self, place: Place, content: object) -> bytes | None:
        """What stands in a document's body; None where its parts have gone meanwhile."""
        assert isinstance(content, Content)
        if content.body is not None:
            return content.body
        names = self._names(place, content)
        parts = await asyncio.gather(*(self._items.read(name) for name in names))
        for name in names:
            self._items.ages.forget(name)
        found = [part for part in parts if part is not None]
        return body_of_parts(list(found)) if len(found) == len(parts) else None

    async def put(self, place: Place, content: Content) -> Content:
        """Writes a long body, and gives what its document is to say."""
        parts = parts_of(content.body or b"")
        written = Content(content.metadata, None, len(parts), content.parts_tag)
        for name, part in zip(self._names(place, written), parts, strict=True):
            if await self._items.create({"id": name, **part}) is None:
                raise LedgerError(Refusal.EXISTS, f"{name} is there already")
            self._items.ages.forget(name)
        return written

    async def drop(self, place: Place, content: Content) -> None:
        """Removes a body that no document names any more."""
        for name in self._names(place, content):
            item = await self._items.read(name)
            if item is not None:
                await self._items.delete(item)
            self._items.ages.forget(name)

    async def sweep(self, place: Place, content: Content) -> None:
        """Removes parts that were left, once, but for those that may be being written."""
        if place in self._swept:
            return
        self._swept.add(place)
        kept = set(self._names(place, content))
        for item in await self._items.below(self._ids.of_state(place, "", 0).removesuffix("!0")):
            name = str(item["id"])
            if name not in kept and self._items.ages.of(item) > _LEFT_S:
                await self._items.delete(item)
            self._items.ages.forget(name)

    def _names(self, place: Place, content: Content) -> list[str]:
        return [
            self._ids.of_state(place, content.parts_tag, number) for number in range(content.parts)
        ]
