"""The store: order of the feed, splits and merges, conditions, time to live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate_cosmos.store import ranges
from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.keys import Span
from tidegate_cosmos.store.problems import (
    Changed,
    Exists,
    Malformed,
    NotFound,
    RangeGone,
)


def container(ranges: int = 1, **described: Any) -> Container:
    account = Account(salt=7)
    database = account.add_database({"id": "home"}, now=100)
    description = {"id": "events", "partitionKey": {"paths": ["/home"]}, **described}
    return account.add_container(database, description, now=100, ranges=ranges)


def read_all(held: Container, places: dict[str, tuple[str, int]], limit: int = 3) -> list[str]:
    """Reads every span of `places` to its end, following splits and merges as clients do."""
    found: list[str] = []
    for least, (beyond, after) in sorted(places.items()):
        for each in held.ranges:
            span = Span(max(least, each.span.least), min(beyond, each.span.beyond))
            place, more = after, span.least < span.beyond
            while more:
                page = each.latest(place, limit, span)
                found += [change.item.place[1] for change in page.changes]
                place, more = page.lsn, page.has_more
    return found


def test_the_feed_has_each_item_once_at_its_newest_version_in_order_of_writing() -> None:
    held = container()
    for name in ("a", "b", "c"):
        held.create({"id": name, "home": 1}, now=101)
    held.upsert({"id": "a", "home": 1, "v": 2}, now=102)
    page = held.ranges[0].latest(0, 10)
    assert [change.item.place[1] for change in page.changes] == ["b", "c", "a"]
    assert [change.lsn for change in page.changes] == [3, 4, 5]
    assert (page.lsn, page.has_more) == (5, False)
    assert held.ranges[0].latest(page.lsn, 10).changes == ()


def test_the_feed_of_versions_has_every_write_and_deletion() -> None:
    held = container()
    held.create({"id": "a", "home": 1}, now=101)
    held.upsert({"id": "a", "home": 1, "v": 2}, now=102)
    held.delete((1,), "a", now=103)
    told = [(change.operation, change.previous is None) for change in held.ranges[0].log]
    assert told == [("create", True), ("replace", False), ("delete", False)]
    assert held.ranges[0].latest(0, 10).changes == ()


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_place_in_the_feed_stays_good_through_splits_and_merges(limit: int) -> None:
    held = container(ranges=2)
    for number in range(40):
        held.create({"id": f"a{number}", "home": number}, now=101)
    places = {each.span.least: (each.span.beyond, each.lsn) for each in held.ranges}
    held.split("0")
    held.split("2", at="08" + 30 * "0")
    for number in range(40):
        held.create({"id": f"b{number}", "home": number}, now=102)
    held.merge("3", "1")
    held.merge("5", "6")
    for number in range(40):
        held.create({"id": f"c{number}", "home": number}, now=103)
    found = read_all(held, places, limit)
    assert sorted(found) == sorted([f"{name}{number}" for name in "bc" for number in range(40)])


def test_a_page_never_ends_between_changes_that_share_a_number() -> None:
    held = container(ranges=2)
    for number in range(20):
        held.create({"id": str(number), "home": number}, now=101)
    merged = held.merge("0", "1")
    found: list[str] = []
    place, more = 0, True
    while more:
        page = merged.latest(place, 1)
        found += [change.item.place[1] for change in page.changes]
        place, more = page.lsn, page.has_more
    assert sorted(found) == sorted(map(str, range(20)))


def test_a_range_that_was_split_is_gone_and_its_children_name_it() -> None:
    held = container()
    first, second = held.split("0")
    with pytest.raises(RangeGone):
        held.range_of("0")
    assert (first.id, second.id, first.parents) == ("1", "2", ("0",))
    assert first.span.beyond == second.span.least
    assert held.merge("2", "1").parents == ("0", "1", "0", "2")
    assert (held.ranges[0].span.least, held.ranges[0].span.beyond) == ("", "FF")


def test_only_neighbours_merge_and_a_split_is_within_the_range() -> None:
    held = container(ranges=3)
    with pytest.raises(Malformed, match="neighbours"):
        held.merge("0", "2")
    with pytest.raises(Malformed, match="hexadecimal"):
        held.split("0", at="3F")


def test_version_1_containers_split_in_the_middle_too() -> None:
    held = container(ranges=4, partitionKey={"paths": ["/home"], "kind": "Hash", "version": 1})
    for number in range(800):
        held.create({"id": str(number), "home": f"home-{number}"}, now=101)
    held.split("3")
    shares = [len(each.items) for each in held.ranges]
    assert all(120 < share < 280 for share in shares[:3]), shares
    assert all(60 < share < 140 for share in shares[3:]), shares


def test_a_write_on_a_condition_that_does_not_hold_changes_nothing() -> None:
    held = container()
    made = held.create({"id": "a", "home": 1}, now=101)
    held.replace((1,), "a", {"id": "a", "home": 1, "v": 2}, 102, condition=made.etag)
    refusals: list[Callable[[], object]] = [
        lambda: held.replace((1,), "a", {"id": "a", "home": 1}, 103, condition=made.etag),
        lambda: held.upsert({"id": "a", "home": 1}, 103, condition=made.etag),
        lambda: held.delete((1,), "a", 103, condition=made.etag),
    ]
    for refused in refusals:
        with pytest.raises(Changed):
            refused()
    assert held.find((1,), "a").document["v"] == 2
    with pytest.raises(Exists):
        held.create({"id": "a", "home": 1}, 103)
    with pytest.raises(NotFound):
        held.delete((2,), "a", 103)


def test_an_item_ends_when_its_time_is_over_and_the_feed_of_versions_says_why() -> None:
    held = container(defaultTtl=-1)
    held.create({"id": "lock", "home": 1, "ttl": 30}, now=101)
    held.create({"id": "info", "home": 1}, now=101)
    held.advance(130.9)
    assert len(list(held.items())) == 2
    held.advance(131)
    assert [item.place[1] for item in held.items()] == ["info"]
    last = held.ranges[0].log[-1]
    assert (last.operation, last.has_expired, last.item.place[1]) == ("delete", True, "lock")


def test_a_write_gives_an_item_its_time_anew() -> None:
    held = container(defaultTtl=10)
    held.create({"id": "a", "home": 1}, now=101)
    held.create({"id": "b", "home": 1, "ttl": -1}, now=101)
    held.upsert({"id": "a", "home": 1}, now=109)
    held.advance(112)
    assert len(list(held.items())) == 2
    held.advance(119)
    assert [item.place[1] for item in held.items()] == ["b"]


def test_without_a_default_time_to_live_items_stay_whatever_they_say() -> None:
    held = container()
    held.create({"id": "a", "home": 1, "ttl": 1}, now=101)
    held.advance(1_000)
    assert len(list(held.items())) == 1
    held.describe({**held.described, "defaultTtl": -1})
    held.advance(1_000)
    assert list(held.items()) == []


def test_a_start_time_passes_over_what_was_written_before_it() -> None:
    held = container()
    for number, now in enumerate((101.0, 102.5, 103.0)):
        held.create({"id": str(number), "home": 1}, now)
    page = held.ranges[0].latest(0, 10, since=102.5)
    assert [change.item.place[1] for change in page.changes] == ["2"]


def test_a_clock_that_goes_back_is_not_followed() -> None:
    held = container()
    held.create({"id": "a", "home": 1}, now=200)
    assert held.create({"id": "b", "home": 1}, now=150).document["_ts"] == 200


def test_old_versions_go_and_the_feed_of_versions_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "VERSIONS_KEPT", 10)
    held = container()
    for number in range(5):
        held.create({"id": f"kept-{number}", "home": 1}, now=101)
    for number in range(100):
        held.upsert({"id": "busy", "home": 1, "v": number}, now=102)
    only = held.ranges[0]
    assert len(only.log) <= 2 * (10 + 6)
    assert len(only.latest(0, 100).changes) == 6
    with pytest.raises(Malformed, match="no longer kept"):
        only.versions(1, 100)
    assert len(only.versions(only.lsn - 5, 100).changes) == 5


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"id": 3},
        {"id": ""},
        {"id": "a/b"},
        {"id": "a "},
        {"id": "x" * 1024},
        {"id": "a", "ttl": 0},
    ],
)
def test_an_item_that_cannot_be_is_refused_and_not_stored(document: dict[str, Any]) -> None:
    held = container()
    with pytest.raises(Malformed):
        held.create({"home": 1, **document}, now=101)
    assert list(held.items()) == []
