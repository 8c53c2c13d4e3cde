"""What a worker does with a turn of a container, on a real tidegate-cosmos; Spark is not there."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from azure.cosmos import CosmosClient
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tidegate.delivery.letters import decode_letter
from tidegate.ports import SourceError
from tidegate.sources.cosmos.estimating import Reach
from tidegate.sources.cosmos.places import Place, beginning, place_of
from tidegate.sources.cosmos.ranges import WHOLE
from tidegate.sources.cosmos.settings import FeedMode, FeedSettings
from tidegate.spark.columns import Columns, Kind, columns_of
from tidegate.spark.container_place import ContainerPlace
from tidegate.spark.desk_client import DeskClient
from tidegate.spark.feed_bounds import FeedEnd, planned
from tidegate.spark.fetching import Fetcher
from tidegate.spark.positions import RangeEnd, Turn, TurnRead
from tidegate.spark.reading_tasks import UndecodableError, read_task
from tidegate.spark.tasks import DeskPlace, ReadTask
from tidegate_cosmos.testing import RunningCosmos

DATABASE = "home"
PARTITION = "-ff"
_numbers = itertools.count(1)


def columns(*names: str) -> Columns:
    kinds = {"n": LongType(), "home": StringType(), **Kind.CHANGES.own}
    fields = [StructField(name, kinds[name]) for name in names]
    return columns_of(StructType(fields), Kind.CHANGES)


NUMBERED = columns("sequence", "n")


class ListeningDesk:
    """Keeps what workers say."""

    def __init__(self) -> None:
        self.reports: list[TurnRead] = []
        self.letters: list[str] = []

    def report(self, read: TurnRead) -> None:
        self.reports.append(read)

    def aside(self, letter: str) -> None:
        self.letters.append(letter)


class ListeningFetcher(Fetcher):
    def __init__(self, desk: ListeningDesk) -> None:
        super().__init__()
        self._listening = desk

    def desk(self, desk: DeskPlace) -> DeskClient:
        return cast(DeskClient, self._listening)


class Worker:
    """A Python worker of Spark's, as far as a container sees it."""

    def __init__(self, cosmos: RunningCosmos) -> None:
        self.cosmos = cosmos
        self.container = f"worker-{next(_numbers)}"
        cosmos.add_container(DATABASE, self.container, "/home")
        self.desk = ListeningDesk()
        self.reading = ListeningFetcher(self.desk)
        self.feed = FeedSettings(DATABASE, self.container, page_items=20, patience_s=3.0)
        self._client = CosmosClient(cosmos.endpoint, cosmos.key)
        self.items = self._client.get_database_client(DATABASE).get_container_client(self.container)

    def write(self, first: int, end: int) -> None:
        for number in range(first, end):
            self.items.upsert_item({"id": str(number), "home": f"h{number % 16}", "n": number})

    def lsn(self) -> int:
        """How far the first range has come."""
        return self.cosmos.call(
            lambda: max(
                held.lsn for held in self.cosmos._server.container(DATABASE, self.container).ranges
            )
        )

    def split(self) -> None:
        (only,) = self.cosmos.ranges(DATABASE, self.container)
        self.cosmos.split(DATABASE, self.container, only)

    def merge(self) -> None:
        self.cosmos.merge(DATABASE, self.container, *self.cosmos.ranges(DATABASE, self.container))

    def turn(self, after: Place, to: int, end: int | None = None) -> Turn:
        ends = (RangeEnd(PARTITION, after.lsn, to if end is None else end),)
        return Turn(PARTITION, 5, after.position, to, "driver-x1", ends)

    def rest(self, after: Place) -> Turn:
        """All that waits behind a place, as an office asks and plans it."""
        reach = asyncio.run(self._reach(after))
        ends = tuple(RangeEnd(each.range.id, each.base, each.end) for each in reach)
        end = planned(PARTITION, after.position, FeedEnd(0, "", None, 0.0, ends=ends))
        return Turn(PARTITION, 5, after.position, end.sequence, "driver-x1", end.ends)

    async def _reach(self, after: Place) -> tuple[Reach, ...]:
        source = ContainerPlace(self.cosmos.endpoint, self.feed, self.cosmos.key).source()
        try:
            return (await source.reach(PARTITION, after.position)).reach
        finally:
            await source.close()

    def batches(
        self, turn: Turn, columns: Columns = NUMBERED, *, puts_aside: bool = False
    ) -> Iterator[Any]:
        place = ContainerPlace(self.cosmos.endpoint, self.feed, self.cosmos.key)
        task = ReadTask(7, (turn,), place, DeskPlace("", ""), puts_aside, "driver-x1")
        return read_task(task, columns, self.reading)

    def rows(self, turn: Turn, columns: Columns = NUMBERED, **more: Any) -> list[dict[str, Any]]:
        return [row for batch in self.batches(turn, columns, **more) for row in batch.to_pylist()]

    def numbers(self, turn: Turn) -> list[int]:
        return [row["n"] for row in self.rows(turn)]

    def place(self) -> Place:
        """Where the last turn that was reported ended."""
        return place_of(self.desk.reports[-1].position, PARTITION)

    def close(self) -> None:
        self.reading.close()
        self._client.__exit__(None, None, None)  # type: ignore[no-untyped-call]


