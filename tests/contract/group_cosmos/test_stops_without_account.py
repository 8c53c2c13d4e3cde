"""Members that are stopped while their Cosmos account cannot be reached: they leave at once, and
nothing is handled twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from support.container_group import ContainerGroup, a_container_group
from support.tree import ROOT
from support.wait import wait_until
from tidegate_cosmos.testing import RunningCosmos

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

RANGES, ITEMS = 4, 200
STOP_S = 3.0


class CosmosProcess:
    """A server that can be taken away; where it was killed, it comes back at its place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = "0"
        self._start()
        self._port = self.endpoint.rpartition(":")[2].strip("/")

    def _start(self) -> None:
        command = [sys.executable, "-m", "tidegate_cosmos", "serve", "--port", self._port]
        with (self._folder / "out").open("w") as out:
            self.process = subprocess.Popen(
                [*command, "--data", str(self._folder / "data")],
                env=os.environ | {"PYTHONPATH": str(ROOT / "consumer")},
                stdout=out,
                stderr=out,
            )
        wait_until(lambda: "ready" in self._said, 30, "the server to be ready", lambda: self._said)

    @property
    def _said(self) -> str:
        return (self._folder / "out").read_text(encoding="utf-8")

    @property
    def connection_string(self) -> str:
        found = re.search(r"^connection string: (.*)$", self._said, re.MULTILINE)
        assert found is not None
        return found[1]

    @property
    def endpoint(self) -> str:
        return self._part("AccountEndpoint")

    @property
    def key(self) -> str:
        return self._part("AccountKey")

    def _part(self, name: str) -> str:
        parts = dict(part.split("=", 1) for part in self.connection_string.split(";") if part)
        return parts[name]

    def add_container(self, database: str, name: str, path: str, ranges: int) -> None:
        with CosmosClient(self.endpoint, self.key) as client:
            client.create_database_if_not_exists(database).create_container(
                name, PartitionKey(path), offer_throughput=10_000 * ranges
            )

    def take_away(self, way: str) -> None:
        if way == "hanging":
            self.process.send_signal(signal.SIGSTOP)
        else:
            self.process.kill()
            self.process.wait(30)

    def give_back(self, way: str) -> None:
        if way == "hanging":
            self.process.send_signal(signal.SIGCONT)
        else:
            self._start()


@contextmanager
def cosmos_process(folder: Path) -> Iterator[CosmosProcess]:
    folder.mkdir()
    server = CosmosProcess(folder)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait(30)


@pytest.mark.parametrize("way", ["refused", "hanging"])
def test_a_rolling_restart_without_the_account_stops_every_member_at_once_and_repeats_nothing(
    azurite: str, tmp_path: Path, way: str
) -> None:
    with (
        cosmos_process(tmp_path / "server") as server,
        a_container_group(cast(RunningCosmos, server), azurite, tmp_path, ranges=RANGES) as group,
    ):
        group.write(ITEMS)
        group.start("a1", "b1")
        wait_until(lambda: _owners(group) == {"a1": 2, "b1": 2}, 60, "even shares", group.outputs)
        group.wait_until_all_seen(60)
        server.take_away(way)
        took: list[float] = []
        for life in (1, 2):
            for name in ("a", "b"):
                took.append(_stop(group, f"{name}{life}"))
                group.start(f"{name}{life + 1}")
                following = f"{name}{life + 1}"
                wait_until(lambda: following in group.listing().members, 60, "it to join")  # noqa: B023
        server.give_back(way)
        group.write(ITEMS)
        group.wait_until_all_seen(90)
        took += [_stop(group, "a3"), _stop(group, "b3")]
        print(f"Cosmos DB, {way}: stops of {', '.join(f'{s:.2f}' for s in took)} s")
        assert group.repeats() == 0
        assert max(took) < STOP_S


def _owners(group: ContainerGroup) -> dict[str, int]:
    counts: dict[str, Any] = {}
    for row in group.listing().ownerships.values():
        if row.owner is not None and row.lease.is_held:
            counts[row.owner.name] = counts.get(row.owner.name, 0) + 1
    return counts


def _stop(group: ContainerGroup, name: str) -> float:
    asked = time.monotonic()
    group.stop(name)
    return time.monotonic() - asked
