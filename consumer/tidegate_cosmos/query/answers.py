"""What a query answers over items, a page at a time. Pure.

Rules:
- Items are taken in the order in which they come, and a place in the answer is the last item that
  was looked at.
- A page ends after so much work or so many bytes, also where it has found nothing yet, so that a
  query of many terms over many items holds up nobody else. A query is counted whole, and so refused
  where that is too much.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tidegate_cosmos.query.parser import Query
from tidegate_cosmos.query.problems import QueryProblem
from tidegate_cosmos.store.items import Item, encoded
from tidegate_cosmos.store.keys import UNDEFINED

# Terms that are looked at for one page, each in about a microsecond, and to count.
WORK_MAX: Final = 100_000
COUNT_WORK_MAX: Final = 5_000_000
_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Page:
    """Some answers as JSON. `last` is the item behind which the next page begins, if one does."""

    bodies: tuple[bytes, ...]
    last: Item | None


def page_of(query: Query, items: Iterable[Item], limit: int, told: int = 0) -> Page:
    """The next answers, where `told` were given on the pages before."""
    if query.counts:
        return Page((encoded(_counted(query, items)),), None)
    left = limit if query.top is None else min(limit, query.top - told)
    bodies: list[bytes] = []
    last: Item | None = None
    work = size = 0
    for item in items:
        is_full = len(bodies) >= left or size >= _BYTES_MAX
        is_late = last is not None and work + query.terms > WORK_MAX
        if is_late or (is_full and is_found(query, item)):
            is_over = query.top is not None and told + len(bodies) >= query.top
            return Page(tuple(bodies), None if is_over else last)
        work += query.terms
        last = item
        body = _body(query, item) if is_found(query, item) else None
        if body is not None:
            bodies.append(body)
            size += len(body)
    return Page(tuple(bodies), None)


def _counted(query: Query, items: Iterable[Item]) -> int:
    count = work = 0
    for item in items:
        work += query.terms
        if work > COUNT_WORK_MAX:
            raise QueryProblem(
                f"tidegate-cosmos counts by at most {COUNT_WORK_MAX} looks at a property, and here "
                "are more items than that. Count by partition key, or with fewer terms."
            )
        count += is_found(query, item)
    return count


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
