"""The scenario at full size, on Spark: 100,000 homes with 6 sensors, a reading of each a minute.

`tidegate run` with the example's own group file and pipeline reads a hub of 16 partitions, 10,000
events a second, and writes the minutes' slices to storage every two seconds. How far behind it is,
what a batch takes, where the processors' time goes, and whether the slices have every event.

Rules: hub, storage and sender are processes of their own on the same machine, and are listed beside
Spark's. What is measured begins when Spark is warm. MINUTES=… makes it longer, HOMES=… smaller, and
EXECUTORS=… gives it more than one. There is no peer: spark.py has that.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow.compute
import pyarrow.parquet
from azure.storage.blob import ContainerClient

from harness import Bench, make_line
from hub_server import ServedHub, server
from spark_homes import HOMES, KINDS, MINUTE_S

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import azurite_process, connection_string
from tidegate.slices.naming import PARQUET, newest

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "home-security" / "activity-spark.yaml"
HUB, PARTITIONS = "telemetry", 16
MINUTES, WARM_S = 4.0, 60.0
READY_S, CATCH_UP_S, STOP_S = 180.0, 300.0, 60.0
NOT_QUICK = "Spark takes longer to be warm than a quick run: run without QUICK=1"
_SAMPLE = re.compile(r"^(tidegate_\w+)\{[^}]*\} (\S+)$", re.MULTILINE)
# By a word of their command line, the first that fits.
ROLES = (
    ("python_streaming_source_runner", "the planner"),
    ("pyspark.daemon", "executors' Python"),
    ("CoarseGrainedExecutorBackend", "executors' JVM"),
    ("deploy.master.Master", "Spark's master and worker"),
    ("deploy.worker.Worker", "Spark's master and worker"),
    ("SparkSubmit", "the driver's JVM"),
    ("", "the driver's Python"),
)
DRIVER = frozenset(role for _, role in ROLES)


class Driver:
    """`tidegate run`, and all that it has started."""

    def __init__(self, hub: str, storage: str, folder: Path, executors: int) -> None:
        self._said = folder / "driver.log"
        program = Path(sys.executable).with_name("tidegate")
        told = ("--name", "scenario", "--listen", "127.0.0.1:0", "--log-format", "text")
        with self._said.open("wb") as output:
            self._process = subprocess.Popen(
                [program, "run", EXAMPLE, *told, "--executors", str(executors)],
                env={**os.environ, "EVENTS": hub, "STORAGE": storage, "TMPDIR": str(folder)},
                stdout=output,
                stderr=output,
            )
        self.pid = self._process.pid

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8", errors="replace")

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while "executors: 0" not in self.said or self.told().get("tidegate_lag_events") is None:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"the driver did not come up:\n{self.said[-3000:]}")
            time.sleep(0.5)

    def told(self) -> dict[str, list[float]]:
        """Its metrics, by name; nothing where it does not answer."""
        url = re.findall(r"metrics and health at (\S+)", self.said)
        found: dict[str, list[float]] = {}
        if url:
            with suppress(urllib.error.URLError, TimeoutError):
                with urllib.request.urlopen(f"{url[-1]}/metrics", timeout=10) as answer:
                    text = answer.read().decode()
                for name, value in _SAMPLE.findall(text):
                    found.setdefault(name, []).append(float(value))
        return found

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        finally:
            self._process.kill()
            self._process.wait()


@dataclass
class Seen:
    """What was sampled every second."""

    lags: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    # By number: events and seconds.
    batches: dict[float, tuple[float, float]] = field(default_factory=dict)

    def sample(self, driver: Driver) -> None:
        told = driver.told()
        if "tidegate_lag_events" not in told:
            return
        self.lags.append(sum(told["tidegate_lag_events"]))
        self.waits.append(max(told.get("tidegate_lag_seconds") or [0.0]))
        number = told.get("tidegate_spark_last_batch_number")
        if number:
            (events,) = told["tidegate_spark_last_batch_events"]
            (seconds,) = told["tidegate_spark_last_batch_seconds"]
            self.batches[number[0]] = (events, seconds)


def used_by(pids: dict[str, int]) -> dict[str, float]:
    """Processor seconds of everything so far, by what it is."""
    found: defaultdict[str, float] = defaultdict(float)
    for name, pid in pids.items():
        for each in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                command = " ".join(each.cmdline())
                role = name or next(role for word, role in ROLES if word in command)
                found[role] += sum(each.cpu_times()[:2])
    return found


@contextmanager
def sending(hub: str, seconds: float, homes: int) -> Iterator[subprocess.Popen[str]]:
    told = (hub, HUB, PARTITIONS, seconds, homes)
    sender = subprocess.Popen(
        [sys.executable, str(HERE / "spark_homes.py"), *map(str, told)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield sender
    finally:
        sender.kill()
        sender.wait()


def watch(
    driver: Driver, pids: dict[str, int], seconds: float
) -> tuple[Seen, dict[str, float], float]:
    """For so long: what was seen, who used how many cores, and events handled a second."""
    before, handled, begun = used_by(pids), _handled(driver), time.monotonic()
    seen = Seen()
    while time.monotonic() - begun < seconds:
        seen.sample(driver)
        time.sleep(1.0)
    took = time.monotonic() - begun
    cores = {role: (cpu_s - before.get(role, 0.0)) / took for role, cpu_s in used_by(pids).items()}
    return seen, cores, (_handled(driver) - handled) / took


def _handled(driver: Driver) -> float:
    return sum(driver.told().get("tidegate_events_handled_total", [0.0]))


def wait_until_handled(driver: Driver, events: int) -> float:
    """Seconds until everything is handled."""
    begun = time.monotonic()
    while _handled(driver) < events:
        if time.monotonic() - begun > CATCH_UP_S:
            raise TimeoutError(f"{_handled(driver):.0f} of {events} events were handled")
        time.sleep(0.2)
    return time.monotonic() - begun


def counted(storage: str) -> tuple[int, int]:
    """How many readings all slices have together, and how many slices there are."""
    readings = 0
    with ContainerClient.from_connection_string(storage, "slices") as container:
        versions = newest(container.list_blob_names(), PARQUET).values()
        for version in versions:
            name = version.name("home-security/activity", PARQUET)
            data = container.download_blob(name).readall()
            table = pyarrow.parquet.read_table(io.BytesIO(data), columns=["count"])
            readings += pyarrow.compute.sum(table["count"]).as_py()
    return readings, len(versions)


def at(share: float, figures: Sequence[float]) -> float:
    return sorted(figures)[min(int(len(figures) * share), len(figures) - 1)]


def measure(bench: Bench, minutes: float, homes: int, executors: int) -> None:
    rate, seconds = homes * len(KINDS) / MINUTE_S, minutes * 60
    with (
        tempfile.TemporaryDirectory(prefix="bench-spark-") as name,
        azurite_process(Path(name)) as storage_port,
        server("--hub", f"{HUB}:{PARTITIONS}:activity", "--data", f"{name}/hub") as hub,
    ):
        folder, storage = Path(name), connection_string(storage_port)
        address = ServedHub(hub.port).connection_string
        ContainerClient.from_connection_string(storage, "slices").create_container()
        driver = Driver(address, storage, folder, executors)
        try:
            driver.wait_until_ready()
            with sending(address, WARM_S + seconds, homes) as sender:
                time.sleep(WARM_S)
                (azurite,) = (
                    each.pid for each in psutil.Process().children()
                    if "azurite" in " ".join(each.cmdline())
                )  # fmt: skip
                pids = {"": driver.pid, "the hub": hub.pid, "storage": azurite,
                        "the sender": sender.pid}  # fmt: skip
                seen, cores, handled = watch(driver, pids, seconds - 2)
                said, _ = sender.communicate(timeout=CATCH_UP_S)
                sent = int(said)
            behind_s = wait_until_handled(driver, sent)
        finally:
            driver.stop()
        readings, slices = counted(storage)
    add = bench.add
    add(make_line("handled", "events/s", ours=round(handled), target=0.98 * rate, better="more"))
    for share, words in ((0.5, "p50"), (0.95, "p95"), (1.0, "highest")):
        add(make_line(f"lag, {words}", "events", ours=at(share, seen.lags)))
        target = 10.0 if share == 0.95 else None
        wait = round(at(share, seen.waits), 1)
        add(make_line(f"the oldest event waits, {words}", "s", ours=wait, target=target))
    add(make_line("all handled after the last was sent", "s", ours=round(behind_s, 1)))
    for share, words in ((0.5, "p50"), (0.95, "p95")):
        took = [took for _, took in seen.batches.values()]
        add(make_line(f"a batch takes, {words}", "s", ours=round(at(share, took), 2)))
    sizes = [events for events, _ in seen.batches.values()]
    add(make_line("a batch has, p50", "events", ours=at(0.5, sizes)))
    for role, used in sorted(cores.items(), key=lambda each: -each[1]):
        add(make_line(f"CPU of {role}", "cores", ours=round(used, 3)))
    spark = sum(used for role, used in cores.items() if role in DRIVER)
    add(make_line("CPU of all of Spark", "us an event", ours=round(spark / handled * 1e6, 1)))
    add(make_line("slices", "slices", ours=slices))
    add(make_line("readings in slices, off the truth", "events", ours=readings - sent, target=0))


def main() -> None:
    bench = Bench("spark-scenario")
    if bench.quick:
        bench.add(make_line("handled", "events/s", reason=NOT_QUICK))
    else:
        minutes = float(os.environ.get("MINUTES") or MINUTES)
        homes = int(os.environ.get("HOMES") or HOMES)
        measure(bench, minutes, homes, int(os.environ.get("EXECUTORS") or 1))
    bench.finish()


if __name__ == "__main__":
    main()
