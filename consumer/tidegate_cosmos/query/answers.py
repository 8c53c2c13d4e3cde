"""What a query answers over items, a page at a time. Pure.

Rules: items are taken in the order in which they come, and a place in the answer is the last item
that was given. A query is counted whole: it is never paged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate_cosmos.query.parser import Query
from tidegate_cosmos.store.items import Item, encoded
from tidegate_cosmos.store.keys import UNDEFINED


@dataclass(frozen=True, slots=True)
class Page:
    """Some answers as JSON. `last` is the item behind which the next page begins, if one does."""

    bodies: tuple[bytes, ...]
    last: Item | None


def page_of(query: Query, items: Iterable[Item], limit: int, told: int = 0) -> Page:
    """The next answers, where `told` were given on the pages before."""
    found = (item for item in items if is_found(query, item))
    if query.counts:
        return Page((encoded(sum(1 for _ in found)),), None)
    left = limit if query.top is None else min(limit, query.top - told)
    bodies: list[bytes] = []
    last: Item | None = None
    for item in found:
        if len(bodies) >= left:
            is_more = query.top is None or told + len(bodies) < query.top
            return Page(tuple(bodies), last if is_more else None)
        body = _body(query, item)
        last = item
        if body is not None:
            bodies.append(body)
    return Page(tuple(bodies), None)


def is_found(query: Query, item: Item) -> bool:
    return query.condition is None or query.condition(item.document) is True


def _body(query: Query, item: Item) -> bytes | None:
    if query.value is not None:
        value = query.value(item.document)
        return None if value is UNDEFINED else encoded(value)
    if query.columns is None:
        return item.body
    told = ((name, expression(item.document)) for name, expression in query.columns)
    return encoded({name: value for name, value in told if value is not UNDEFINED})
