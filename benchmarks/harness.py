"""What every benchmark shares: lines of figures, a table, a results file, and how to measure.

Rules: a benchmark measures the peer and ours side by side in one run, on one machine. A figure
that a run could not have is null with its reason, never one from an older run. `QUICK=1` asks for
a run under 45 s, whose results do not go over those of a whole one, and `PARTS=virtual,real`, where
a benchmark has parts, for these alone: the lines of the others are null, and say so. Results are
kept by runs.py. Benchmarks are programs of their own, never run inside a test.

    bench = Bench("hub")
    bench.add(make_line("start", "s", ours=0.2, target=0.3))
    bench.add(make_line("serve an event", "us of CPU", ours=1.1, peer=34.0, target=1.5))
    bench.add(make_line("ingest", "events/s", ours=250e3, target=200e3, better="more"))
    bench.add(make_line("10 million events", "MB", reason="takes minutes: run without QUICK=1"))
    bench.finish()
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

import psutil

import runs

RESULTS = Path(__file__).resolve().parent / "results"
MB = 1_000_000
COLUMNS = ("what", "unit", "ours", "peer", "ratio", "target", "met")

Better = Literal["less", "more"]


@dataclass(frozen=True, slots=True)
class Line:
    """One figure. `ratio` is how many times better ours is; `met` is None without a target."""

    what: str
    unit: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: float | None
    met: bool | None
    reason: str | None = None

    def as_json(self) -> dict[str, object]:
        """The line as the results file has it: `reason` only where there is one."""
        fields = asdict(self)
        if self.reason is None:
            del fields["reason"]
        return fields


def make_line(
    what: str,
    unit: str,
    *,
    ours: float | None = None,
    peer: float | None = None,
    target: float | None = None,
    better: Better = "less",
    reason: str | None = None,
) -> Line:
    """Judge one figure. Refuses a line with no figure of ours and no reason for that."""
    if ours is None and not reason:
        raise ValueError(f"'{what}' has no figure of ours: give the reason, for instance QUICK=1")
    ratio = None
    if ours is not None and peer is not None:
        above, below = (ours, peer) if better == "more" else (peer, ours)
        ratio = round(above / below, 3) if below else None
    met = None
    if target is not None and ours is not None:
        met = ours >= target if better == "more" else ours <= target
    return Line(what, unit, ours, peer, ratio, target, met, reason)


def table(lines: Sequence[Line]) -> str:
    """The lines as text, columns aligned, reasons below."""
    rows = [COLUMNS, *(tuple(_cell(getattr(line, column)) for column in COLUMNS) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    text = "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    reasons = [f"{line.what}: {line.reason}" for line in lines if line.reason]
    return "\n".join([text, *reasons])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float | int):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


class Bench:
    """The lines of one run, printed as they come and written at the end."""

    def __init__(self, name: str, results: Path = RESULTS) -> None:
        self.name = name
        self.quick = is_quick(os.environ)
        self.lines: list[Line] = []
        self._results = results
        self._begun = time.monotonic()
        self._load = os.getloadavg()[0]
        mode = "quick run" if self.quick else "full run"
        print(f"bench-{name}: {mode}, {os.cpu_count()} cores, Python {platform.python_version()}")

    def add(self, line: Line) -> None:
        """Add a figure; it is printed at once, so that a long run shows where it is."""
        self.lines.append(line)
        beside = "" if line.peer is None else f", peer {_cell(line.peer)}"
        print(f"  {line.what}: {_cell(line.ours)} {line.unit}{beside}", flush=True)

    def finish(self) -> None:
        """Print the table and the targets that were missed, and write the results file."""
        # A quick run does not write over the figures of a whole one.
        folder = self._results / "quick" if self.quick else self._results
        seconds = time.monotonic() - self._begun
        lines = [line.as_json() for line in self.lines]
        path = runs.keep(folder, self.name, runs.made(lines, seconds, self._load))
        print(f"\n{table(self.lines)}\n")
        missed = [line.what for line in self.lines if line.met is False]
        print(f"{seconds:.0f} s; written to {path}")
        if missed:
            print(f"Targets missed: {', '.join(missed)}")


def parts_of(environment: Mapping[str, str], known: Sequence[str]) -> frozenset[str]:
    """The parts that were asked for by PARTS: all where nothing was said."""
    asked = [name.strip() for name in environment.get("PARTS", "").split(",") if name.strip()]
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise SystemExit(f"PARTS: there is no part '{unknown[0]}'; there are {', '.join(known)}")
    return frozenset(asked or known)


def left_out(line: Line, part: str) -> Line:
    """The line of a part that was not asked for."""
    reason = f"PARTS left out '{part}'"
    return replace(line, ours=None, peer=None, ratio=None, met=None, reason=reason)


def is_quick(environment: Mapping[str, str]) -> bool:
    """Whether a run under 45 s was asked for."""
    return environment.get("QUICK", "") not in ("", "0")


def cpu_seconds(pid: int) -> float:
    """User and system time that a process has used so far, all of its threads."""
    used = psutil.Process(pid).cpu_times()
    return float(used.user + used.system)


def resident_mb(pid: int) -> float:
    """Resident memory of a process now."""
    return float(psutil.Process(pid).memory_info().rss) / MB


def resident_peak_mb(pid: int) -> float:
    """The most resident memory that a process has had."""
    for row in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if row.startswith("VmHWM:"):
            return float(row.split()[1]) * 1024 / MB
    raise ProcessLookupError(f"process {pid} has ended: there is no memory to measure")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a finished program took, and what it printed."""

    wall_s: float
    cpu_s: float
    output: str


def timed(command: Sequence[str], *, timeout_s: float, cwd: Path | None = None) -> Ran:
    """Run a program to its end and measure it; raises CalledProcessError where it fails."""
    begun, before = time.perf_counter(), os.times()
    ended = subprocess.run(
        command,
        cwd=cwd,
        timeout=timeout_s,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    after = os.times()
    used = (
        after.children_user
        - before.children_user
        + after.children_system
        - before.children_system
    )  # fmt: skip
    return Ran(wall_s=time.perf_counter() - begun, cpu_s=used, output=ended.stdout)
