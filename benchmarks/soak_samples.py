"""What the processes of a `tidegate up` hold, and its ledger: looked at now and then, for hours.

Rules: a sample carries both clocks, that of the day and the one that cannot be set; a process is
known by its id and when it began, so that one that was started again is another life. A process
that ends while it is looked at has no sample.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
from azure.storage.blob import ContainerClient

from slopes import Life

MB = 1 << 20
FIGURES = ("memory_mb", "descriptors", "sockets", "threads")


@dataclass(frozen=True, slots=True)
class Sample:
    """Of one life: a process, a ledger."""

    at: float
    monotonic: float
    role: str
    life: str
    values: dict[str, float]


def role_of(words: list[str]) -> str | None:
    """What a process of `tidegate up` is, by its command; None where it is none of interest."""
    command = " ".join(words)
    if "tidegate_hub" in words:
        return "hub"
    if any("azurite" in Path(word).name for word in words[:3]) or "azurite" in command.lower():
        return "storage"
    if words[2:4] == ["tidegate", "run"]:
        for group in ("work", "calm"):
            if f"/{group}-" in command:
                return f"consumer of {group}"
    return None


def sample_of(process: psutil.Process, role: str) -> Sample | None:
    try:
        with process.oneshot():
            values = {
                "memory_mb": process.memory_info().rss / MB,
                "descriptors": float(process.num_fds()),
                "sockets": float(len(process.net_connections(kind="inet"))),
                "threads": float(process.num_threads()),
            }
            life = f"{process.pid}/{process.create_time():.2f}"
    except psutil.Error:
        return None
    return Sample(time.time(), time.monotonic(), role, life, values)


def samples_of(processes: Iterable[psutil.Process]) -> Iterator[Sample]:
    for process in processes:
        try:
            role = role_of(process.cmdline())
        except psutil.Error:
            continue
        found = sample_of(process, role) if role is not None else None
        if found is not None:
            yield found


def ledger_sample(container: ContainerClient) -> Sample:
    """How many blobs it has, and what they and what is said of them take."""
    rows = list(container.list_blobs(include=["metadata"]))
    size = sum(
        row.size + sum(len(key) + len(value) for key, value in (row.metadata or {}).items())
        for row in rows
    )
    values = {"blobs": float(len(rows)), "ledger_kb": size / 1024}
    name = str(container.container_name)
    return Sample(time.time(), time.monotonic(), f"ledger of {name}", name, values)


def lives_of(samples: Iterable[Sample], role: str, figure: str, warm_up_s: float) -> list[Life]:
    """The values of a figure, life by life, without how each life began."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    begun: dict[str, float] = {}
    for sample in samples:
        if sample.role != role or figure not in sample.values:
            continue
        begun.setdefault(sample.life, sample.monotonic)
        if sample.monotonic - begun[sample.life] >= warm_up_s:
            found[sample.life].append((sample.monotonic, sample.values[figure]))
    return list(found.values())


def stood_still_s(moments: list[float], every_s: float) -> float:
    """For how long nothing was looked at although it should have been: the machine stood still."""
    gaps = (after - before for before, after in pairwise(moments))
    return sum(gap for gap in gaps if gap > 4 * every_s)


def task_samples(file: Path, role: str, every_s: float) -> Iterator[Sample]:
    """Tasks of the consumers' loops, as their handler wrote them down, thinned out."""
    last: dict[str, float] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        at, who, _, _, tasks = line.split()
        if float(at) - last.get(who, 0.0) >= every_s:
            last[who] = float(at)
            yield Sample(float(at), float(at), role, who, {"tasks": float(tasks)})


def wrong_totals(file: Path) -> list[str]:
    """Lines whose state had counted something else than all events up to theirs."""
    return [
        line
        for line in file.read_text(encoding="utf-8").splitlines()
        if int(line.split()[3]) != int(line.split()[2]) + 1
    ]
