"""Dead letters as items of a Cosmos container, on the embedded server: kept once, read, refused."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio

from tidegate.dead_letters.cosmos import ContainerLetters
from tidegate.delivery.letters import DeadLetter, shown
from tidegate.handling import DeadLetterError
from tidegate.ledger.layout import GroupNames
from tidegate.model import Position
from tidegate_cosmos.testing import RunningCosmos

NAMES = GroupNames("localhost", "shop.orders", "Orders & more")
_numbers = itertools.count(1)


def letter(sequence: int, partition: str = "-1f", body: bytes = b'{"n": 1}') -> DeadLetter:
    return DeadLetter(
        partition=partition,
        position=Position(f"1 R {partition}@e%22{sequence}%22@{sequence}", sequence),
        enqueued_at=1_600_000_000.0,
        partition_key=None,
        body=body,
        properties={"kind": b"door"},
        system_properties={"lsn": sequence, "operation": "upsert"},
        error="ValueError: no such home",
        trace="Traceback …",
        attempts=3,
        member="orders-0",
        put_aside_at=1_700_000_000.0,
    )


class Place:
    """A container of a test's own, and letters in it."""

    def __init__(self, server: RunningCosmos, key_path: str = "/partition") -> None:
        self.server = server
        self.name = f"letters-{next(_numbers)}"
        server.add_container("home", self.name, key_path, ranges=2)
        self._opened: list[ContainerLetters] = []

    def letters(
        self, *, names: GroupNames = NAMES, key: str = "", container: str = ""
    ) -> ContainerLetters:
        made = ContainerLetters(
            self.server.endpoint, key or self.server.key, "home", container or self.name, names
        )
        self._opened.append(made)
        return made

    async def close(self) -> None:
        for each in self._opened:
            await each.close()


@pytest_asyncio.fixture
async def place(cosmos_server: RunningCosmos) -> AsyncIterator[Place]:
    made = Place(cosmos_server)
    yield made
    await made.close()
    cosmos_server.clear_faults()


async def test_a_letter_that_is_given_again_and_again_is_one_item(place: Place) -> None:
    for letters in (place.letters(), place.letters()):
        for _ in range(2):
            where = await letters.put(letter(7))
    (item,) = place.server.items("home", place.name)
    assert where == f"container '{place.name}' of database 'home', item {item['id']}"
    assert (item["partition"], item["sequenceNumber"], item["text"]) == ("-1f", 7, '{"n": 1}')
    assert item["group"] == NAMES.prefix.rstrip("/")


async def test_a_letter_whose_reply_was_lost_is_written_again_and_is_one_item(
    place: Place,
) -> None:
    await place.letters().put(letter(6))
    fault = place.server.inject(
        "lose_reply", operations=["upsert", "create", "replace"], container=place.name, times=1
    )
    letters = place.letters()
    try:
        await letters.put(letter(7))
    except DeadLetterError:
        await letters.put(letter(7))  # as a member does, until it stands
    assert not place.server.fault_stands(fault), "no reply was lost"
    assert [each.id for each in await letters.list()] == ["-1f/6", "-1f/7"]


async def test_letters_are_listed_by_place_and_only_those_of_the_group(place: Place) -> None:
    letters = place.letters()
    for sequence, partition in ((900, "-1f"), (7, "1f-ff"), (20, "-1f"), (3, "-1f")):
        await letters.put(letter(sequence, partition))
    await place.letters(names=replace(NAMES, group="orders & more 2")).put(letter(1))
    listed = await letters.list()
    assert [each.id for each in listed] == ["-1f/3", "-1f/20", "-1f/900", "1f-ff/7"]
    assert [each.id for each in await letters.list("1f-ff")] == ["1f-ff/7"]
    found = listed[0]
    assert (found.error, found.attempts) == ("ValueError: no such home", 3)
    assert found.put_aside_at == 1_700_000_000.0


async def test_a_letter_comes_back_as_it_was_and_is_removed_once(place: Place) -> None:
    letters = place.letters()
    put = letter(7, body=b"\xff\x00 no text")
    await letters.put(put)
    assert await letters.read(put.id) == put
    await letters.remove(put.id)
    await letters.remove(put.id)
    assert await letters.list() == []
    with pytest.raises(DeadLetterError, match=r"dead letter -1f/7 is not in container 'letters-"):
        await letters.read(put.id)
    with pytest.raises(DeadLetterError, match="write PARTITION/SEQUENCE"):
        await letters.read("-1f")


LARGE = {
    "whole, as base64 alone": b'{"text":"' + b"a" * 900_000 + b'"}',
    "the largest item": b'{"text":"' + b"a" * (2 * 1024 * 1024 - 11) + b'"}',
    "no text": b"\xff\x00" * 1_000_000,
    "letters beyond ASCII": ('"' + "\u6f6e" * 690_000 + '"').encode(),
    "quotes": b'"' * 2_000_000,
}


