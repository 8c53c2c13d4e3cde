"""All runs in one file, results/bench.json: of each benchmark the latest, with date and machine.

    {"balance": {"at": "2026-11-19T14:00:00Z", "commit": "1a2b…", "seconds": 900, "load": 0.3,
                 "machine": {"cores": 2, "processor": …}, "lines": […]}, …}

Rules: what a run did not measure (PARTS left it out) keeps the figure of the run that did, and says
of when that is. A run is never older than its lines. `load` is how many processes wanted the
machine when the run began, so that a figure from a busy machine can be told from others. Runs from
before all this was kept have the date of the commit that brought them, and no machine.
`python benchmarks/runs.py FILE` takes in what is newer in another such file.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
FILE = "bench.json"
LEFT_OUT = "PARTS left out"

Run = dict[str, Any]
Runs = dict[str, Run]


def machine() -> dict[str, object]:
    """What the figures depend on, and nothing that names the machine."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    for row in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = row.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def commit() -> str:
    """Of the tree; with a + where it was changed since."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"], capture_output=True,
                              text=True, check=True).stdout.strip()  # fmt: skip
        kept = [*git, "diff", "--quiet", "HEAD", "--", ".", ":!benchmarks/results", ":!docs"]
        changed = subprocess.run(kept, check=False).returncode
    except (OSError, subprocess.CalledProcessError):
        return "not under git"
    return name + ("+" if changed else "")


def made(lines: Sequence[Mapping[str, object]], seconds: float, load: float) -> Run:
    """A run that has just ended."""
    return {
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": commit(),
        "seconds": round(seconds),
        "load": round(load, 1),
        "machine": machine(),
        "lines": [dict(line) for line in lines],
    }


def merged(before: Run | None, run: Run, *, is_part: bool = False) -> Run:
    """The run, with earlier figures in place of those that it left out; of a run of parts alone,
    the lines of the other parts stay."""
    earlier = {_name(line): line for line in before["lines"]} if before else {}

    def kept(line: dict[str, Any]) -> dict[str, Any]:
        old = earlier.get(_name(line))
        is_left_out = str(line.get("reason", "")).startswith(LEFT_OUT)
        if before is None or old is None or old["ours"] is None or not is_left_out:
            return line
        return {"of": before["at"], **old}

    lines = [kept(line) for line in run["lines"]]
    if before is not None and is_part:
        now = {_name(line) for line in lines}
        others = [line for line in before["lines"] if _name(line) not in now]
        lines += [{"of": before["at"], **line} for line in others]
    return {**run, "lines": lines}


def _name(line: Mapping[str, Any]) -> tuple[str, str]:
    """One thing may be measured in more than one unit."""
    return line["what"], line["unit"]


def read(folder: Path) -> Runs:
    path = folder / FILE
    found: Runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(folder: Path, runs: Runs) -> None:
    """The file, by name; whole or as it was."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{FILE}.new"
    text = json.dumps(dict(sorted(runs.items())), indent=1, ensure_ascii=False)
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(folder / FILE)


def keep(folder: Path, name: str, run: Run) -> Path:
    """The run in place of the one of its name that is there; where it stands."""
    runs = read(folder)
    is_part = bool(os.environ.get("PARTS"))
    write(folder, runs | {name: merged(runs.get(name), run, is_part=is_part)})
    return folder / FILE


def newest(mine: Runs, others: Runs) -> Runs:
    """The later run of each benchmark: for results of another machine, or of another branch."""

    def later(name: str) -> Run:
        found = [runs[name] for runs in (mine, others) if name in runs]
        return max(found, key=lambda run: str(run["at"]))

    return {name: later(name) for name in mine.keys() | others.keys()}


if __name__ == "__main__":
    own = ROOT / "benchmarks" / "results"
    for name in sys.argv[1:]:
        write(own, newest(read(own), json.loads(Path(name).read_text(encoding="utf-8"))))
