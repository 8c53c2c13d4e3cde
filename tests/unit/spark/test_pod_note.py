"""The annotation of a driver's pod: what it says, when it is written, and to whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tidegate.spark.failures import Failure
from tidegate.spark.file_note import FileNote
from tidegate.spark.pod_note import PodNote
from tidegate.spark.standing import ANNOTATION, LastBatch, Standing


class Api:
    """The API server, as far as it is asked; `status` is what it answers."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.now = 100.0

    async def patch(self, request: web.Request) -> web.Response:
        body = json.loads(await request.text())
        note = json.loads(body["metadata"]["annotations"][ANNOTATION])
        self.asked.append((request.path, request.headers["Authorization"], note))
        return web.Response(status=self.status)

    @property
    def notes(self) -> list[dict[str, Any]]:
        return [note for _, _, note in self.asked]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[tuple[Api, str]]:
    served = Api()
    app = web.Application()
    app.router.add_patch("/{tail:.*}", served.patch)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield served, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def note_of(served: tuple[Api, str], standing: Standing, folder: Path) -> PodNote:
    (folder / "token").write_text("a-token\n", encoding="utf-8")
    api, url = served
    return PodNote("homes", "driver-1", standing, account=folder, api=url, clock=lambda: api.now)


async def test_it_says_how_the_driver_stands_as_the_pods_own_account(
    api: tuple[Api, str], tmp_path: Path
) -> None:
    standing = Standing(1_700_000_000.5555)
    standing.began("app-1")
    standing.has(("0", "1"))
    standing.handled(LastBatch(17, 1_700_000_000.1234, 1000, 0.81))
    standing.has_failed(Failure("PipelineFailed", "KeyError: 'home'"))
    async with aiohttp.ClientSession() as session:
        await note_of(api, standing, tmp_path).look(session)
    path, account, note = api[0].asked[0]
    assert (path, account) == ("/api/v1/namespaces/homes/pods/driver-1", "Bearer a-token")
    assert note == {
        "applicationId": "app-1",
        "startedAt": 1_700_000_000.556,
        "phase": "running",
        "executors": 2,
        "restarts": 0,
        "failure": "PipelineFailed: KeyError: 'home'",
        "batch": {"number": 17, "at": 1_700_000_000.123, "events": 1000, "seconds": 0.81},
    }


async def test_what_people_wait_for_is_written_at_once_and_the_rest_now_and_then(
    api: tuple[Api, str], tmp_path: Path
) -> None:
    standing, served = Standing(), api[0]
    note = note_of(api, standing, tmp_path)
    async with aiohttp.ClientSession() as session:
        await note.look(session)
        assert len(served.notes) == 1
        standing.handled(LastBatch(1, 5.0, 10, 0.5))
        await note.look(session)
        assert len(served.notes) == 1
        standing.has_failed(Failure("ExecutorLost", "executors were lost"))
        await note.look(session)
        assert [each["failure"] for each in served.notes] == [
            "",
            "ExecutorLost: executors were lost",
        ]
        standing.has_failed(Failure("ExecutorLost", "executors were lost"))
        await note.look(session)
        assert len(served.notes) == 2
        served.now += 11
        await note.look(session)
        assert len(served.notes) == 2
        standing.handled(LastBatch(2, 6.0, 10, 0.5))
        await note.look(session)
        assert served.notes[-1]["failure"] == ""


async def test_a_note_that_cannot_be_written_is_said_once_and_tried_again(
    api: tuple[Api, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    standing, served = Standing(), api[0]
    note = note_of(api, standing, tmp_path)
    served.status = 403
    async with aiohttp.ClientSession() as session:
        for _ in range(3):
            await note.look(session)
            served.now += 11
        assert len(served.notes) == 3
        served.status = 200
        await note.look(session)
        served.now += 11
        await note.look(session)
    assert len(served.notes) == 4
    said = [each for each in caplog.messages if "cannot be written" in each]
    assert len(said) == 1
    assert "403" in said[0]


class FaultyStanding(Standing):
    """It cannot be told, once."""

    def __init__(self) -> None:
        super().__init__()
        self.is_faulty = True

    def as_json(self) -> dict[str, Any]:
        if self.is_faulty:
            self.is_faulty = False
            raise RuntimeError("dictionary changed size during iteration")
        return super().as_json()


async def test_a_note_that_fails_in_a_way_that_nobody_expected_is_said_and_kept_on(
    api: tuple[Api, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    standing = FaultyStanding()
    keeping = asyncio.create_task(note_of(api, standing, tmp_path).keep())
    standing.began("app-1")
    try:
        async with asyncio.timeout(30):
            while "changed size" not in caplog.text:
                await asyncio.sleep(0.01)
            standing.entered("running")
            while not api[0].notes:
                await asyncio.sleep(0.01)
    finally:
        keeping.cancel()
    assert api[0].notes[0]["applicationId"] == "app-1"


async def test_a_file_is_kept_on_as_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    standing, file = FaultyStanding(), tmp_path / "note"
    keeping = asyncio.create_task(FileNote(file, standing).keep())
    try:
        async with asyncio.timeout(30):
            while not file.exists():
                await asyncio.sleep(0.01)
    finally:
        keeping.cancel()
    assert "changed size" in caplog.text