BEGINNING = beginning("", WHOLE)


@pytest.fixture
def worker(cosmos_server: RunningCosmos) -> Iterator[Worker]:
    made = Worker(cosmos_server)
    yield made
    cosmos_server.clear_faults()
    made.close()


def test_turn_after_turn_every_change_comes_once_and_in_order(worker: Worker) -> None:
    worker.write(0, 100)
    found, place = [], BEGINNING
    # Within pages, at their ends, and over several.
    for to in (7, 20, 41, 90, worker.lsn()):
        found += worker.numbers(worker.turn(place, to))
        place = worker.place()
        assert place.lsn == to
    assert found == list(range(100))
    assert [read.lost for read in worker.desk.reports] == [0] * 5
    assert all(read.units > 0 for read in worker.desk.reports)


def test_a_turn_ends_where_it_was_planned_whatever_came_since(worker: Worker) -> None:
    worker.write(0, 30)
    turn = worker.turn(BEGINNING, worker.lsn())
    first = worker.numbers(turn)
    place = worker.place()
    worker.write(30, 60)
    assert worker.numbers(turn) == first == list(range(30))
    assert worker.place().lsn == place.lsn
    assert worker.numbers(worker.turn(worker.place(), worker.lsn())) == list(range(30, 60))


def test_an_item_that_was_written_again_before_it_was_read_comes_with_a_later_turn(
    worker: Worker,
) -> None:
    worker.write(0, 10)
    turn = worker.turn(BEGINNING, worker.lsn())
    worker.write(3, 4)
    assert worker.numbers(turn) == [n for n in range(10) if n != 3]
    assert worker.numbers(worker.turn(worker.place(), worker.lsn())) == [3]


def test_through_a_split_and_a_merge_nothing_is_lost_and_nothing_comes_twice(
    worker: Worker,
) -> None:
    worker.write(0, 40)
    turn = worker.rest(BEGINNING)
    worker.split()
    found = worker.numbers(turn)
    assert sorted(found) == list(range(40)), "planned before the split, read after it"
    place = worker.place()
    worker.write(40, 80)
    found += worker.numbers(worker.rest(place))
    place = worker.place()
    assert len(place.feeds) == 2, "each half has come to another number"
    worker.merge()
    worker.write(80, 120)
    found += worker.numbers(worker.rest(place))
    assert sorted(found) == list(range(120))


def test_a_range_that_is_split_while_a_turn_is_read_gives_the_rest_of_it(worker: Worker) -> None:
    worker.write(0, 100)
    reading = worker.batches(worker.rest(BEGINNING))
    found = [row["n"] for row in next(reading).to_pylist()]
    worker.split()
    worker.write(100, 140)
    found += [row["n"] for batch in reading for row in batch.to_pylist()]
    assert sorted(found) == list(range(100))
    place = worker.place()
    found += worker.numbers(worker.rest(place))
    assert sorted(found) == list(range(140))


