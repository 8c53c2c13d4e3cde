"""How far the hub's partitions have come: what is known, and what is said where some is not."""

from __future__ import annotations

import asyncio

import pytest

from tidegate.model import BEGINNING, PartitionEnd, PartitionId
from tidegate.ports import SourceError
from tidegate.spark import hub_ends
from tidegate.spark.hub_ends import HubEnds


class PlayedHub:
    """A hub of three partitions, of which some cannot be asked."""

    def __init__(self) -> None:
        self.away: set[PartitionId] = set()
        self.silent: set[PartitionId] = set()

    async def partitions(self) -> tuple[PartitionId, ...]:
        return ("0", "1", "2")

    async def end(self, partition: PartitionId) -> PartitionEnd:
        if partition in self.away:
            raise SourceError("the link is gone")
        if partition in self.silent:
            await asyncio.Event().wait()
        return PartitionEnd(9, "9", 1.0, 2.0)


def ends_of(hub: PlayedHub) -> HubEnds:
    return HubEnds(hub, lambda partition, end: None)  # type: ignore[arg-type]


async def test_all_ends_are_known_or_it_is_an_error() -> None:
    hub = PlayedHub()
    ends = ends_of(hub)
    assert (await ends.ask_all()).keys() == {"0", "1", "2"}
    hub.away = {"1"}
    # What it said before may be old: events that came since would be left out in silence.
    with pytest.raises(SourceError, match=r"1 of its 3 partitions.*partition 1: the link is gone"):
        await ends.ask_all()


async def test_a_partition_that_does_not_answer_is_an_error_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub_ends, "ROUND_S", 0.05)
    hub = PlayedHub()
    hub.silent = {"2"}
    with pytest.raises(SourceError, match="partition 2: no answer within"):
        await ends_of(hub).ask_all()


async def test_a_round_says_its_own_troubles_and_keeps_what_was_heard() -> None:
    hub = PlayedHub()
    ends = ends_of(hub)
    hub.away = {"1"}
    await ends.ask({"0": BEGINNING, "1": BEGINNING})
    assert ends.troubles == {"1": "the link is gone"}
    with pytest.raises(SourceError):
        await ends.ask_all()
    assert ends.troubles == {"1": "the link is gone"}, "the planner's own round says so"
    hub.away = set()
    await ends.ask({"0": BEGINNING, "1": BEGINNING})
    assert (ends.troubles, set(ends.known)) == ({}, {"0", "1", "2"})
