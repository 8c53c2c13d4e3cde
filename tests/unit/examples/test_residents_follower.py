"""The residents' page follows the slices: what it is told of a home is what was counted of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from residents.following import Follower
from residents.homes import PAGES_OF_A_HOME, TooManyPages
from residents.telling import FIELDS, quarter_of
from support.activity_writer import ActivityWriter, Reading
from support.slice_store import MemoryBlobs
from support.wait import comes_true
from tidegate.ops.streams import Mailbox

NOW = 1_800_000_030.0
HOMES = [f"home-{number:06}" for number in range(12)]


class Seen:
    """What a page knows after what it was told, put together as its script does."""

    def __init__(self, page: Mailbox) -> None:
        self.page = page
        self.home: dict[str, Any] = {}
        self.minutes: dict[int, Any] = {}
        self.quarters: dict[int, Any] = {}
        self.is_whole = False
        self.events = 0

    async def read(self) -> None:
        for text in (await self.page.take(0)).decode().split("\n\n")[:-1]:
            name, data = (line.partition(": ")[2] for line in text.split("\n"))
            self.events += 1
            self._hear(name, json.loads(data))

    def _hear(self, name: str, told: Any) -> None:
        if name == "home":
            self.home = told
            self.minutes = {int(start): rows for start, rows in told["minutes"].items()}
            self.quarters = {int(start): rows for start, rows in told["quarters"].items()}
            self.is_whole = told["whole"]
        elif name == "whole":
            self.is_whole = True
        else:
            {"minute": self.minutes, "quarter": self.quarters}[name][told["start"]] = told["rows"]

    def sums(self) -> dict[str, int]:
        """By kind: how many readings."""
        found: dict[str, int] = {}
        by_minute = {quarter_of(start) for start in self.minutes}
        parts = [rows for start, rows in self.quarters.items() if start not in by_minute]
        for row in [row for rows in (*parts, *self.minutes.values()) for row in rows]:
            found[row[0]] = found.get(row[0], 0) + row[FIELDS.index("count")]
        return found


class Place:
    """Slices in memory, a writer of them, and a follower."""

    def __init__(self) -> None:
        self.now = NOW
        self.blobs = MemoryBlobs("home-security/activity")
        self.writer = ActivityWriter(self.blobs)
        self.follower = Follower(self.blobs, lambda: self.now, poll_s=0.001)

    async def say(self, *readings: Reading) -> None:
        await self.writer.put(readings)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.follower.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def looked(self) -> None:
        """Two whole looks have begun and ended."""
        looks = self.follower.looks
        assert await comes_true(lambda: self.follower.looks >= looks + 2, 10)

    def open(self, home: str) -> Seen:
        return Seen(self.follower.open(home)[1])


async def seen_whole(seen: Seen) -> None:
    for _ in range(2_000):
        await seen.read()
        if seen.is_whole:
            return
        await asyncio.sleep(0.002)
    raise AssertionError("the page was never told that it has all")


@pytest.fixture
def place() -> Place:
    return Place()


async def test_a_page_has_the_whole_day_of_its_own_home_and_of_nobody_else(place: Place) -> None:
    for ago in range(86_000, 0, -700):
        await place.say(*(Reading(home, "door", 1, NOW - ago) for home in HOMES))
    await place.say(Reading(HOMES[0], "smoke", 1, NOW - 40_000, alarm=True))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
    assert seen.sums() == {"door": len(range(86_000, 0, -700)), "smoke": 1}
    assert seen.home["home"] == HOMES[0]
    assert all(start >= quarter_of(NOW - 3_600) for start in seen.minutes)


async def test_what_comes_is_told_to_the_homes_it_is_of(place: Place) -> None:
    await place.say(*(Reading(home, "door", 0, NOW - 5) for home in HOMES))
    async with place.following():
        one, two = place.open(HOMES[0]), place.open(HOMES[1])
        await seen_whole(one)
        await seen_whole(two)
        before = two.events
        await place.say(Reading(HOMES[0], "smoke", 1, NOW, alarm=True))
        await place.looked()
        await one.read()
        await two.read()
    (row,) = [row for row in one.minutes[int(NOW) // 60 * 60] if row[0] == "smoke"]
    assert row[FIELDS.index("alarms")] == 1
    assert row[FIELDS.index("last_at")] == int(NOW * 1000)
    assert two.events == before


async def test_a_new_kind_of_sensor_is_told_by_itself(place: Place) -> None:
    await place.say(Reading(HOMES[0], "door", 0, NOW - 5))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
        await place.say(Reading(HOMES[0], "carbon_monoxide", 0, NOW))
        await place.looked()
        await seen.read()
    assert set(seen.sums()) == {"door", "carbon_monoxide"}


async def test_a_home_that_was_never_heard_is_told_so_and_found_when_it_speaks(
    place: Place,
) -> None:
    async with place.following():
        await place.looked()
        seen = place.open("home-new")
        await seen_whole(seen)
        assert seen.sums() == {}
        await place.say(Reading("home-new", "door", 1, NOW))
        await place.looked()
        await seen.read()
    assert seen.sums() == {"door": 1}


async def test_what_comes_hours_late_is_told(place: Place) -> None:
    await place.say(Reading(HOMES[0], "door", 0, NOW - 8_000))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
        await place.say(Reading(HOMES[0], "door", 1, NOW - 7_999))
        place.now += 301
        for _ in range(500):
            await seen.read()
            if seen.sums() == {"door": 2}:
                break
            await place.looked()
    assert seen.sums() == {"door": 2}


async def test_a_hundred_pages_list_no_more_than_one(place: Place) -> None:
    await place.say(*(Reading(home, "door", 0, NOW - 5) for home in HOMES))
    async with place.following():
        pages = [place.open(HOMES[at % 12]) for at in range(100)]
        for page in pages:
            await seen_whole(page)
        looks, listings, reads = place.follower.looks, place.blobs.listings, place.blobs.reads
        await place.looked()
        assert (place.blobs.listings - listings) / (place.follower.looks - looks) <= 2
        assert place.blobs.reads == reads


async def test_storage_that_is_silent_is_said_and_nothing_is_lost(place: Place) -> None:
    await place.say(Reading(HOMES[0], "door", 0, NOW - 5))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
        place.blobs.is_silent = True
        assert await comes_true(lambda: place.follower.silent_since == NOW, 10)
        await place.say(Reading(HOMES[0], "door", 1, NOW))
        place.blobs.is_silent = False
        assert await comes_true(lambda: place.follower.silent_since is None, 10)
        await place.looked()
        await seen.read()
    assert seen.sums() == {"door": 2}


async def test_what_may_not_be_read_is_never_told_as_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("residents.following._PAUSE_S", 0.001)
    await place.say(
        Reading(HOMES[0], "door", 0, NOW - 5), Reading(HOMES[0], "door", 1, NOW - 7_000)
    )
    place.blobs.refuses_reads = True
    async with place.following():
        seen = place.open(HOMES[0])
        assert await comes_true(lambda: place.follower.silent_since == NOW, 10)
        reads = place.blobs.reads
        await place.looked()
        # Listings answer meanwhile, and are no sign that all is well.
        assert await comes_true(lambda: place.blobs.reads > reads + 10, 10)
        assert place.follower.silent_since == NOW
        await seen.read()
        assert not seen.is_whole
        place.blobs.refuses_reads = False
        await seen_whole(seen)
        assert await comes_true(lambda: place.follower.silent_since is None, 10)
    assert seen.sums() == {"door": 2}


async def test_news_that_may_not_be_read_are_told_once_they_may(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("residents.following._PAUSE_S", 0.001)
    await place.say(Reading(HOMES[0], "door", 0, NOW - 5))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
        place.blobs.refuses_reads = True
        await place.say(Reading(HOMES[0], "smoke", 1, NOW))
        assert await comes_true(lambda: place.follower.silent_since == NOW, 10)
        place.blobs.refuses_reads = False
        assert await comes_true(lambda: place.follower.silent_since is None, 10)
        await seen.read()
    assert seen.sums() == {"door": 1, "smoke": 1}


async def test_a_page_that_comes_back_has_what_it_missed(place: Place) -> None:
    await place.say(Reading(HOMES[0], "door", 0, NOW - 5))
    async with place.following():
        home, page = place.follower.open(HOMES[0])
        await seen_whole(Seen(page))
        place.follower.close(home, page)
        await place.say(Reading(HOMES[0], "door", 1, NOW))
        await place.looked()
        again = place.open(HOMES[0])
        await again.read()
    assert again.is_whole
    assert again.sums() == {"door": 2}


async def test_minutes_become_quarters_and_the_sums_stay(place: Place) -> None:
    for ago in range(3_000, 0, -50):
        await place.say(Reading(HOMES[0], "door", 1, NOW - ago))
    async with place.following():
        seen = place.open(HOMES[0])
        await seen_whole(seen)
        place.now += 7_200
        await place.looked()
        again = place.open(HOMES[0])
        await again.read()
    assert not again.minutes
    assert again.sums() == seen.sums() == {"door": 60}


async def test_one_home_cannot_take_all_the_pages(place: Place) -> None:
    for _ in range(PAGES_OF_A_HOME):
        place.open(HOMES[0])
    with pytest.raises(TooManyPages):
        place.open(HOMES[0])
    place.open(HOMES[1])
