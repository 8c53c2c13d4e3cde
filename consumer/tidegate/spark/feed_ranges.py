"""The range that `spark.read` reads of a container: a turn of each feed range.

Rules: how far each range has come is asked when the query is planned, and nothing behind that is
read. A time is that of the changes, in whole seconds as the service keeps it: `from` and what comes
then, before `to`.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.model import NO_SEQUENCE, PartitionId
from tidegate.settings import SettingsError
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import range_of
from tidegate.sources.cosmos.settings import FeedMode
from tidegate.spark.container_place import ContainerPlace
from tidegate.spark.options import EARLIEST, LATEST, BatchOptions
from tidegate.spark.positions import RangeEnd, Turn

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource


@dataclass(frozen=True, slots=True)
class Times:
    """When changes were written that are wanted, in seconds since 1970."""

    begin: float | None = None
    end: float | None = None

    @classmethod
    def of(cls, options: BatchOptions) -> Times:
        return cls(options.begin.at, options.end.at)

    def has(self, at: float | None) -> bool:
        if at is None:
            return True
        return (self.begin is None or at >= self.begin) and (self.end is None or at < self.end)


ALL_TIMES = Times()


def check(place: ContainerPlace, options: BatchOptions) -> None:
    """Raises SettingsError."""
    if options.consumer_group:
        raise SettingsError(
            "option 'consumerGroup' says nothing to a container, which lets everybody read: leave "
            "it out"
        )
    if place.feed.mode is FeedMode.ALL_VERSIONS_AND_DELETES:
        raise SettingsError(
            "spark.read goes back, and a feed of allVersionsAndDeletes can be read from now on "
            "alone: use spark.readStream, or a group file with mode: latestVersion"
        )


async def feed_turns(place: ContainerPlace, options: BatchOptions) -> list[Turn]:
    """Raises SourceError and SettingsError."""
    check(place, options)
    async with AsyncExitStack() as stack:
        credential: Any = None
        if place.has_identity:
            # Imported here: only who uses an identity pays the time that this import takes.
            from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

            credential = await stack.enter_async_context(DefaultAzureCredential())
        source = place.source(credential)
        stack.push_async_callback(source.close)
        names = _wanted(await source.partitions(), options)
        turns = await asyncio.gather(*(_turn(source, name, options) for name in names))
        return [turn for turn in turns if turn is not None]


def _wanted(partitions: tuple[PartitionId, ...], options: BatchOptions) -> list[PartitionId]:
    """Those that both places name, where they name any."""
    named = [place.sequences for place in (options.begin, options.end) if place.sequences]
    unknown = [name for numbers in named for name in numbers if name not in partitions]
    if unknown:
        raise SettingsError(
            f"options 'from' and 'to': the container has no range '{unknown[0]}' now; it has "
            f"{', '.join(partitions)}"
        )
    return [name for name in partitions if all(name in numbers for numbers in named)]


async def _turn(source: CosmosSource, partition: PartitionId, options: BatchOptions) -> Turn | None:
    range = range_of(partition)
    assert range is not None, "a range of the service"
    begin, to = options.begin, options.end
    if begin.end == LATEST or to.end == EARLIEST:
        return None
    lsn = begin.sequences[partition] - 1 if begin.sequences else NO_SEQUENCE
    after = Place("", (Feed(range, None, lsn, begin.at),)).position
    last = to.sequences[partition] if to.sequences else None
    reach = (await source.reach(partition, after)).reach
    ends = [each.end if last is None else min(each.end, last) for each in reach]
    if max(ends) <= lsn:
        return None
    found = tuple(
        RangeEnd(each.range.id, min(each.base, end), end)
        for each, end in zip(reach, ends, strict=True)
    )
    return Turn(partition, 0, after, max(ends), ends=found)
