"""`kubectl consumergroup watch`: what is written, on a terminal and elsewhere, and how it ends."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pyte
import pytest

from support.plugin_api import PluginApi
from support.wait import wait_until_async
from tidegate_http.output import NOT_READ
from tidegate_operator.kube import connect
from tidegate_operator.kube_errors import NotThere
from tidegate_operator.plugin.cluster import Cluster
from tidegate_operator.plugin.watching import watch
from unit.operator.plugin_groups import NAME, NAMESPACE, group

COLUMNS, ROWS = 90, 14
SECONDS = 20.0


class ATerminal(io.StringIO):
    """What a person looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self.screen)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._stream.feed(text)
        return super().write(text)

    def shows(self, words: str) -> Callable[[], bool]:
        return lambda: any(words in line for line in self.screen.display)


@pytest.fixture
async def cluster(
    groups_api: PluginApi, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    config = groups_api.kubeconfig(tmp_path_factory.mktemp("kube"), NAMESPACE)
    kube = connect(kubeconfig=str(config))
    yield Cluster(kube, NAMESPACE)
    await kube.close()


@asynccontextmanager
async def watching(
    cluster: Cluster, stream: io.StringIO, *, as_json: bool = False
) -> AsyncIterator[asyncio.Task[int]]:
    """A watch that looks all the time, and is ended with the block."""
    task = asyncio.create_task(
        watch(
            cluster, NAME, as_json=as_json, every_s=0.02, environment={"TERM": "xterm"},
            stream=stream, size=lambda: (COLUMNS, ROWS),
        )
    )  # fmt: skip
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def moved(groups_api: PluginApi) -> None:
    document = group()
    document["status"]["partitionStates"][0]["owner"] = "home-z"
    groups_api.put_group(document)


async def test_a_terminal_shows_the_group_as_it_changes(
    groups_api: PluginApi, cluster: Cluster
) -> None:
    terminal = ATerminal()
    async with watching(cluster, terminal):
        await wait_until_async(terminal.shows("home-b"), SECONDS, "the group on the screen")
        assert not terminal.shows("home-z")()
        moved(groups_api)
        await wait_until_async(terminal.shows("home-z"), SECONDS, "the new owner on the screen")


async def test_sigterm_ends_it_well_and_gives_the_terminal_back(cluster: Cluster) -> None:
    terminal = ATerminal()
    async with watching(cluster, terminal) as task:
        await wait_until_async(terminal.shows("home-b"), SECONDS, "the group on the screen")
        os.kill(os.getpid(), signal.SIGTERM)
        assert await asyncio.wait_for(task, SECONDS) == 0
    assert terminal.getvalue().endswith("\x1b[?1049l")


async def test_programs_get_a_document_a_line_for_each_change(
    groups_api: PluginApi, cluster: Cluster
) -> None:
    out = io.StringIO()
    async with watching(cluster, out, as_json=True):
        await wait_until_async(lambda: out.getvalue().count("\n") == 1, SECONDS, "a line")
        moved(groups_api)
        await wait_until_async(lambda: out.getvalue().count("\n") == 2, SECONDS, "another line")
    owners = [
        json.loads(line)["partitionStates"][0]["owner"] for line in out.getvalue().splitlines()
    ]
    assert owners == ["home-a", "home-z"]


async def test_a_group_that_goes_is_said_and_is_shown_again_when_it_is_back(
    groups_api: PluginApi, cluster: Cluster
) -> None:
    terminal = ATerminal()
    async with watching(cluster, terminal):
        await wait_until_async(terminal.shows("home-b"), SECONDS, "the group on the screen")
        groups_api.objects.clear()
        await wait_until_async(terminal.shows("there is no group"), SECONDS, "that it is gone")
        assert terminal.shows("home-b")()
        groups_api.put_group(group())
        await wait_until_async(
            lambda: not terminal.shows("there is no group")(), SECONDS, "the group again"
        )


async def test_a_group_that_is_not_there_is_not_waited_for(cluster: Cluster) -> None:
    with pytest.raises(NotThere, match="did you mean 'home-activity'"):
        await watch(cluster, "home-activit", as_json=False, every_s=1.0, environment={})


def test_it_ends_when_its_reader_has_gone_although_nothing_changes(
    groups_api: PluginApi, tmp_path: Path
) -> None:
    reads, writes = os.pipe()
    words = ["watch", NAME, "-o", "json", "--every-s", "0.1", "--kubeconfig"]
    program = Path(sys.executable).with_name("kubectl-consumergroup")
    watching = subprocess.Popen(
        [program, *words, groups_api.kubeconfig(tmp_path, NAMESPACE)],
        stdout=writes, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writes)
    try:
        with os.fdopen(reads) as lines:
            assert json.loads(lines.readline())["name"] == NAME
        _, said = watching.communicate(timeout=SECONDS)
    finally:
        watching.kill()
    assert (watching.returncode, said) == (NOT_READ, "")
