"""What a worker does with a task, on a real hub; its desk only listens, and Spark is not there."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from contract.source.hubs import SourceWorld
from tidegate.delivery.letters import decode_letter
from tidegate.model import BEGINNING, Position
from tidegate.ports import SourceError
from tidegate.sources.eventhubs import NativeSource
from tidegate.spark.columns import columns_of
from tidegate.spark.desk_client import DeskClient
from tidegate.spark.fetching import Fetcher, Hub
from tidegate.spark.hub_place import HubPlace
from tidegate.spark.positions import Turn, TurnRead
from tidegate.spark.reading_tasks import ReadElsewhereError, UndecodableError, read_task
from tidegate.spark.tasks import DeskPlace, ReadTask
from tidegate_hub.testing import RunningHub

COLUMNS = columns_of(
    StructType(
        [
            StructField("partition", StringType()),
            StructField("sequence", LongType()),
            StructField("n", LongType()),
        ]
    )
)


class ListeningDesk:
    """Keeps what workers say."""

    def __init__(self) -> None:
        self.reports: list[TurnRead] = []
        self.stolen_by: list[tuple[int, str, int, int | None]] = []
        self.letters: list[str] = []

    def report(self, read: TurnRead) -> None:
        self.reports.append(read)

    def stolen(self, batch: int, partition: str, epoch: int, level: int | None) -> None:
        self.stolen_by.append((batch, partition, epoch, level))

    def aside(self, letter: str) -> None:
        self.letters.append(letter)


class ListeningFetcher(Fetcher):
    def __init__(self, desk: ListeningDesk) -> None:
        super().__init__()
        self._listening = desk

    def desk(self, desk: DeskPlace) -> DeskClient:
        return cast(DeskClient, self._listening)


@dataclass
class Worker:
    """A Python worker of Spark's, as far as a hub sees it."""

    world: SourceWorld
    desk: ListeningDesk = field(default_factory=ListeningDesk)

    def __post_init__(self) -> None:
        self.reading = ListeningFetcher(self.desk)
        self.place = HubPlace(self.world.server.connection_string, self.world.hub, "$default")

    def task(self, *turns: Turn, puts_aside: bool = False) -> ReadTask:
        return ReadTask(7, turns, self.place, DeskPlace("", ""), puts_aside, "driver-x1")

    def batches(self, *turns: Turn, puts_aside: bool = False) -> Iterator[Any]:
        return read_task(self.task(*turns, puts_aside=puts_aside), COLUMNS, self.reading)

    def rows(self, *turns: Turn, puts_aside: bool = False) -> list[tuple[str, int, int]]:
        """What a task gives."""
        return [
            (row["partition"], row["sequence"], row["n"])
            for batch in self.batches(*turns, puts_aside=puts_aside)
            for row in batch.to_pylist()
        ]

    def close(self) -> None:
        self.reading.close()


@pytest.fixture
def world(hub_server: RunningHub) -> Iterator[SourceWorld]:
    yield SourceWorld(hub_server, "native")
    hub_server.clear_faults()


@pytest.fixture
def worker(world: SourceWorld) -> Iterator[Worker]:
    made = Worker(world)
    yield made
    made.close()


@pytest.fixture
def attaches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None]]:
    """Partition and epoch of every reader that was made."""
    found: list[tuple[str, int | None]] = []
    new = NativeSource.reader

    def counted(self: Any, partition: str, position: Position, epoch: Any, room: Any) -> Any:
        found.append((partition, epoch))
        return new(self, partition, position, epoch, room)

    monkeypatch.setattr(NativeSource, "reader", counted)
    return found


def turn(partition: str, after: int, to: int, epoch: int = 5) -> Turn:
    begin = Position(sequence=after) if after >= 0 else BEGINNING
    return Turn(partition, epoch, begin, to)


def bodies(numbers: Iterable[int]) -> list[bytes]:
    return [b'{"n":%d}' % number for number in numbers]


