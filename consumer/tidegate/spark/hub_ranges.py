"""The range that `spark.read` reads of a hub: a turn of each partition. See batch_reader.py."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from tidegate.model import BEGINNING, NO_SEQUENCE, PartitionId, Position
from tidegate.ports import StolenError
from tidegate.settings import SettingsError
from tidegate.sources.eventhubs import NativeSource, Start
from tidegate.sources.native.requests import PartitionFacts
from tidegate.sources.start import From, resolve
from tidegate.spark.hub_place import HubPlace
from tidegate.spark.options import EARLIEST, LATEST, BatchOptions, Place
from tidegate.spark.positions import Turn


async def hub_turns(hub: HubPlace, options: BatchOptions) -> list[Turn]:
    """Raises SourceError and SettingsError."""
    async with AsyncExitStack() as stack:
        credential: Any = None
        if hub.has_identity:
            # Imported here: only who uses an identity pays the time that this import takes.
            from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

            credential = await stack.enter_async_context(DefaultAzureCredential())
        source = hub.source(credential)
        stack.push_async_callback(source.close)
        names = _wanted(await source.partitions(), options)
        turns = await asyncio.gather(*(_turn(source, hub, name, options) for name in names))
        return [turn for turn in turns if turn is not None]


def _wanted(partitions: tuple[PartitionId, ...], options: BatchOptions) -> list[PartitionId]:
    """Those that both places name, where they name any."""
    for name, place in (("from", options.begin), ("to", options.end)):
        unknown = [partition for partition in place.sequences if partition not in partitions]
        if unknown:
            raise SettingsError(
                f"option '{name}': the hub has no partition '{unknown[0]}'; it has "
                f"{', '.join(partitions)}"
            )
    return [
        partition
        for partition in partitions
        if all(
            not place.sequences or partition in place.sequences
            for place in (options.begin, options.end)
        )
    ]


async def _turn(
    source: NativeSource, hub: HubPlace, partition: PartitionId, options: BatchOptions
) -> Turn | None:
    facts = await source.facts(partition)
    try:
        begin = await _after(source, partition, options.begin, facts)
        end = await _up_to(source, partition, options.end, facts)
    except StolenError as error:
        raise competes(hub, partition) from error
    # What retention took is not there to be read.
    if begin.sequence < facts.first_sequence - 1:
        begin = BEGINNING
    is_empty = facts.end.enqueued_at is None
    first = max(begin.sequence + 1, facts.first_sequence)
    return None if is_empty or end < first else Turn(partition, 0, begin, end)


async def _after(
    source: NativeSource, partition: PartitionId, place: Place, facts: PartitionFacts
) -> Position:
    """What is read begins behind this position."""
    if place.end == LATEST:
        return Position(facts.end.offset, facts.end.sequence)
    if place.end == EARLIEST:
        return BEGINNING
    if place.at is not None:
        return await _before(source, partition, place.at, facts)
    return Position(sequence=place.sequences[partition] - 1)


async def _up_to(
    source: NativeSource, partition: PartitionId, place: Place, facts: PartitionFacts
) -> int:
    """The last event that is read, and with it."""
    last = facts.end.sequence
    if place.end == LATEST:
        return last
    if place.end == EARLIEST:
        return NO_SEQUENCE
    if place.at is not None:
        return (await _before(source, partition, place.at, facts)).sequence
    return min(place.sequences[partition], last)


async def _before(
    source: NativeSource, partition: PartitionId, at: float, facts: PartitionFacts
) -> Position:
    """The last event that was enqueued before a time; the beginning where there is none."""

    async def known() -> PartitionFacts:
        return facts

    async def first(place: From) -> Any:
        return await source.first(partition, place)

    return await resolve(Start("time", at=at), known, first)


def competes(hub: HubPlace, partition: PartitionId) -> SettingsError:
    """A member of a group reads there."""
    return SettingsError(
        f"hub '{hub.hub}', consumer group '{hub.group}', partition {partition}: a member of a "
        "group reads it, and the hub lets nobody else in. Give this read a consumer group of its "
        "own, by option 'consumerGroup'."
    )
