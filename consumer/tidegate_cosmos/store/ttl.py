"""When items end by themselves: the container's and the item's time to live. Pure.

Rules: a container without `defaultTtl` keeps its items for ever, whatever they say. With -1 an item
ends only if it says so itself; its own `ttl` goes before the container's, and -1 means never.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

from tidegate_cosmos.store.items import Item
from tidegate_cosmos.store.problems import Malformed

NEVER = -1
_LONGEST = 2**31 - 1


def default_ttl_of(described: Mapping[str, Any]) -> int | None:
    """The time to live that a container gives its items, if any. Raises Malformed."""
    value = described.get("defaultTtl")
    return None if value is None else ttl_of(value, "defaultTtl")


def ttl_of(value: object, name: str) -> int:
    """A time to live as it is given. Raises Malformed."""
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= _LONGEST:
        raise Malformed(f"{name}: expected -1 or a number of seconds from 1, found {value!r:.60}")
    if value == 0:
        raise Malformed(f"{name}: expected -1 or a number of seconds from 1, found 0")
    return value


class Ends:
    """The items that will end, by when."""

    def __init__(self, default: int | None, items: Iterable[Item] = ()) -> None:
        self._default = default
        self._heap: list[tuple[float, int, Item]] = []
        for item in items:
            self.note(item)

    def note(self, item: Item) -> None:
        """Remembers when an item that was just written ends, if it does."""
        if self._default is None:
            return
        own = item.document.get("ttl")
        ttl = own if isinstance(own, int) and not isinstance(own, bool) else self._default
        if ttl > 0:
            # The identity keeps items that end together from being compared.
            heapq.heappush(self._heap, (item.written_at + ttl, id(item), item))

    def due(self, now: float) -> list[Item]:
        """The versions whose time is over; some may have been replaced since."""
        ended: list[Item] = []
        while self._heap and self._heap[0][0] <= now:
            ended.append(heapq.heappop(self._heap)[2])
        return ended