def expected(partition: str, first: int, last: int) -> list[tuple[str, int, int]]:
    """Where an event's number is its sequence number."""
    return [(partition, number, number) for number in range(first, last + 1)]


def test_the_turns_of_a_task_are_read_whole_in_order_and_reported(worker: Worker) -> None:
    worker.world.send(bodies(range(3_000)), "0")
    worker.world.send(bodies(range(500)), "1")
    rows = worker.rows(turn("0", 99, 2_499), turn("1", -1, 399))
    assert rows == expected("0", 100, 2_499) + expected("1", 0, 399)
    first, second = worker.desk.reports
    assert (first.batch, first.partition, first.epoch) == (7, "0", 5)
    assert (first.sequence, first.events, first.lost) == (2_499, 2_400, 0)
    assert first.offset != "-1"
    assert first.enqueued_at is not None
    assert first.bytes > 2_400 * 100
    assert (second.partition, second.sequence, second.events) == ("1", 399, 400)


def test_a_turn_that_goes_on_where_the_last_one_ended_costs_no_attach(
    worker: Worker, attaches: list[tuple[str, int | None]]
) -> None:
    worker.world.send(bodies(range(1_000)))
    rows = [row for at in range(-1, 999, 100) for row in worker.rows(turn("0", at, at + 100))]
    assert rows == expected("0", 0, 999)
    assert attaches == [("0", 5)]


def test_what_comes_after_a_turn_is_not_fetched_with_it(
    worker: Worker, attaches: list[tuple[str, int | None]]
) -> None:
    worker.world.send(bodies(range(1_000)))
    worker.rows(turn("0", -1, 99))
    (hub,) = worker.reading._hubs.values()
    assert isinstance(hub, Hub)
    (attached,) = hub._attached.values()
    assert attached.ahead == []
    assert attached.room.waiting_bytes == 0
    worker.rows(turn("0", 99, 199, epoch=6))
    assert attaches == [("0", 5), ("0", 6)]


def test_another_attempt_of_a_task_gives_the_same(worker: Worker) -> None:
    worker.world.send(bodies(range(400)))
    asked = (turn("0", 99, 299),)
    cut_short = worker.batches(*asked)
    next(cut_short)
    cast(Any, cut_short).close()
    assert worker.desk.reports == []
    assert worker.rows(*asked) == worker.rows(*asked) == expected("0", 100, 299)
    one, other = worker.desk.reports
    assert (one.offset, one.sequence, one.events) == (other.offset, other.sequence, other.events)


def test_what_retention_took_is_passed_and_counted(worker: Worker) -> None:
    worker.world.send(bodies(range(100)))
    worker.world.inject("expire_retention", before_sequence=30)
    assert worker.rows(turn("0", 9, 59)) == expected("0", 30, 59)
    (report,) = worker.desk.reports
    assert (report.sequence, report.events, report.lost) == (59, 30, 20)


def test_a_turn_of_which_nothing_is_left_ends(worker: Worker) -> None:
    worker.world.send(bodies(range(100)))
    worker.world.inject("expire_retention", before_sequence=60)
    assert worker.rows(turn("0", 9, 49)) == []
    (report,) = worker.desk.reports
    # It has passed what will never come, so that nothing is planned there again.
    assert (report.sequence, report.events, report.lost) == (49, 0, 40)
    # What came for it belongs to the next turn.
    assert worker.rows(turn("0", 49, 69)) == expected("0", 60, 69)
    assert worker.desk.reports[1].lost == 10


def test_an_end_that_the_hub_never_had_is_refused(worker: Worker) -> None:
    worker.world.send(bodies(range(10)))
    with pytest.raises(SourceError, match="up to 50 were to be read, and the hub says that 9"):
        worker.rows(turn("0", 4, 50))