@pytest.mark.parametrize("body", LARGE.values(), ids=LARGE)
async def test_a_letter_of_any_change_is_kept_listed_read_and_removed(
    place: Place, body: bytes
) -> None:
    """An item of the monitored container may be as large as the letter's own may be."""
    letters = place.letters()
    put = letter(7, body=body)
    for each in (letter(6), put, letter(8), put):
        await letters.put(each)
    listed = await letters.list()
    assert [each.id for each in listed] == ["-1f/6", "-1f/7", "-1f/8"]
    found = listed[1]
    assert (found.error, found.attempts, found.put_aside_at) == (put.error, 3, put.put_aside_at)
    assert found.size > len(body)
    assert await place.letters().read(put.id) == put
    await letters.remove(put.id)
    left = place.server.items("home", place.name)
    assert sorted(item["sequenceNumber"] for item in left) == [6, 8]


async def test_large_properties_and_a_long_error_fit_too(place: Place) -> None:
    """An event of a hub has up to 1 MB in its body or in its properties."""
    told = replace(
        letter(7, body=b"b" * 700_000),
        properties={"note": "\u6f6e" * 340_000, "raw": b"\xff" * 300_000},
        error="ValueError: " + "x" * 2_000_000,
        trace="y" * 2_000_000,
    )
    letters = place.letters()
    put = shown(told, lambda text: text)
    await letters.put(put)
    assert await letters.read(put.id) == put
    assert put.error.startswith("ValueError: xxx")
    (found,) = await letters.list()
    assert found.error == put.error


async def test_a_large_letter_that_is_cut_off_is_seen_whole_or_not_at_all(place: Place) -> None:
    letters = place.letters()
    put = letter(7, body=b"a" * 2_000_000)
    for item in (letters._id_of(put.id), letters._parts_id(put.id)):
        fault = place.server.inject("refuse", operations=["upsert"], item=item, status=403)
        with pytest.raises(DeadLetterError):
            await letters.put(put)
        assert place.server.end_fault(fault)
        assert await letters.list() == []
    await letters.put(put)
    items = {item["id"]: item for item in place.server.items("home", place.name)}
    assert len(items) > 2 and await letters.read(put.id) == put
    part = next(item for name, item in items.items() if "!" in name)
    client = await letters._container()
    await client.delete_item(part["id"], part["partition"])
    with pytest.raises(DeadLetterError, match="a part of its event is not there"):
        await letters.read(put.id)
    assert [each.id for each in await letters.list()] == [put.id]


async def test_what_is_too_large_all_the_same_is_said_with_what_to_do(place: Place) -> None:
    place.server.inject("refuse", operations=["upsert"], container=place.name, status=413)
    said = r"too large for an item \(413\): keep dead letters in blobs"
    with pytest.raises(DeadLetterError, match=said):
        await place.letters().put(letter(1))


async def test_a_short_throttling_is_waited_out_and_a_long_one_is_said(place: Place) -> None:
    letters = place.letters()
    await letters.put(letter(1))
    place.server.inject("throttle", container=place.name, times=2, retry_after_ms=1)
    await letters.put(letter(2))
    fault = place.server.inject("throttle", container=place.name, retry_after_ms=1)
    with pytest.raises(DeadLetterError, match=r"has no request units left for us \(429\)"):
        await letters.put(letter(3))
    place.server.end_fault(fault)
    await letters.put(letter(3))
    assert [each.id for each in await letters.list()] == ["-1f/1", "-1f/2", "-1f/3"]


async def test_a_container_that_is_not_there_is_said_and_used_once_it_is(place: Place) -> None:
    name = f"{place.name}-later"
    letters = place.letters(container=name)
    said = r"is not there \(404\)\. Create it with the partition key /partition, or correct spec\."
    with pytest.raises(DeadLetterError, match=said):
        await letters.put(letter(1))
    place.server.add_container("home", name, "/partition")
    await letters.put(letter(1))
    assert len(place.server.items("home", name)) == 1


async def test_a_wrong_key_is_said_without_the_key(place: Place) -> None:
    wrong = "d3JvbmcgYW5kIHNlY3JldA=="
    with pytest.raises(DeadLetterError, match="Give a key of the account that may write") as told:
        await place.letters(key=wrong).put(letter(1))
    assert "(401)" in str(told.value)
    assert wrong not in str(told.value)


async def test_a_container_with_another_partition_key_is_refused_and_nothing_is_written(
    cosmos_server: RunningCosmos,
) -> None:
    place = Place(cosmos_server, "/home")
    said = "has the partition key /home, and dead letters need /partition: nothing was written"
    with pytest.raises(DeadLetterError, match=said):
        await place.letters().put(letter(1))
    await place.close()
    assert cosmos_server.items("home", place.name) == []