def test_a_throttled_container_is_asked_again_and_one_that_is_gone_is_said(worker: Worker) -> None:
    worker.write(0, 10)
    turn = worker.turn(BEGINNING, worker.lsn())
    worker.cosmos.inject("throttle", container=worker.container, operations=["feed"], times=2)
    assert worker.numbers(turn) == list(range(10))
    worker.feed = replace(worker.feed, container="nowhere")
    with pytest.raises(SourceError, match=r"container 'nowhere' .* is not there"):
        worker.numbers(turn)


def test_the_columns_of_latest_versions(worker: Worker) -> None:
    worker.write(7, 8)
    names = tuple(Kind.CHANGES.own)
    (row,) = worker.rows(worker.turn(BEGINNING, worker.lsn()), columns(*names, "n"))
    assert (row["partition"], row["sequence"], row["id"]) == (PARTITION, worker.lsn(), "7")
    assert (row["operation"], row["previous"], row["metadata"], row["n"]) == (
        "upsert", None, None, 7,
    )  # fmt: skip
    assert json.loads(row["body"])["home"] == "h7"
    assert row["enqueued"].timestamp() == json.loads(row["body"])["_ts"]


def test_the_columns_of_all_versions_and_deletes(worker: Worker) -> None:
    worker.write(1, 2)
    worker.feed = replace(worker.feed, mode=FeedMode.ALL_VERSIONS_AND_DELETES)
    # It begins where it is first read: behind what is there.
    begin = Place("", (replace(BEGINNING.feeds[0], token='"1"', lsn=worker.lsn()),))
    worker.items.create_item({"id": "2", "home": "h1", "n": 2})
    worker.items.upsert_item({"id": "2", "home": "h1", "n": 3})
    worker.items.delete_item("2", "h1")
    rows = worker.rows(worker.turn(begin, worker.lsn()), columns(*Kind.CHANGES.own, "home", "n"))
    assert [row["operation"] for row in rows] == ["create", "replace", "delete"]
    assert [row["n"] for row in rows] == [2, 3, None]
    assert {row["id"] for row in rows} == {"2"}
    assert rows[2]["body"] is None
    assert all(json.loads(row["metadata"])["operationType"] for row in rows)
    assert all(row["enqueued"] is not None for row in rows)


def test_an_item_that_no_schema_fits_fails_the_task_or_is_put_aside(worker: Worker) -> None:
    worker.items.upsert_item({"id": "0", "home": "h", "n": 0})
    worker.items.upsert_item({"id": "bad", "home": "h", "n": "no number"})
    worker.items.upsert_item({"id": "2", "home": "h", "n": 2})
    turn = worker.turn(BEGINNING, worker.lsn())
    with pytest.raises(UndecodableError, match=r"partition -ff, event 3: column 'n' .*no number"):
        worker.numbers(turn)
    assert [row["n"] for row in worker.rows(turn, puts_aside=True)] == [0, 2]
    letter = decode_letter(worker.desk.letters[0].encode())
    assert json.loads(letter.body)["id"] == "bad"
    assert (worker.desk.reports[-1].aside, worker.desk.reports[-1].events) == (1, 3)


def test_a_worker_keeps_to_its_share_of_request_units(worker: Worker) -> None:
    worker.write(0, 60)
    turn = worker.turn(BEGINNING, worker.lsn())
    worker.numbers(turn)
    whole = worker.desk.reports[-1].units
    worker.feed = replace(worker.feed, units_per_s=whole / 2)
    ended = threading.Event()
    found: list[int] = []

    def read() -> None:
        found.extend(worker.numbers(turn))
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    # A second's worth is saved up; the rest of it takes most of another.
    assert not ended.wait(0.3)
    assert ended.wait(20)
    assert found == list(range(60))
