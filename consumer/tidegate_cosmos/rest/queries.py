"""Queries over items, and the plain list of them. Pure.

Rules: a query is answered over the ranges that it names, or over all of them at once, range by
range and in each from the oldest item to the newest. A continuation names the span of keys that was
looked at, the last item given, and how many were given: it stays good through splits and merges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import Any, Final

from tidegate_cosmos.query.answers import page_of
from tidegate_cosmos.query.parser import Query, query_of
from tidegate_cosmos.rest import charges
from tidegate_cosmos.rest.asked import Asked
from tidegate_cosmos.rest.place import Meant, check_session, meant_by
from tidegate_cosmos.rest.replies import Refused, Reply, listed, of_range
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Item, encoded
from tidegate_cosmos.store.keys import Span
from tidegate_cosmos.store.ranges import Range

_ALL: Final = Query()
_WHOLE_RANGE: Final = {"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the next page begins: in a span, behind the item of a number."""

    span: Span
    number: int
    told: int


def answer(asked: Asked, container: Container, now: float) -> Reply:
    """One page of what a query finds."""
    return _page(asked, container, parsed(asked.document()), now)


def all_items(asked: Asked, container: Container, now: float) -> Reply:
    """One page of all items."""
    return _page(asked, container, _ALL, now)


def plan(asked: Asked) -> Reply:
    """How a client that does the work itself shall ask each range."""
    query = parsed(asked.document())
    if query.counts:
        raise Refused(
            400,
            "tidegate-cosmos counts over one range or partition key, or all ranges in one request; "
            "this client wants to add the numbers up itself, and there is no plan for that.",
        )
    info: dict[str, Any] = {
        "distinctType": "None",
        "top": query.top,
        "offset": None,
        "limit": None,
        "orderBy": [],
        "orderByExpressions": [],
        "groupByExpressions": [],
        "groupByAliases": [],
        "aggregates": [],
        "groupByAliasToAggregateType": {},
        "rewrittenQuery": "",
        "hasSelectValue": query.value is not None,
        "dCountInfo": None,
        "hasNonStreamingOrderBy": False,
    }
    described = {
        "partitionedQueryExecutionInfoVersion": 2,
        "queryInfo": info,
        "queryRanges": [_WHOLE_RANGE],
    }
    return Reply(200, encoded(described))


def parsed(document: dict[str, Any]) -> Query:
    """The query of a body. Raises Refused, QueryProblem."""
    text, given = document.get("query"), document.get("parameters") or []
    if not isinstance(text, str):
        raise Refused(400, "query: expected the text of a query.")
    if not isinstance(given, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) and "value" in each
        for each in given
    ):
        raise Refused(400, "parameters: expected a list of objects with name and value.")
    return query_of(text, {each["name"]: each["value"] for each in given})


def _page(asked: Asked, container: Container, query: Query, now: float) -> Reply:
    container.advance(now)
    meant = meant_by(asked, container)
    for held in meant.ranges:
        check_session(asked, held)
    place = _place(asked)
    spans = _spans(meant.ranges, place)
    seen = _Counted(_items(meant, spans, place))
    told = 0 if place is None else place.told
    page = page_of(query, seen, asked.page_size(), told)
    headers = {"x-ms-item-count": str(len(page.bodies))}
    if meant.ranges:
        headers |= of_range(meant.ranges[0])
    if page.last is not None:
        span = next(each for each in spans if each.holds(page.last.place[0]))
        headers["x-ms-continuation"] = json.dumps(
            [span.least, span.beyond, page.last.number, told + len(page.bodies)]
        )
    body = listed("Documents", container.rid, page.bodies)
    return Reply(200, body, charges.queried(page.bodies, seen.count), headers)


class _Counted:
    """Items, and how many of them were looked at."""

    def __init__(self, items: Iterator[Item]) -> None:
        self._items = items
        self.count = 0

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            self.count += 1
            yield item


def _spans(ranges: Sequence[Range], place: _Place | None) -> list[Span]:
    """What is still to be looked at, in order: the rest of a span, and what lies behind it."""
    if place is None:
        return [held.span for held in ranges]
    beyond = place.span.beyond
    later = [held.span for held in ranges if held.span.beyond > beyond]
    return [place.span, *(Span(max(span.least, beyond), span.beyond) for span in later)]


def _items(meant: Meant, spans: Sequence[Span], place: _Place | None) -> Iterator[Item]:
    for index, span in enumerate(spans):
        newer_than = place.number if place is not None and index == 0 else 0
        parts = [
            (
                item
                for item in held.items.values()
                if item.number > newer_than and span.holds(item.place[0])
            )
            for held in meant.ranges
            if held.span.meets(span)
        ]
        for item in merge(*parts, key=lambda item: item.number):
            if meant.span is None or meant.span.holds(item.place[0]):
                yield item


def _place(asked: Asked) -> _Place | None:
    text = asked.header("x-ms-continuation")
    if not text:
        return None
    try:
        least, beyond, number, told = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise Refused(400, "x-ms-continuation: expected what an answer gave.") from None
    if not (isinstance(least, str) and isinstance(beyond, str)) or not (
        isinstance(number, int) and isinstance(told, int)
    ):
        raise Refused(400, "x-ms-continuation: expected what an answer gave.")
    return _Place(Span(least, beyond), number, told)
