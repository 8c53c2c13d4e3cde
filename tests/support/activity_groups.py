"""The example's activity of homes, counted by a Spark driver and a Python member of one group.

    with activity_group(hub, azurite, folder, 8) as activity:
        activity.start()
        with activity.sending(0, 100_000, 300):
            activity.strike("worker", dice)
        activity.wait_until_handled(100_000, 300)
        activity.compared(100_000)

Rules: pipeline and handler are the examples' own; what must come of them is known from the events
alone (numbered_readings.py), and every row is looked at, in both of a slice's files.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet
from azure.storage.blob import BlobServiceClient, ContainerClient

from support.command_group import CommandGroup, HubPlace, a_command_group
from support.driven_group import NAME, DrivenGroup
from support.numbered_readings import truth
from support.struck_driver import DRIVER, start, strike
from support.wait import wait_until
from tidegate.slices.naming import PARQUET, PROJECTION, Version, newest
from tidegate.slices.reading import whole

POD = "pod"
_HERE = Path(__file__).parent
_EXAMPLE = _HERE.parents[1] / "examples" / "home-security"
_SCHEMA = "home string, kind string, value bigint, alarm boolean, at double"
# A machine that others use as well may take minutes to start four JVMs.
_THERE_S = 600.0
_BATCHES = "{batch: {maxEvents: 20000, maxBytes: 16777216, maxWaitSeconds: 2}}"


@dataclass(frozen=True, slots=True)
class Compared:
    """What stands in storage beside what must stand there."""

    slices: int
    rows: int
    wrong: int
    # Versions of slices that a newer one has replaced, and that are still there.
    left_over: int
    # Slices whose Parquet was compared as well.
    tables: int


class ActivityGroup:
    """See the module. Made by `activity_group`."""

    def __init__(self, group: CommandGroup, storage: str, events: str) -> None:
        self.group = group
        self.driven = DrivenGroup(
            group,
            (_EXAMPLE / "pipeline.py").read_text(encoding="utf-8"),
            f"output: {{container: {group.name}-slices, prefix: home-security}}",
            _SCHEMA,
        )
        self.begin_s = round(time.time())
        self.killed: Counter[str] = Counter()
        self._events = events
        self._slices = ContainerClient.from_connection_string(storage, f"{group.name}-slices")
        self._life = 0

    def close(self) -> None:
        self._slices.close()

    # --- what is done to it

    def start(self) -> None:
        """Both, and waits until both are members."""
        start(self.driven)
        self.driven.until_said("executors: 0, 1", _THERE_S)
        self.group.start(POD)
        self.group.wait_for_output(POD, " reading ", _THERE_S)

    def stop(self) -> None:
        self.group.stop(POD)
        self.group.stop(NAME)

    def strike(self, kind: str, dice: random.Random) -> None:
        """Kills one process; a driver comes back with its leases or, every third, without."""
        self.killed[kind] += 1
        if kind == POD:
            self.group.kill(POD)
            self.group.start(POD)
            return
        if kind == DRIVER and dice.random() < 1 / 3:
            self._life += 1
        strike(self.driven, kind, dice, self._life)

    @contextlib.contextmanager
    def sending(self, first: int, end: int, seconds: float) -> Iterator[None]:
        """These readings go to every partition meanwhile; all are sent at its end."""
        told = (self.group.partitions, first, end, seconds, self.begin_s)
        program = [sys.executable, str(_HERE / "numbered_sender.py"), self._events]
        sender = subprocess.Popen(
            [*program, self.group.hub_name, *map(str, told)],
            env={**os.environ, "PYTHONPATH": str(_HERE.parent)},
        )
        try:
            yield
            code = sender.wait(2 * seconds + 300)
        finally:
            sender.kill()
            sender.wait(30)
        if code != 0:
            raise ChildProcessError(f"the sender ended with {code}")

    # --- what came of it

    def wait_until_handled(self, events: int, seconds: float) -> None:
        """Waits until every partition's checkpoint stands at its last event."""
        wanted = {str(number): events - 1 for number in range(self.group.partitions)}
        wait_until(
            lambda: self._stands() == wanted,
            seconds,
            f"{events} events of each partition to be handled",
            lambda: (self._stands(), self.driven.said[-3000:], self.group.output(POD)[-2000:]),
        )

    def _stands(self) -> dict[str, int]:
        found = self.group.listing().checkpoints
        return {partition: each.position.sequence for partition, each in found.items()}

    def compared(self, events: int) -> Compared:
        """Every row of every slice, as it is and as it must be after so many events."""
        names = list(self._slices.list_blob_names())
        there = {
            (start, partition): self._rows(version)
            for (start, partition), version in newest(names).items()
        }
        wanted = {
            (minute, str(partition)): homes
            for partition in range(self.group.partitions)
            for minute, homes in truth(partition, events, self.begin_s).items()
        }
        rows = wrong = 0
        for place in there.keys() | wanted.keys():
            found, right = there.get(place, {}), wanted.get(place, {})
            rows += sum(map(len, right.values()))
            wrong += sum(found.get(home) != right.get(home) for home in found.keys() | right.keys())
        # What a Python member wrote last has none.
        both = set(newest(names).values()) & set(newest(names, PARQUET).values())
        wrong += sum(map(self._wrong_in_parquet, both))
        projections = sum(name.endswith(PROJECTION) for name in names)
        return Compared(len(wanted), rows, wrong, projections - len(there), len(both))

    def _rows(self, version: Version) -> dict[str, list[dict[str, Any]]]:
        _, found = whole(self._read(version, PROJECTION))
        return {home: [dict(row) for row in rows] for home, rows in found}

    def _wrong_in_parquet(self, version: Version) -> int:
        """How many homes a slice's Parquet has otherwise than its projection."""
        rows = self._rows(version)
        table = pyarrow.parquet.read_table(io.BytesIO(self._read(version, PARQUET)))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in table.to_pylist():
            one = {name: row[name] for name in rows[row["home"]][0]}
            found.setdefault(row["home"], []).append(one)
        return sum(found.get(home) != rows.get(home) for home in found.keys() | rows.keys())

    def _read(self, version: Version, suffix: str) -> bytes:
        name = version.name("home-security/activity", suffix)
        return bytes(self._slices.download_blob(name).readall())


@contextlib.contextmanager
def activity_group(
    hub: HubPlace, azurite: str, folder: Path, partitions: int, hub_name: str = ""
) -> Iterator[ActivityGroup]:
    """The group, without anybody in it yet. A hub that is named is there already."""
    with contextlib.ExitStack() as stack:
        made = a_command_group(
            hub, azurite, folder, "", partitions=partitions, delivery=_BATCHES, hub_name=hub_name
        )
        group = stack.enter_context(made)
        group.environment["TMPDIR"] = str(folder)
        # The example's own container is everybody's.
        handler = (_EXAMPLE / "activity.py").read_text(encoding="utf-8")
        mine = handler.replace('BlobSettings("slices"', f'BlobSettings("{group.name}-slices"')
        assert mine != handler
        (group.folder / "handler.py").write_text(mine, encoding="utf-8")
        with BlobServiceClient.from_connection_string(azurite) as service:
            service.create_container(f"{group.name}-slices")
        activity = ActivityGroup(group, azurite, hub.connection_string)
        stack.callback(activity.close)
        yield activity
