"""A thousand residents' pages open at once: CPU, memory, requests, and the delay from the sensor.

    make bench-pages
    make bench-pages HOMES=100000

Homes send all their readings every ten seconds, spread over the time; 100,000 of them send every
minute, as the scenario's do, and a thousand of them have their pages open. The
scenario's own handler counts them and writes the slices to Azurite every two seconds, as a member
does; the page's server, a process of its own, reads them there. Each page is a stream of its own.
Delay: from the time of each reading that is new in what a page is told to when the page has it.

The peer is a server that asks storage for each page by itself, by Azure's own library: a listing of
the minute and a range read each second. What that takes is measured for a few and multiplied.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
from azure.storage.blob.aio import ContainerClient

ROOT = Path(__file__).resolve().parents[1]
HOMES_AT = ROOT / "examples" / "home-security"
for folder in (ROOT / "tests", HOMES_AT):
    sys.path.insert(0, str(folder))

from harness import Bench, cpu_seconds, make_line, resident_mb  # noqa: E402
from residents.links import Link, token_of  # noqa: E402
from support.activity_writer import ActivityWriter, Reading  # noqa: E402
from support.azurite import running_azurite  # noqa: E402
from tidegate.sending.sensors import KINDS, home_name  # noqa: E402
from tidegate.slices.naming import start_text  # noqa: E402

PAGES, PARTITIONS = 1_000, 16
HOMES = int(os.environ.get("HOMES") or PAGES)
IS_LARGE = HOMES > PAGES
WRITES_S, PERIOD_S = 2.0, 60.0 if IS_LARGE else 10.0
PAST_MINUTES = 1 if IS_LARGE else 5
# The past is written in steps: the loop is to hear its answers.
STEP_S = 2.0 if IS_LARGE else 60.0
KEY = b"k" * 43
DELAY_TARGET_S = 5.0
LOOKS_BY_ITSELF = 100


class Sensors:
    """The homes, and the member that counts what they say."""

    def __init__(self, storage: str, homes: int) -> None:
        self._names = [home_name(number) for number in range(homes)]
        self._writer = ActivityWriter(storage, PARTITIONS)
        self._dice = random.Random(1)
        self._said_until = time.time() - PAST_MINUTES * 60

    async def live(self, until: float | None = None) -> None:
        """All that was said since the last time; for ever where no end is said."""
        while until is None or self._said_until < until:
            begin = self._said_until
            end = time.time() if until is None else min(begin + STEP_S, until)
            await self._writer.put(self._said(begin, end))
            self._said_until = end
            if until is None:
                await asyncio.sleep(WRITES_S)

    def _said(self, begin: float, end: float) -> list[Reading]:
        homes = len(self._names)
        first, last = int(begin / PERIOD_S * homes), int(end / PERIOD_S * homes)
        found = []
        for number in range(first, last):
            at = number * PERIOD_S / homes
            for kind in KINDS:
                value = int(self._dice.random() < kind.odds)
                home = self._names[number % homes]
                found.append(Reading(home, kind.name, value, at, bool(value and kind.is_alarm)))
        return found


class Pages:
    """The open pages, and when each was told what."""

    def __init__(self, url: str, key: bytes) -> None:
        self._url = url
        self._key = key
        self.open = 0
        self.delays: list[float] = []
        self.is_measuring = False

    async def read(self, session: aiohttp.ClientSession, home: str) -> None:
        token = token_of(self._key, Link(home, int(time.time()) + 3_600))
        heard: dict[tuple[int, str], int] = {}
        event = ""
        async with session.get(f"{self._url}/h/{token}/live") as answer:
            answer.raise_for_status()
            self.open += 1
            async for line in answer.content:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    event = value
                elif name == "data" and event == "minute":
                    self._hear(heard, json.loads(value))

    def _hear(self, heard: dict[tuple[int, str], int], told: Any) -> None:
        """Every reading that is new, also one that comes after a newer one of another kind."""
        for row in told["rows"]:
            place, at = (told["start"], row[0]), row[7] or 0
            if at > heard.get(place, 0):
                heard[place] = at
                if self.is_measuring:
                    self.delays.append(time.time() - at / 1000)


def many_streams() -> aiohttp.ClientSession:
    """A session for as many streams as one likes, for as long as one likes."""
    connector = aiohttp.TCPConnector(limit=0)
    return aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None))


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


async def cost_by_itself(storage: str) -> float:
    """CPU that a look for one page takes, by Azure's own library."""
    container = ContainerClient.from_connection_string(storage, "slices")
    async with container:
        minute = start_text(int(time.time()) // 60 * 60 - 60)
        begun = cpu_seconds(os.getpid())
        for _ in range(LOOKS_BY_ITSELF):
            beginning = f"home-security/activity/{minute}/"
            names = [each.name async for each in container.list_blobs(name_starts_with=beginning)]
            blob = container.get_blob_client(names[0])
            await (await blob.download_blob(0, 8192)).readall()
        return (cpu_seconds(os.getpid()) - begun) / LOOKS_BY_ITSELF


async def measure(bench: Bench, storage: str, seconds: float) -> None:
    sensors = Sensors(storage, HOMES)
    await sensors.live(until=time.time())
    server = subprocess.Popen(
        [sys.executable, "-m", "residents", "serve", "--listen", "127.0.0.1:0"],
        cwd=HOMES_AT,
        env=os.environ | {"STORAGE": storage, "RESIDENTS_KEY": KEY.decode()},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    url = server.stdout.readline().split()[-1]
    alone_mb = resident_mb(server.pid)
    pages = Pages(url, KEY)
    async with many_streams() as session:
        begun = time.monotonic()
        work = [asyncio.create_task(sensors.live())]
        work += [
            asyncio.create_task(pages.read(session, home_name(number * HOMES // PAGES)))
            for number in range(PAGES)
        ]
        while pages.open < PAGES:
            await asyncio.sleep(0.05)
            failed = [task for task in work if task.done()]
            if failed:
                failed[0].result()
        opened_s = time.monotonic() - begun
        await asyncio.sleep(PERIOD_S)
        before, at = cpu_seconds(server.pid), time.monotonic()
        pages.is_measuring = True
        await asyncio.sleep(seconds)
        took = time.monotonic() - at
        cores = (cpu_seconds(server.pid) - before) / took
        memory_mb = resident_mb(server.pid)
        for task in work:
            task.cancel()
        await asyncio.wait(work)
    server.terminate()
    server.wait()
    told = len(pages.delays) / took
    bench.add(make_line("1,000 pages opened", "s", ours=round(opened_s, 2)))
    bench.add(make_line("memory, with 1,000 pages", "MB", ours=round(memory_mb), target=250))
    bench.add(make_line("memory of a page", "kB", ours=round((memory_mb - alone_mb), 1)))
    peer = round(PAGES * await cost_by_itself(storage), 2)
    bench.add(
        make_line("CPU, with 1,000 pages", "cores", ours=round(cores, 3), peer=peer, target=0.5)
    )
    bench.add(make_line("new readings told to pages", "1/s", ours=round(told, 1)))
    for name, share, target in (("p50", 0.5, None), ("p95", 0.95, DELAY_TARGET_S)):
        delay = round(percentile(pages.delays, share), 2)
        # Of many homes one process here writes what a group's consumers share among themselves.
        due = None if IS_LARGE else target
        bench.add(make_line(f"from the sensor to the page, {name}", "s", ours=delay, target=due))


def main() -> None:
    bench = Bench("pages-of-many-homes" if IS_LARGE else "pages")
    seconds = 8.0 if bench.quick else 40.0
    with tempfile.TemporaryDirectory() as folder, running_azurite(Path(folder)) as storage:
        asyncio.run(measure(bench, storage, seconds))
    bench.finish()


if __name__ == "__main__":
    main()
