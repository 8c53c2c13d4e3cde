"""The pipeline of the examples and its Python handler count the same readings the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet
import pytest
from azure.storage.blob import ContainerClient

import activity
from support.activity_readings import PARTITIONS, Numbered, numbered_readings, portions
from support.slice_store import MemoryBlobs
from support.tree import ROOT
from tidegate.delivery.state import State
from tidegate.model import Position
from tidegate.slices.naming import PARQUET, PROJECTION, version_of
from tidegate.slices.reading import whole

SEED = 7
GROUP_FILE = ROOT / "examples" / "home-security" / "activity-spark.yaml"
EVENTS = "Endpoint=sb://localhost;SharedAccessKeyName=k;SharedAccessKey=s"


class Member:
    """The partitions of the handler, each with its checkpoint."""

    def __init__(self) -> None:
        self.contexts = {
            partition: SimpleNamespace(
                partition=partition,
                position=Position("-1", -1),
                checkpointed=Position("-1", -1),
                state=State(partition, None, 1 << 20),
                memory={},
            )
            for partition in PARTITIONS
        }

    async def handle(self, events: Sequence[Numbered]) -> None:
        for partition, context in self.contexts.items():
            mine = [event for event in events if event.partition == partition]
            if mine:
                await activity.handle(mine, context)
                number = mine[-1].sequence_number
                context.position = context.checkpointed = Position(str(number), number)
                context.state.commit()
                await activity.on_time(context)


async def by_handler(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    blobs = MemoryBlobs("home-security/activity")
    monkeypatch.setattr(activity, "_opened", [blobs])
    member = Member()
    for events in portions(numbered_readings(SEED), 333):
        await member.handle(events)
    return blobs.blobs


def by_spark(storage: str, java_home: Path) -> dict[str, bytes]:
    program = ROOT / "tests" / "support" / "activity_on_spark.py"
    environment = os.environ | {
        "EVENTS": EVENTS,
        "STORAGE": storage,
        "JAVA_HOME": str(java_home),
        "PYTHONPATH": str(ROOT / "tests"),
        "PYSPARK_PYTHON": sys.executable,
    }
    ended = subprocess.run(
        [sys.executable, str(program), str(GROUP_FILE), str(SEED), "500"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    with ContainerClient.from_connection_string(storage, "slices") as container:
        names = [blob.name for blob in container.list_blobs()]
        return {name: container.download_blob(name).readall() for name in names}


@pytest.mark.slow
async def test_both_engines_leave_the_same_bytes_and_the_true_totals(
    azurite: str, java_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = await by_handler(monkeypatch)
    others = by_spark(azurite, java_home)
    assert {name: data for name, data in others.items() if name.endswith(PROJECTION)} == mine
    usable = [
        reading
        for event in numbered_readings(SEED)
        if (reading := activity.reading_of(event)) is not None
    ]
    rows = [row for data in mine.values() for _, found in whole(data)[1] for row in found]
    assert sum(int(row["count"] or 0) for row in rows) == len(usable)
    assert sum(int(row["total"] or 0) for row in rows) == sum(reading[2] for reading in usable)
    assert sum(int(row["alarms"] or 0) for row in rows) == sum(reading[4] for reading in usable)
    assert len(usable) < len(numbered_readings(SEED))

    counted = 0
    for name, data in others.items():
        parsed = version_of(name)
        if parsed is not None and parsed[1] == PARQUET:
            (tmp_path / "slice.parquet").write_bytes(data)
            table = pyarrow.parquet.read_table(tmp_path / "slice.parquet")
            assert set(table.column("partition").to_pylist()) == {parsed[0].partition}
            counted += sum(table.column("count").to_pylist())
    assert counted == len(usable)
