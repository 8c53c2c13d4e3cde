"""What the server does by the clock, and that nothing keeps it from going on or from stopping."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.wait import wait_until_async
from tidegate_hub import server as serving
from tidegate_hub.config import HubSpec
from tidegate_hub.options import Options
from tidegate_hub.server import HubServer


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are milliseconds."""
    monkeypatch.setattr(serving, "TICK_S", 0.001)
    monkeypatch.setattr(serving, "RETENTION_EVERY_S", 0.001)


@asynccontextmanager
async def running(reported: list[str], directory: Path | None = None) -> AsyncIterator[HubServer]:
    server = HubServer(Options(port=0, data_directory=directory), reported.append)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class Ticking:
    """A client as far as the clock knows it."""

    number = 7

    def __init__(self, error: Exception | None = None) -> None:
        self.ticks = 0
        self._error = error

    def tick(self) -> None:
        self.ticks += 1
        if self._error is not None:
            raise self._error


async def test_a_tick_or_a_duty_that_fails_is_reported_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported: list[str] = []
    async with running(reported) as server:

        def fail(_now_ms: int) -> list[str]:
            raise LookupError("of the test")

        monkeypatch.setattr(server.broker.store, "apply_retention", fail)
        broken, sound = Ticking(ValueError("odd")), Ticking()
        server.clients |= {broken, sound}  # type: ignore[arg-type]
        await wait_until_async(lambda: sound.ticks > 2 and broken.ticks > 2, 5, "several ticks")
        server.clients.clear()
    assert "the tick of connection 7 failed: ValueError('odd')" in reported
    assert reported.count("retention failed: LookupError('of the test')") > 1


async def test_ticks_go_on_during_a_flush_and_a_disk_that_hangs_does_not_keep_the_hub_from_stopping(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(serving, "CLOSE_LIMIT_S", 0.05)
    reported: list[str] = []
    may_end, begun = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        assert may_end.wait(30), "the test did not let the flush end"

    async with running(reported, tmp_path) as server:
        store = server.broker.store
        server.broker.add_hub(HubSpec("telemetry", 1))
        monkeypatch.setattr(type(store), "sync_needed", True)
        monkeypatch.setattr(store, "sync", hang)
        client = Ticking()
        server.clients.add(client)  # type: ignore[arg-type]
        await wait_until_async(begun.is_set, 5, "the flush")
        ticks = client.ticks
        await wait_until_async(lambda: client.ticks > ticks + 2, 5, "ticks during the flush")
        server.clients.clear()
        await asyncio.wait_for(server.stop(), 30)
    assert "the disk hangs: the store was not closed within 0.05 s" in reported
    may_end.set()
    await wait_until_async(lambda: store._closed, 5, "the end of the close")


async def test_a_flush_that_fails_in_an_unknown_way_is_reported_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reported: list[str] = []
    async with running(reported, tmp_path) as server:

        def fail() -> None:
            raise LookupError("of the test")

        with monkeypatch.context() as patch:
            patch.setattr(type(server.broker.store), "sync_needed", True)
            patch.setattr(server.broker.store, "sync", fail)
            line = "the flush to disk failed: LookupError('of the test')"
            await wait_until_async(lambda: reported.count(line) > 1, 5, "a second try")