def test_a_connection_that_is_lost_in_the_middle_loses_and_doubles_nothing(
    worker: Worker,
) -> None:
    worker.world.send([b'{"n":%d,"x":"%s"}' % (n, b"x" * 5_000) for n in range(3_000)])
    rows: list[Any] = []
    for number, batch in enumerate(worker.batches(turn("0", -1, 2_999))):
        rows += batch.to_pydict()["n"]
        if number == 0:
            worker.world.inject("drop_connection", times=1)
    assert rows == list(range(3_000))


def test_where_another_member_reads_the_turn_ends_and_the_others_go_on(worker: Worker) -> None:
    worker.world.send(bodies(range(50)), "0")
    worker.world.send(bodies(range(50)), "1")
    other = Worker(worker.world)
    other.rows(turn("0", -1, 9, epoch=9))
    assert worker.rows(turn("0", -1, 49), turn("1", -1, 49)) == expected("1", 0, 49)
    assert worker.desk.stolen_by == [(7, "0", 5, 9)]
    assert [report.partition for report in worker.desk.reports] == ["1"]
    other.close()


def test_a_reader_that_stands_idle_is_no_matter_once_somebody_else_reads(worker: Worker) -> None:
    worker.world.send(bodies(range(50)))
    worker.rows(turn("0", -1, 9))
    other = Worker(worker.world)
    # The same epoch, as in another worker of the same executor.
    assert other.rows(turn("0", 9, 19)) == expected("0", 10, 19)
    assert worker.rows(turn("0", 19, 29)) == expected("0", 20, 29)
    assert worker.desk.stolen_by == []
    other.close()


def test_another_attempt_that_reads_meanwhile_fails_this_one(worker: Worker) -> None:
    worker.world.send([b'{"n":1,"x":"%s"}' % (b"x" * 20_000) for _ in range(600)])
    batches = worker.batches(turn("0", -1, 599))
    next(batches)
    other = Worker(worker.world)
    next(other.batches(turn("0", -1, 599)))
    with pytest.raises(ReadElsewhereError, match="another attempt of this task reads it"):
        list(batches)
    assert worker.desk.stolen_by == []
    assert worker.desk.reports == []
    other.close()


def test_an_event_that_cannot_be_decoded_fails_the_task_by_name(worker: Worker) -> None:
    worker.world.send([*bodies(range(5)), b"oops", *bodies(range(6, 10))])
    with pytest.raises(UndecodableError, match="partition 0, event 5: its body is not JSON"):
        worker.rows(turn("0", -1, 9))
    assert worker.desk.reports == []


def test_where_such_events_are_put_aside_the_others_are_read(worker: Worker) -> None:
    worker.world.send([*bodies(range(5)), b"oops", *bodies(range(6, 10))])
    rows = worker.rows(turn("0", -1, 9), puts_aside=True)
    assert rows == expected("0", 0, 4) + expected("0", 6, 9)
    (report,) = worker.desk.reports
    assert (report.sequence, report.events, report.aside) == (9, 10, 1)
    (letter,) = map(decode_letter, (text.encode() for text in worker.desk.letters))
    assert (letter.id, letter.body, letter.member) == ("0/5", b"oops", "driver-x1")
    assert "its body is not JSON" in letter.error


def test_a_turn_whose_last_events_are_put_aside_is_read_to_its_end(worker: Worker) -> None:
    worker.world.send([b"one", b"two"])
    assert worker.rows(turn("0", -1, 1), puts_aside=True) == []
    assert worker.desk.reports[0].sequence == 1
    assert worker.rows(turn("0", -1, 1), puts_aside=True) == []
    # Written twice, a letter is one: its name is its place.
    assert len({decode_letter(text.encode()).id for text in worker.desk.letters}) == 2


def test_no_thread_of_a_fetcher_outlives_it(world: SourceWorld) -> None:
    before = threading.active_count()
    worker = Worker(world)
    worker.world.send(bodies(range(3)))
    worker.rows(turn("0", -1, 2))
    worker.close()
    assert threading.active_count() == before
