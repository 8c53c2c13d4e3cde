"""A thousand residents' pages open at once on the demo: CPU, memory, and the delay from the sensor.

    make bench-demo-pages
    make bench-demo-pages ENGINE=spark HOMES=20000

The demo is `scripts/demo.py` as `make demo` runs it, with as many homes as it finds to fit, unless
HOMES says how many; the pages are those of homes all over the street. ENGINE is python where it is
not said, since Spark has to be fetched. The machine is shared by all of it: the hub, storage,
sensors, both groups, the page's server, and the thousand readers of this process.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness import Bench, cpu_seconds, make_line, resident_mb
from pages import DELAY_TARGET_S, PAGES, Pages, many_streams, percentile
from tidegate.sending.sensors import home_name

ROOT = Path(__file__).resolve().parents[1]
READY_S, WARM_UP_S = 120.0, 40.0
_LINK = re.compile(r"(http://127\.0\.0\.1:\d+)/h/")
_FITS = re.compile(r"([\d,]+) homes fit")


@dataclass
class Demo:
    """A demo that runs."""

    process: subprocess.Popen[str]
    url: str
    homes: int

    def residents(self) -> psutil.Process:
        """The page's server."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        (found,) = [each for each in children if "residents" in each.cmdline()]
        return found


@contextmanager
def running_demo(seconds: float) -> Iterator[Demo]:
    environment = {"ENGINE": "python"} | os.environ | {"DEMO_SECONDS": f"{seconds:.0f}"}
    command = [sys.executable, "-u", str(ROOT / "scripts" / "demo.py")]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    late = threading.Timer(READY_S, process.send_signal, [signal.SIGINT])
    late.start()
    try:
        yield _ready(process)
    finally:
        late.cancel()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _ready(process: subprocess.Popen[str]) -> Demo:
    """Once everything runs; what it says later is read so that it can go on saying it."""
    assert process.stdout is not None
    said, url, homes = [], "", int(os.environ.get("HOMES") or 0)
    for line in process.stdout:
        said.append(line)
        if found := _LINK.search(line):
            url = found[1]
        if (found := _FITS.search(line)) and not homes:
            homes = int(found[1].replace(",", ""))
        if "everything runs" in line and url:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return Demo(process, url, homes)
    raise SystemExit("the demo did not come up:\n" + "".join(said[-20:]))


async def measure(bench: Bench, demo: Demo, seconds: float) -> None:
    server = demo.residents()
    # As the demo has given it to its own server.
    pages = Pages(demo.url, server.environ()["RESIDENTS_KEY"].encode())
    alone_mb = resident_mb(server.pid)
    async with many_streams() as session:
        begun = time.monotonic()
        homes = [home_name(number * demo.homes // PAGES) for number in range(PAGES)]
        work = [asyncio.create_task(pages.read(session, home)) for home in homes]
        while pages.open < PAGES:
            await asyncio.sleep(0.05)
            for task in work:
                if task.done():
                    task.result()
        opened_s = time.monotonic() - begun
        await asyncio.sleep(WARM_UP_S)
        before, at = cpu_seconds(server.pid), time.monotonic()
        psutil.cpu_percent()
        pages.is_measuring = True
        await asyncio.sleep(seconds)
        took = time.monotonic() - at
        cores = (cpu_seconds(server.pid) - before) / took
        machine = psutil.cpu_percent()
        memory_mb = resident_mb(server.pid)
        for task in work:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait(work)
    bench.add(make_line("homes of the demo", "homes", ours=demo.homes))
    bench.add(make_line("1,000 pages opened", "s", ours=round(opened_s, 2)))
    bench.add(make_line("memory, with 1,000 pages", "MB", ours=round(memory_mb), target=250))
    bench.add(make_line("memory of a page", "kB", ours=round(memory_mb - alone_mb, 1)))
    bench.add(make_line("CPU, with 1,000 pages", "cores", ours=round(cores, 3), target=0.5))
    bench.add(make_line("the whole machine, all of the demo", "%", ours=machine))
    told = len(pages.delays) / took
    bench.add(make_line("new readings told to pages", "1/s", ours=round(told, 1)))
    for name, share, target in (("p50", 0.5, None), ("p95", 0.95, DELAY_TARGET_S)):
        delay = round(percentile(pages.delays, share), 2)
        bench.add(make_line(f"from the sensor to the page, {name}", "s", ours=delay, target=target))


def main() -> None:
    bench = Bench("demo-pages")
    seconds = 8.0 if bench.quick else 60.0
    with running_demo(READY_S + WARM_UP_S + seconds + 60) as demo:
        asyncio.run(measure(bench, demo, seconds))
    bench.finish()


if __name__ == "__main__":
    main()
