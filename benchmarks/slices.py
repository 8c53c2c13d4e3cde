"""What the slices of the scenario cost: 100,000 homes with 6 sensors a minute, 16 partitions.

Each line is for a second of events (10,000 of them), written every two seconds. Ours writes each
open slice anew, whole. The peer is what was weighed against that: the news of each batch as parts,
which become one when the slice closes, and which a page has to read one by one until then. What a
page pays for parts is what it pays for one blob, times the parts of a minute.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from numpy.typing import NDArray

from harness import Bench, make_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.azurite import azurite_process, connection_string
from support.slice_store import MemoryBlobs
from tidegate.delivery.state import State
from tidegate.ledger.access import BlobSettings
from tidegate.model import Position
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.naming import PARQUET, PROJECTION, Version
from tidegate.slices.opening import SUFFIXES, Blobs
from tidegate.slices.reading import home_in
from tidegate.slices.shape import Shape
from tidegate.spark.arriving import Arrived, arrived
from tidegate.spark.contents import Contents
from tidegate.spark.parquet import parquet
from tidegate.spark.positions import Turn
from tidegate.spark.projecting import encoded
from tidegate.spark.slice_writer import SliceWriter

Call = Callable[[Coroutine[Any, Any, Any]], Any]

HOMES = 100_000
KINDS = ["co", "door", "glass", "motion", "smoke", "window"]
PARTITIONS = 16
BATCH_S = 2
MINUTE = 60
START = 1_769_900_340
SHAPE = Shape(
    key="home",
    kinds=("kind",),
    sums=("count", "alarms", "total"),
    least=("least",),
    most=("most", "alarm_at"),
    last=("last",),
    flag="alarms",
).checked()


class Scenario:
    """The aggregates of one batch after another, as Spark hands them over."""

    def __init__(self) -> None:
        self._dice = np.random.default_rng(1)
        self._order = self._dice.permutation(HOMES)
        self._names = pa.array([f"home-{home:06}" for home in range(HOMES)])
        self.numbers = dict.fromkeys(map(str, range(PARTITIONS)), -1)

    def batch(self, number: int) -> tuple[Any, dict[str, Turn]]:
        """What came in these two seconds, and what the batch read of each partition."""
        each = HOMES * BATCH_S // MINUTE
        at = number % (MINUTE // BATCH_S) * each
        homes = np.sort(self._order[at : at + each]).repeat(len(KINDS))
        rows = len(homes)
        whose = homes % PARTITIONS
        sequences = np.empty(rows, np.int64)
        turns = {}
        for partition, last in self.numbers.items():
            mine = np.flatnonzero(whose == int(partition))
            sequences[mine] = np.arange(last + 1, last + 1 + len(mine))
            self.numbers[partition] = last + len(mine)
            place = Position(str(last), last)
            turns[partition] = Turn(partition, 1, place, self.numbers[partition])
        return self._table(number, homes, whose, sequences), turns

    def _table(
        self, number: int, homes: NDArray[Any], whose: NDArray[Any], sequences: NDArray[Any]
    ) -> Any:
        rows = len(homes)
        start = START + number * BATCH_S // MINUTE * MINUTE
        alarm = (self._dice.random(rows) < 0.005).astype(np.int64)
        value = (self._dice.random(rows) < 0.05).astype(np.int64)
        moment = pa.array(np.full(rows, (start + number % 30 * 2) * 1000), mask=alarm == 0)
        return pa.table(
            {
                "partition": pa.array(whose.astype(str).tolist()),
                "minute": pa.array(np.full(rows, start)),
                "sequence": pa.array(sequences),
                "home": self._names.take(pa.array(homes)),
                "kind": pa.array(KINDS * (rows // len(KINDS))),
                "count": pa.array(np.ones(rows, np.int64)),
                "alarms": pa.array(alarm),
                "total": pa.array(value),
                "least": pa.array(value),
                "most": pa.array(value),
                "alarm_at": moment,
                "last": pa.array(value),
            }
        )


def cpu_now(process: psutil.Process) -> float:
    """Processor seconds of a process and of what it started."""
    return float(
        sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))
    )


def written(writer: SliceWriter, batches: int) -> tuple[float, float]:
    """Processor seconds for a second of events, and the longest write."""
    scenario, used, longest = Scenario(), 0.0, 0.0
    states = {name: State(name, None, 1 << 20) for name in scenario.numbers}
    for number in range(batches):
        table, turns = scenario.batch(number)
        before, begun = time.process_time(), time.perf_counter()
        writer.write(news_of(table, turns), turns, states)
        for state in states.values():
            state.commit()
        writer.tidy(scenario.numbers.get)
        used += time.process_time() - before
        longest = max(longest, time.perf_counter() - begun)
    return used / (batches * BATCH_S), longest


class Parts:
    """The peer: a batch's news as blobs of their own, which become one when the slice closes."""

    def __init__(self, blobs: Blobs, call: Call) -> None:
        self._blobs = blobs
        self._call = call
        self._parts: dict[int, dict[str, list[Arrived]]] = {}
        # The whole of a slice takes the place of its last part.
        self._etags: dict[tuple[Version, str], str] = {}

    def write(self, news: Mapping[str, Mapping[int, Arrived]]) -> None:
        files, gone = [], []
        for partition, slices in news.items():
            for start, part in slices.items():
                self._parts.setdefault(start, {}).setdefault(partition, []).append(part)
                files.append((Version(partition, start, part.end), part.contents))
        for start in sorted(self._parts)[:-1]:
            for partition, parts in self._parts.pop(start).items():
                whole = parts[0].contents
                for part in parts[1:]:
                    whole = whole.merged(part.contents)
                gone += [Version(partition, start, part.end) for part in parts[:-1]]
                files.append((Version(partition, start, parts[-1].end), whole))
        self._call(self._lay(files, gone))

    async def _lay(self, files: list[tuple[Version, Contents]], gone: list[Version]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for version, contents in files:
                tasks.create_task(self._put(version, PARQUET, parquet(contents, version)))
                tasks.create_task(self._put(version, PROJECTION, encoded(contents, version)))
        await self._blobs.remove(gone, SUFFIXES)

    async def _put(self, version: Version, suffix: str, data: bytes) -> None:
        key = version, suffix
        self._etags[key] = await self._blobs.put(version, suffix, data, self._etags.get(key, ""))


def written_as_parts(parts: Parts, batches: int) -> float:
    """Processor seconds for a second of events."""
    scenario, used = Scenario(), 0.0
    for number in range(batches):
        table, turns = scenario.batch(number)
        before = time.process_time()
        parts.write(news_of(table, turns))
        used += time.process_time() - before
    return used / (batches * BATCH_S)


def news_of(table: Any, turns: Mapping[str, Turn]) -> dict[str, dict[int, Arrived]]:
    ranges = {name: (turn.after.sequence, turn.to) for name, turn in turns.items()}
    return arrived(table, SHAPE, "minute", ranges)


def main() -> None:
    bench = Bench("slices")
    batches = 31 if bench.quick else 91  # the last closes a minute
    loop = asyncio.new_event_loop()
    call: Call = loop.run_until_complete
    cores, _ = written(SliceWriter("out", SHAPE, 60, MemoryBlobs(), call), batches)
    peer = written_as_parts(Parts(MemoryBlobs(), call), batches)
    bench.add(make_line("merge and encode", "cores", ours=cores, peer=peer, target=0.15))
    with tempfile.TemporaryDirectory() as folder, azurite_process(Path(folder)) as port:
        storage = psutil.Process(psutil.Process().children()[0].pid)
        settings = BlobSettings("out", connection_string=connection_string(port), create=True)
        blobs, others = SliceBlobs(settings, "out"), SliceBlobs(settings, "parts")
        began = cpu_now(storage)
        cores, longest = written(SliceWriter("out", SHAPE, 60, blobs, call), batches)
        between = cpu_now(storage)
        peer = written_as_parts(Parts(others, call), batches)
        ended = cpu_now(storage)
        what = "all, with uploads and removals"
        bench.add(make_line(what, "cores", ours=cores, peer=peer, target=0.25))
        each = 1 / (batches * BATCH_S)
        mine, theirs = (between - began) * each, (ended - between) * each
        bench.add(make_line("the same, in Azurite", "cores", ours=mine, peer=theirs))
        bench.add(make_line("longest write of a batch", "s", ours=longest, target=1.0))
        call(read_homes(bench, blobs))
        call(blobs.close())
        call(others.close())
    loop.close()
    bench.finish()


async def read_homes(bench: Bench, blobs: SliceBlobs) -> None:
    """What a page pays for one home of a full minute; of parts, for each of the 30."""
    version = max(await blobs.versions(Version("0", START, 0)))
    ranges: list[int] = []

    async def read(offset: int, length: int) -> bytes:
        data = await blobs.range(version, PROJECTION, offset, length)
        ranges.append(len(data))
        return data

    used = time.process_time()
    homes = range(0, PARTITIONS * 100, PARTITIONS)
    for home in homes:
        assert await home_in(read, f"home-{home:06}") is not None
    spent = (time.process_time() - used) / len(homes) * 1e3
    reads, parts = len(ranges) / len(homes), MINUTE / BATCH_S
    what = "range reads for one home"
    bench.add(make_line(what, "reads", ours=reads, peer=reads * parts, target=2))
    bench.add(make_line("bytes read for one home", "bytes", ours=sum(ranges) / len(homes)))
    bench.add(make_line("CPU to read one home", "ms", ours=spent, peer=spent * parts))


if __name__ == "__main__":
    main()
