"""Where partitions end: free where the source says it with events, asked for where it does not."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from support.ops_facts import NOW, WALL, handled
from tidegate.commands.ends import Ends, Losses, end_fact, is_to_ask, tell_figures
from tidegate.member.messages import Report
from tidegate.model import PartitionEnd, Position
from tidegate.ops import observer as facts
from tidegate.ops.board import Board, Place
from tidegate.ops.secrets import Secrets
from tidegate.ports import SourceError

NEVER_ASKED = float("-inf")


def place(*, end_at: float | None = None, opened_at: float = NOW - 1000) -> Place:
    made = Place(is_ours=True, opened_at=opened_at)
    if end_at is not None:
        made.end_known(facts.EndKnown(end_at, "0", 99, None))
    return made


def test_a_partition_that_was_just_opened_is_asked_for_at_once() -> None:
    assert is_to_ask(place(), NEVER_ASKED, NOW)
    assert is_to_ask(place(opened_at=NOW), NOW - 1, NOW), "that was of an earlier tenure"
    assert is_to_ask(place(end_at=NOW), NEVER_ASKED, NOW), "where it begins is not known yet"


def test_a_partition_whose_events_tell_the_end_is_asked_for_once_a_minute() -> None:
    assert not is_to_ask(place(end_at=NOW - 4), NOW - 59, NOW)
    assert is_to_ask(place(end_at=NOW - 4), NOW - 60, NOW)


def test_a_partition_of_which_nothing_is_heard_is_asked_for_every_5_s() -> None:
    assert not is_to_ask(place(end_at=NOW - 4.9), NOW - 4.9, NOW)
    assert is_to_ask(place(end_at=NOW - 5), NOW - 5, NOW)
    assert is_to_ask(place(), NOW - 5, NOW), "the answer did not come"
    assert not is_to_ask(place(), NOW - 4, NOW), "it is on its way"


def test_nobody_asks_for_a_partition_of_another_member() -> None:
    assert not is_to_ask(Place(), NEVER_ASKED, NOW)


def test_an_end_is_as_old_as_the_source_told_it() -> None:
    told = end_fact("0", PartitionEnd(99, "9", WALL - 2, WALL - 7, 12), NOW, WALL)
    assert told == facts.EndKnown(NOW - 7, "0", 99, WALL - 2, 12)
    ahead = end_fact("0", PartitionEnd(99, "9", None, WALL + 60), NOW, WALL)
    assert ahead.at == NOW, "the clock on the wall was set back"


def test_a_loss_is_reported_once_with_what_to_do() -> None:
    board, losses = Board("pod-1"), Losses()
    board.hear(facts.ReaderOpened(NOW, "3", 7, Position("10", 10)))
    assert losses.reports(board.places) == []
    board.hear(facts.EndKnown(NOW, "3", 200, None, 50))
    (said,) = losses.reports(board.places)
    assert (said.kind, said.partition) == ("events-lost", "3")
    assert "events 11 to 49 are gone" in said.message
    assert "keep events longer" in said.message
    assert losses.reports(board.places) == []
    board.hear(handled("3", 60))
    board.hear(facts.EndKnown(NOW + 60, "3", 300, None, 80))
    (again,) = losses.reports(board.places)
    assert "events 61 to 79 are gone" in again.message


class Hub:
    """A source and a runtime of two partitions; 1 says nothing, 2 says its end with its events."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def end(self, partition: str) -> PartitionEnd:
        self.asked.append(partition)
        if partition == "1":
            raise SourceError("no answer")
        if partition == "hangs":
            await asyncio.Event().wait()
        return PartitionEnd(50, "5", None, time.time(), 3)

    def known_ends(self) -> dict[str, PartitionEnd]:
        return {"2": PartitionEnd(70, "7", None, time.time())}


async def test_one_partition_that_cannot_be_asked_holds_up_no_other() -> None:
    hub, board = Hub(), Board("pod-1")
    for partition in ("1", "hangs", "0", "2"):
        board.hear(facts.ReaderOpened(time.monotonic(), partition, 7))
    said: list[Report] = []
    ends = Ends(cast(Any, hub), cast(Any, hub), board, board, said.append)
    telling = asyncio.create_task(ends.tell())
    async with asyncio.timeout(30):
        while board.places["0"].end is None or board.places["2"].begins_at is None:
            await asyncio.sleep(0.01)
    telling.cancel()
    await asyncio.gather(telling, return_exceptions=True)
    assert (board.places["0"].end, board.places["0"].begins_at) == (50, 3)
    assert board.places["1"].end is None
    assert sorted(hub.asked) == ["0", "1", "2", "hangs"]
    assert said == []


async def test_what_a_member_announces_of_its_trouble_holds_no_secret() -> None:
    key = "no-form-tells-it-from-a-word"
    said: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    class Announcing:
        def measured(self, *told: Any) -> None:
            if not said.done():
                said.set_result(told[3])

    class Troubled:
        def figures(self, now: float, wall: float) -> dict[str, Any]:
            return {}

        def stuck(self) -> frozenset[str]:
            return frozenset()

        def open_circuits(self) -> frozenset[str]:
            return frozenset()

        def unread(self, now: float) -> tuple[frozenset[str], str]:
            return frozenset("0"), f"on_open failed: ConnectionError: {key} was refused"

    hide = Secrets([key]).hide
    board = Board("pod-1")
    telling = asyncio.create_task(
        tell_figures(cast(Any, Announcing()), board, cast(Any, Troubled()), 60.0, hide)
    )
    assert await asyncio.wait_for(said, 30) == "on_open failed: ConnectionError: *** was refused"
    telling.cancel()
    await asyncio.wait([telling])
