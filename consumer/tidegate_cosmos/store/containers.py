"""A container: its ranges, and what is done to its items. Pure.

Rules:

- An item is found by its effective partition key and its id, or its resource id, always in the one
  range whose span holds the key.
- Each write takes `now`. Time does not go back within a container: a clock that does is not
  followed until it has caught up, so that `_ts` and the feed agree.
- Items whose time to live is over are deleted, with a change of their own in the feed, before
  anything is done that could see them.
- A condition is an ETag, "*" or None; an item that is not that version is left as it is (Changed).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tidegate_cosmos.store import names, notes
from tidegate_cosmos.store.dividing import checked_place, middle_of, spans_of
from tidegate_cosmos.store.items import OWN, Change, Item, ItemKey, Operation
from tidegate_cosmos.store.keys import KeyDefinition, Value, definition_of
from tidegate_cosmos.store.problems import Changed, Exists, Malformed, NotFound, RangeGone
from tidegate_cosmos.store.ranges import Range, merge, split
from tidegate_cosmos.store.ttl import Ends, ttl_of

ID_LENGTH_MAX = 1_023
_FORBIDDEN_IN_ID = frozenset("/\\?#")


@dataclass(slots=True)
class Container:
    """A container. `described` is what its maker said of it."""

    described: dict[str, Any]
    raw_rid: bytes
    salt: int
    made_at: float
    ranges: list[Range] = field(default_factory=list)
    throughput: int = 400
    written: int = 0  # how many writes there were, of anything
    items_made: int = 0
    ranges_made: int = 0
    outbox: notes.Outbox | None = None
    _now: float = 0.0
    _ends: Ends = field(default_factory=lambda: Ends(None))
    # Where the items of each number are, once somebody has named one by its resource id.
    _places: dict[int, ItemKey] | None = None
    key: KeyDefinition = field(init=False)

    def __post_init__(self) -> None:
        self.described.setdefault("partitionKey", {"paths": ["/_partitionKey"]})
        described = self.described["partitionKey"]
        if isinstance(described, dict):
            described.setdefault("kind", "Hash")
            described.setdefault("version", 2)
        self.key = definition_of(described)
        self._set_ends()

    @property
    def id(self) -> str:
        return str(self.described["id"])

    @property
    def rid(self) -> str:
        return names.rid(self.raw_rid)

    @property
    def etag(self) -> str:
        """Of the container's description."""
        return names.etag(0, self.salt, int(self.made_at))

    @property
    def ranges_etag(self) -> str:
        """Of the list of ranges: another one after every split and merge."""
        return names.etag(self.ranges_made, self.salt, int(self.made_at))

    def divide(self, ranges: int) -> None:
        """Gives a new container its ranges."""
        self.ranges = [
            Range(number, span) for number, span in enumerate(spans_of(ranges, self.key.version))
        ]
        self.ranges_made = ranges

    def describe(self, described: Mapping[str, Any]) -> None:
        """Takes another description: all but the name and the partition key may change."""
        for name in ("id", "partitionKey"):
            given = described.get(name, self.described[name])
            if name == "partitionKey" and isinstance(given, dict):
                given = {"kind": "Hash", "version": 2, **given}
            if given != self.described[name]:
                raise Malformed(f"{name} of container {self.id!r} cannot be changed.")
        ttl_of(described.get("defaultTtl"), "defaultTtl")
        self.described = {**described, "partitionKey": self.described["partitionKey"]}
        self._set_ends()
        if self.outbox is not None:
            self.outbox.append(notes.container_described(self))

    def offer(self, units: int) -> None:
        """Takes another throughput, which is told and not held to."""
        self.throughput = units
        if self.outbox is not None:
            self.outbox.append(notes.container_described(self))

    def restored(self) -> None:
        """Works out again what follows from what was read from disk."""
        for held in self.ranges:
            held.items = dict(sorted(held.items.items(), key=lambda each: each[1].number))
        self._places = None
        self._set_ends()

    def _set_ends(self) -> None:
        ttl = ttl_of(self.described.get("defaultTtl"), "defaultTtl")
        self._ends = Ends(ttl, self.items())

    def items(self, within: Iterable[Range] | None = None) -> Iterable[Item]:
        """All items, range by range, each range from the oldest item to the newest."""
        for each in self.ranges if within is None else within:
            yield from each.items.values()

    def range_at(self, effective: str) -> Range:
        """The range that holds an effective key."""
        for each in self.ranges:
            if each.span.holds(effective):
                return each
        raise Malformed(f"No range holds the effective partition key {effective[:80]!r}.")

    def range_of(self, range_id: str) -> Range:
        """The range of an id. Raises RangeGone."""
        for each in self.ranges:
            if each.id == range_id:
                return each
        raise RangeGone(f"Range {range_id[:40]!r} of container {self.id!r} is gone.")

    def advance(self, now: float) -> float:
        """Lets time pass: deletes what has ended. Gives the time that the container goes by."""
        self._now = max(now, self._now)
        for item in self._ends.due(self._now):
            held = self.range_at(item.place[0])
            if held.items.get(item.place) is item:
                self.written += 1
                change = Change(held.next_lsn(), self._now, "delete", None, item, has_expired=True)
                self._write(held, change)
        return self._now

    def find(self, values: Sequence[Value], name: str) -> Item:
        """An item, by its partition key and its id or resource id. Raises NotFound."""
        effective = self.key.effective(tuple(values))
        items = self.range_at(effective).items
        item = items.get((effective, name)) or items.get((effective, self.id_of(name)))
        if item is None:
            raise NotFound(f"There is no item {name[:80]!r} of this partition key.")
        return item

    def id_of(self, name: str) -> str:
        """The id of an item that is named by its resource id; any other name as it is."""
        number = names.item_number(name, self.raw_rid)
        if number is None:
            return name
        if self._places is None:
            self._places = {item.number: item.place for item in self.items()}
        place = self._places.get(number)
        return name if place is None else place[1]

    def create(self, document: Mapping[str, Any], now: float) -> Item:
        """Stores a new item. Raises Exists."""
        return self._put(document, now, may_replace=False, condition=None)

    def upsert(self, document: Mapping[str, Any], now: float, condition: str | None = None) -> Item:
        """Stores an item, be there one or not. Raises Changed."""
        return self._put(document, now, may_replace=True, condition=condition)

    def replace(
        self,
        values: Sequence[Value],
        name: str,
        document: Mapping[str, Any],
        now: float,
        condition: str | None = None,
    ) -> Item:
        """Stores another version of an item. Raises NotFound, Changed."""
        now = self.advance(now)
        found = self.find(values, name)
        _check_condition(found, condition)
        if self.key.values_of(document) != tuple(values):
            raise Malformed("An item's partition key cannot be changed.")
        if document.get("id") != found.place[1]:
            raise Malformed("An item's id cannot be changed.")
        return self._put(document, now, may_replace=True, condition=condition)

    def delete(
        self, values: Sequence[Value], name: str, now: float, condition: str | None = None
    ) -> Item:
        """Deletes an item; gives its last version. Raises NotFound, Changed."""
        now = self.advance(now)
        item = self.find(values, name)
        _check_condition(item, condition)
        held = self.range_at(item.place[0])
        self.written += 1
        self._write(held, Change(held.next_lsn(), now, "delete", None, item))
        return item

    def _put(
        self, document: Mapping[str, Any], now: float, *, may_replace: bool, condition: str | None
    ) -> Item:
        now = self.advance(now)
        item_id = checked_id(document)
        ttl_of(document.get("ttl"), "ttl")
        values = self.key.values_of(document)
        effective = self.key.effective(values)
        held = self.range_at(effective)
        place = (effective, item_id)
        previous = held.items.get(place)
        if previous is not None:
            if not may_replace:
                raise Exists(f"There is an item {item_id[:80]!r} of this partition key already.")
            _check_condition(previous, condition)
        self.written += 1
        if previous is None:
            self.items_made += 1
        number = self.items_made if previous is None else previous.number
        lsn = held.next_lsn()
        stored = {**_own_removed(document), **self._own(number, now)}
        item = Item(place, values, number, stored, lsn, now)
        operation: Operation = "create" if previous is None else "replace"
        self._write(held, Change(lsn, now, operation, item, previous))
        self._ends.note(item)
        return item

    def _write(self, held: Range, change: Change) -> None:
        held.write(change)
        if self._places is not None:
            if change.current is None:
                self._places.pop(change.item.number, None)
            else:
                self._places[change.item.number] = change.item.place
        if self.outbox is not None:
            self.outbox.append(notes.change_record(self, held, change))

    def _own(self, number: int, now: float) -> dict[str, Any]:
        """What the service adds to an item."""
        rid = names.rid(names.item_bytes(self.raw_rid, number))
        database = names.rid(self.raw_rid[:4])
        return {
            "_rid": rid,
            "_self": f"dbs/{database}/colls/{self.rid}/docs/{rid}/",
            "_etag": names.etag(self.written, self.salt, int(now)),
            "_attachments": "attachments/",
            "_ts": int(now),
        }

    def split(self, range_id: str, at: str | None = None) -> tuple[Range, Range]:
        """Divides a range in two, in its middle or at an effective key. Raises RangeGone."""
        parent = self.range_of(range_id)
        place = (
            middle_of(parent.span, self.key.version)
            if at is None
            else checked_place(at, parent.span)
        )
        children = split(parent, place, (self.ranges_made, self.ranges_made + 1))
        self.ranges_made += 2
        index = self.ranges.index(parent)
        self.ranges[index : index + 1] = children
        if self.outbox is not None:
            self.outbox.append(notes.range_split(self, range_id, place))
        return children

    def merge(self, first_id: str, second_id: str) -> Range:
        """Makes one range of two neighbours. Raises RangeGone, Malformed."""
        first, second = self.range_of(first_id), self.range_of(second_id)
        if first.span.least > second.span.least:
            first, second = second, first
        if first is second or first.span.beyond != second.span.least:
            raise Malformed(f"Ranges {first_id!r} and {second_id!r} are no neighbours.")
        merged = merge(first, second, self.ranges_made)
        self.ranges_made += 1
        index = self.ranges.index(first)
        self.ranges[index : index + 2] = [merged]
        if self.outbox is not None:
            self.outbox.append(notes.ranges_merged(self, first, second))
        return merged


def checked_id(document: Mapping[str, Any]) -> str:
    """The id of an item or a container as somebody gives it. Raises Malformed."""
    found = document.get("id")
    if not isinstance(found, str) or not found:
        raise Malformed("id: expected a text that is not empty")
    if len(found) > ID_LENGTH_MAX or _FORBIDDEN_IN_ID & set(found) or found.endswith(" "):
        raise Malformed(
            f"id: expected at most {ID_LENGTH_MAX} characters without / \\ ? # and without a "
            f"space at the end, found {found[:80]!r}"
        )
    return found


def _check_condition(item: Item, condition: str | None) -> None:
    if condition not in (None, "*", item.etag):
        raise Changed(f"Item {item.place[1][:80]!r} is no longer the version that was named.")


def _own_removed(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in OWN and name != "_lsn"}
