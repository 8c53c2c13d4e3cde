"""Random lives of a container, from a seed: whatever splits, merges and ends, the feeds stay true.

A failure names its seed; `World(SEED).live()` is the same life again.
"""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest

from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Change, ItemKey
from tidegate_cosmos.store.keys import BEYOND, LEAST, Span
from tidegate_cosmos.store.problems import NotFound
from tidegate_cosmos.store.ranges import FeedPage, Range
from tidegate_cosmos.store.records import play, records_of

SEEDS = range(60)
STEPS, KEYS, RANGES_MAX = 120, 30, 12


class Reader:
    """Reads a feed by spans of keys, as clients do: a place for each, and each parted by splits."""

    def __init__(self, container: Container, dice: random.Random, *, is_full: bool) -> None:
        self.found: list[Change] = []
        self._container = container
        self._dice = dice
        self._is_full = is_full
        self._places = [(held.span, held.lsn) for held in container.ranges]

    def read(self) -> None:
        """Reads on to the end of every span, in pages of any size."""
        places: list[tuple[Span, int]] = []
        for span, place in self._places:
            for held in self._container.ranges:
                least = max(span.least, held.span.least)
                part = Span(least, min(span.beyond, held.span.beyond))
                if part.least < part.beyond:
                    places.append((part, self._read(held, part, place)))
        self._places = places

    def _read(self, held: Range, span: Span, place: int) -> int:
        more = True
        while more:
            page = self._page(held, span, place)
            self.found += page.changes
            place, more = page.lsn, page.has_more
        return place

    def _page(self, held: Range, span: Span, place: int) -> FeedPage:
        limit = self._dice.randint(1, 4)
        if self._is_full:
            return held.versions(place, limit, span)
        return held.latest(place, limit, span)


class World:
    """One container, everything that happens to it, and two readers."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.account = Account(salt=1)
        database = self.account.add_database({"id": "home"}, now=0)
        self.story = list(records_of(self.account))
        self.outbox = self.account.keep_notes()
        key = {"paths": ["/k"], "version": self.dice.choice((1, 2))}
        self.held = self.account.add_container(
            database,
            {"id": "events", "partitionKey": key, "defaultTtl": -1},
            now=0,
            ranges=self.dice.randint(1, 4),
        )
        self.latest = Reader(self.held, self.dice, is_full=False)
        self.versions = Reader(self.held, self.dice, is_full=True)
        self.now = 1.0

    def live(self) -> None:
        for step in range(self.dice.randint(5, STEPS)):
            self.now += self.dice.random() * 2
            deed = self.dice.choices(
                (self.write, self.remove, self.split, self.merge, self.read), (45, 10, 10, 10, 25)
            )[0]
            deed(step)
        self.read(STEPS)

    def write(self, step: int) -> None:
        key = self.dice.randrange(KEYS)
        document = {"id": f"i{key}", "k": key, "v": step}
        if self.dice.random() < 0.1:
            document["ttl"] = self.dice.randint(1, 5)
        self.held.upsert(document, self.now)

    def remove(self, _step: int) -> None:
        key = self.dice.randrange(KEYS)
        try:
            self.held.delete((key,), f"i{key}", self.now)
        except NotFound:
            return  # it was not there to be removed

    def split(self, _step: int) -> None:
        if len(self.held.ranges) < RANGES_MAX:
            self.held.split(self.dice.choice(self.held.ranges).id)

    def merge(self, _step: int) -> None:
        if len(self.held.ranges) > 1:
            first, second = self.dice.choice(list(pairwise(self.held.ranges)))
            self.held.merge(first.id, second.id)

    def read(self, _step: int) -> None:
        self.held.advance(self.now)
        self.latest.read()
        self.versions.read()


@pytest.fixture(params=SEEDS)
def world(request: pytest.FixtureRequest) -> World:
    made = World(request.param)
    made.live()
    return made


def told_of(change: Change) -> tuple[ItemKey, float, str, int]:
    return change.item.place, change.at, change.operation, change.lsn


def test_the_feeds_lose_nothing_and_double_nothing_through_any_splits_and_merges(
    world: World,
) -> None:
    seen: dict[ItemKey, list[int]] = {}
    for change in world.latest.found:
        seen.setdefault(change.item.place, []).append(change.item.document["v"])
    for versions in seen.values():
        assert versions == sorted(set(versions)), "an item's versions come once, and in order"
    newest = {item.place: item.document["v"] for item in world.held.items()}
    assert newest == {place: seen[place][-1] for place in newest}
    written = [
        (tuple(record["place"]), record["at"], record["operation"], record["lsn"])
        for record in world.outbox
        if record["kind"] == "change"
    ]
    assert sorted(map(told_of, world.versions.found)) == sorted(written)


def test_ranges_always_hold_all_keys_and_each_its_own_items(world: World) -> None:
    edges = [LEAST, *(held.span.beyond for held in world.held.ranges)]
    assert [held.span.least for held in world.held.ranges] == edges[:-1]
    assert edges[-1] == BEYOND
    assert all(held.span.holds(key) for held in world.held.ranges for key, _ in held.items)


def test_its_records_give_the_same_container_again(world: World) -> None:
    again = Account(salt=99)
    for record in [*world.story, *world.outbox]:
        play(again, json.loads(json.dumps(record)))
    played = again.database("home").container("events")
    facts = [
        [(each.id, each.span, each.parents, each.lsn, each.items, each.log) for each in held.ranges]
        for held in (played, world.held)
    ]
    assert facts[0] == facts[1]
