"""A reader shows signs of life as long as the user's code is at work, and none after its end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from support.wait import wait_until_async
from tidegate import readers
from tidegate.handlers.context import Context
from tidegate.handlers.partition import PartitionDelivery
from tidegate.keeping import KeepingThread
from tidegate.member.messages import (
    Event,
    OpenReader,
    ReaderClosed,
    ReaderOpened,
    ReaderRefused,
)
from tidegate.model import BEGINNING
from tidegate.ports import Source, SourceEvent, StolenError
from unit.handlers.delivering import QUICK, Delivery


class Silent:
    """A source of one reader, to which nothing comes."""

    known_end = None

    def reader(self, *_: Any) -> Silent:
        return self

    async def open(self) -> None:
        pass

    async def receive(self) -> Sequence[SourceEvent]:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def close(self) -> None:
        pass


class Signs:
    """What the keeper sees."""

    def __init__(self) -> None:
        self.beats = 0
        self.is_forgotten = False

    def beat(self, _: str) -> None:
        assert not self.is_forgotten
        self.beats += 1

    def forget(self, _: str) -> None:
        self.is_forgotten = True


async def nothing(events: Sequence[SourceEvent], context: Context) -> None:
    pass


class Reading:
    """A reader at work, whose handler has this `on_close`."""

    def __init__(self, on_close: Any, source: Silent | None = None, **limits: float) -> None:
        self.told: list[Event] = []
        self.signs = Signs()
        tools = Delivery(nothing, replace(QUICK, **cast(Any, limits)), on_close=on_close).tools
        self.reader = readers.RunningReader(
            OpenReader("3", 1, BEGINNING, 7, None),
            cast(Source, source or Silent()),
            partial(PartitionDelivery, tools),
            self.told.append,
            cast(KeepingThread, self.signs),
            time.monotonic,
        )

    @property
    def kinds(self) -> list[type[Event]]:
        return [type(event) for event in self.told]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_BEAT_S", 0.01)


@pytest.mark.parametrize("kind", ["async", "plain"])
async def test_a_slow_on_close_keeps_the_lease_and_ends_before_the_end_is_told(kind: str) -> None:
    release, released = threading.Event(), asyncio.Event()

    def plain(partition: str, reason: str) -> None:
        assert release.wait(30)

    async def asynchronous(partition: str, reason: str) -> None:
        await released.wait()

    reading = Reading(plain if kind == "plain" else asynchronous)
    running = asyncio.create_task(reading.reader.run())
    await wait_until_async(lambda: reading.told, 10, "the reader to be open")
    reading.reader.ask_to_close(drain=True)
    await wait_until_async(lambda: reading.signs.beats > 3, 10, "signs of life")
    assert reading.kinds == [ReaderOpened]
    release.set()
    released.set()
    await asyncio.wait_for(running, 30)
    assert reading.kinds == [ReaderOpened, ReaderClosed]
    assert reading.signs.is_forgotten


async def test_an_on_close_that_hangs_gives_no_sign_of_life_beyond_its_limits() -> None:
    release = threading.Event()

    def on_close(partition: str, reason: str) -> None:
        assert release.wait(30)

    reading = Reading(on_close, timeout_s=0.1, told_s=0.1)
    running = asyncio.create_task(reading.reader.run())
    await wait_until_async(lambda: reading.told, 10, "the reader to be open")
    reading.reader.ask_to_close(drain=True)
    await asyncio.wait_for(running, 10)
    assert reading.kinds == [ReaderOpened, ReaderClosed]
    assert reading.signs.is_forgotten
    release.set()


class Away(Silent):
    """A source that does not answer: `open` waits for ever."""

    def __init__(self) -> None:
        self.is_opening = asyncio.Event()
        self.was_cancelled = False
        self.is_closed = False

    async def open(self) -> None:
        self.is_opening.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("drain", [True, False])
async def test_a_reader_that_is_asked_to_close_while_it_opens_does_not_wait_for_its_source(
    drain: bool,
) -> None:
    away = Away()
    reading = Reading(None, away)
    running = asyncio.create_task(reading.reader.run())
    await away.is_opening.wait()
    reading.reader.ask_to_close(drain=drain)
    await asyncio.wait_for(running, 10)
    assert reading.kinds == [ReaderClosed]
    assert away.was_cancelled
    assert away.is_closed


async def test_what_a_source_says_while_it_opens_counts_although_it_is_asked_to_close() -> None:
    class Stolen(Silent):
        async def open(self) -> None:
            reading.reader.ask_to_close(drain=True)
            raise StolenError("taken", 9)

    reading = Reading(None, Stolen())
    await asyncio.wait_for(reading.reader.run(), 10)
    assert reading.told == [ReaderRefused(reading.told[0].now, "3", 1, 9)]
