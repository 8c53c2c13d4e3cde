"""What the operator asks of a container, and behind what: a round of questions, and no service."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, cast

import pytest

from tidegate.model import BEGINNING, Checkpoint, Listing, PartitionEnd, PartitionId, Position
from tidegate.ports import SourceError
from tidegate.sources.cosmos.budget import Budget
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.places import Feed, Place, place_of
from tidegate.sources.cosmos.ranges import range_of
from tidegate.sources.cosmos.source import CosmosSource
from tidegate.sources.start import Start
from tidegate_operator.containers import UNITS_PER_S, ends_of_container
from tidegate_operator.model import Ends


class Asked:
    """A source that is asked; one or more of its ranges do not answer."""

    def __init__(self, silent: Collection[PartitionId] = (), units: float = 0.0) -> None:
        self.lineage = FeedRanges()
        self.budget = Budget()
        self.behind: dict[PartitionId, Position | None] = {}
        self.at_once = self.most_at_once = 0
        self._silent = silent
        self._units = units

    async def end_behind(self, partition: PartitionId, behind: Position | None) -> PartitionEnd:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        self.behind[partition] = behind
        self.budget.spend(self._units, 0.0)
        if partition in self._silent:
            raise SourceError("no answer")
        return PartitionEnd(7, "", None, 0.0)


def stands(id: PartitionId, lsn: int, *into: PartitionId) -> Checkpoint:
    range = range_of(id)
    assert range is not None
    position = Place("R=", (Feed(range, f'"{lsn}"', lsn),), into=into).position
    return Checkpoint(id, "e", position, 3, "n")


def seen(*rows: Checkpoint) -> Listing:
    return Listing({}, {row.partition: row for row in rows}, {}, None, 0.0)


async def asked(
    source: Asked, *known: PartitionId, listing: Listing | None = None, start: str = "latest"
) -> Ends:
    found = cast(CosmosSource, cast(Any, source))
    return await ends_of_container(found, known, listing, Start(start))


async def test_each_range_is_asked_behind_its_checkpoint() -> None:
    source, row = Asked(), stands("-20", 5)
    ends = await asked(source, "-20", "20-ff", listing=seen(row))
    assert source.behind == {"-20": row.position, "20-ff": None}
    assert [end and end.sequence for end in ends.partitions.values()] == [7, 7]
    assert ends.known == ("-20", "20-ff")


@pytest.mark.parametrize(("start", "behind"), [("latest", None), ("earliest", BEGINNING)])
async def test_a_range_that_nobody_has_read_is_asked_behind_where_the_group_begins(
    start: str, behind: Position | None
) -> None:
    source = Asked()
    await asked(source, "-ff", start=start)
    assert source.behind == {"-ff": behind}


async def test_the_ledger_says_which_partitions_there_are_and_parts_are_asked_where_it_ended() -> (
    None
):
    source = Asked()
    ends = await asked(source, "-ff", listing=seen(stands("-ff", 9, "-20", "20-ff")))
    assert list(ends.partitions) == ["-20", "20-ff"]
    assert ends.known == ("-ff",), "what the service said is told as it is"
    for id, behind in source.behind.items():
        assert behind is not None
        assert [feed.range.id for feed in place_of(behind, id).feeds] == [id]


async def test_a_range_that_does_not_answer_is_unknown_and_the_others_count() -> None:
    ends = await asked(Asked(silent=["-20"]), "-20", "20-ff")
    assert ends.partitions["-20"] is None
    assert ends.partitions["20-ff"] is not None


async def test_ranges_are_asked_one_after_the_other_within_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each question costs what three seconds earn: after each, so long is waited."""
    slept: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    source = Asked(units=3 * UNITS_PER_S)
    monkeypatch.setattr("tidegate_operator.containers.time.monotonic", lambda: 0.0)
    monkeypatch.setattr("tidegate_operator.containers.asyncio.sleep", sleep)
    await asked(source, "-10", "10-20", "20-ff")
    assert source.most_at_once == 1
    assert sum(seconds > 0 for seconds in slept) == 3
    assert max(slept) == pytest.approx(3 * 3)
