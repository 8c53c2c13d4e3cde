"""The Cosmos container of a world: items by key, a feed a range, splits and merges.

Rules: as the service does it. An item's LSN is of the range that has its key when it is written,
and stays; a range's own goes up with other things as well. Children go on from their parent's LSN,
and what was merged from the higher one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import NamedTuple

from simulation.container_keys import ABOVE, KEYS
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import FeedRange


class Item(NamedTuple):
    """An item, in the order of its range."""

    lsn: int
    number: int
    key: str


@dataclass(slots=True)
class Range:
    """A range of the service."""

    span: FeedRange
    lsn: int = 0
    items: list[Item] = field(default_factory=list)


class Answer(NamedTuple):
    """What the SDK makes of an answer."""

    changes: list[Change]
    tokens: Mapping[FeedRange, str | None]
    lsn: int


class Container:
    """See the module."""

    def __init__(self, dice: Random, ranges: int) -> None:
        self._dice = dice
        edges = ["", *(f"{ABOVE * n // ranges:02X}" for n in range(1, ranges)), "FF"]
        spans = [FeedRange(a, b) for a, b in pairwise(edges)]
        self.ranges = [Range(span) for span in spans]
        self.written: list[Item] = []
        # What gateways may still say for a while.
        self.before = self.spans()

    def spans(self) -> tuple[FeedRange, ...]:
        return tuple(each.span for each in self.ranges)

    def write(self) -> None:
        """One more item, in order of their numbers."""
        number = len(self.written)
        key = self._dice.choice(KEYS)
        range = next(each for each in self.ranges if each.span.low <= key < each.span.high)
        range.lsn += self._dice.choice((1, 1, 1, 2))
        item = Item(range.lsn, number, key)
        range.items.append(item)
        self.written.append(item)

    def split(self) -> None:
        """One range becomes two, where it has keys for that."""
        wide = [n for n, each in enumerate(self.ranges) if len(_edges(each.span)) > 0]
        if not wide:
            return
        self.before = self.spans()
        index = self._dice.choice(wide)
        parent = self.ranges[index]
        at = self._dice.choice(_edges(parent.span))
        spans = FeedRange(parent.span.low, at), FeedRange(at, parent.span.high)
        self.ranges[index : index + 1] = [
            Range(span, parent.lsn + 1, [i for i in parent.items if span.low <= i.key < span.high])
            for span in spans
        ]

    def merge(self) -> None:
        """Two neighbours become one."""
        if len(self.ranges) < 2:
            return
        self.before = self.spans()
        index = self._dice.randrange(len(self.ranges) - 1)
        first, second = self.ranges[index : index + 2]
        merged = Range(FeedRange(first.span.low, second.span.high), max(first.lsn, second.lsn) + 1)
        for item in (*first.items, *second.items):
            insort(merged.items, item)
        self.ranges[index : index + 2] = [merged]

    def read(self, feed: Feed, most: int) -> Answer:
        """A page of a feed; the tokens of all ranges where it is in more than one."""
        held = [each for each in self.ranges if each.span.meets(feed.range)]
        if len(held) > 1:
            parts = Place("", (feed,))
            split = {p.range: feed.token for each in held for p in parts.within(each.span)}
            return Answer([], split, 0)
        (range,) = held
        since = token_lsn(feed.token)
        found = [
            item
            for item in range.items
            if item.lsn > since and feed.range.low <= item.key < feed.range.high
        ]
        page = found[:most]
        # A page never ends within an LSN.
        while page and len(page) < len(found) and found[len(page)].lsn == page[-1].lsn:
            page = found[: len(page) + 1]
        last = page[-1].lsn if len(page) < len(found) else range.lsn
        said = [{"_lsn": item.lsn, "n": item.number, "key": item.key} for item in page]
        return Answer([Change(each) for each in said], {feed.range: f'"{last}"'}, range.lsn)


def token_lsn(token: str | None) -> int:
    """What only the container itself knows of its tokens."""
    return int(token.strip('"')) if token is not None else 0


def is_covered(item: Item, place: Place) -> bool:
    """Whether a place says that an item is handled."""
    for feed in place.feeds:
        if feed.range.low <= item.key < feed.range.high:
            return item.lsn <= max(feed.lsn, token_lsn(feed.token))
    return False


def _edges(span: FeedRange) -> list[str]:
    """Where it can be split so that both parts have keys."""
    inner = [key for key in KEYS if span.low < key < span.high]
    return [key for key in inner if any(span.low <= other < key for other in KEYS)]
