"""Every benchmark, one after the other: `make bench`, `make bench ONLY=balance,consume`.

Each is `make bench-NAME`, in the same run as its peer, and leaves its lines in results/bench.json;
what is not run now keeps the figures, the date and the machine of its last run there. At the end
the pages are made anew of all of it (made_pages.py).

Rules: one at a time, or they would measure each other. One that fails is told at the end, and the
others are run all the same. `ONLY=quiet` are those that a busy machine spoils, `ONLY=any` the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import runs

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One target, and about how long it takes on two free cores."""

    name: str
    minutes: float
    peer: str
    # Whether figures of time or CPU in it are worth nothing on a machine that others use.
    is_spoiled: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"bench-{self.name.partition('@')[0]}"


ALL = (
    Benchmark("balance", 35, "azure-eventhub's processor, aio"),
    Benchmark("idle", 3, "azure-eventhub's processor, sync and aio"),
    Benchmark("consume", 6, "azure-eventhub sync and aio; librdkafka"),
    Benchmark("handlers", 16, "the best batch size set by hand"),
    Benchmark("hub", 4, "azure-eventhub"),
    Benchmark("operations", 1, "azure-eventhub; prometheus-client"),
    Benchmark("cosmos", 16, "Java's change feed processor"),
    Benchmark("scaling", 18, "KEDA, Azure Functions, Flink: models", is_spoiled=False),
    Benchmark("operator", 6, "none"),
    Benchmark("cluster", 5, "none", is_spoiled=False),
    Benchmark("migration", 2, "azure-eventhub's processor, aio", is_spoiled=False),
    Benchmark("load", 20, "the calculation on paper"),
    Benchmark("exactness", 20, "none", is_spoiled=False),
    Benchmark("slices", 3, "parts, one a batch"),
    Benchmark("spark", 15, "azure-eventhub in a data source"),
    Benchmark("spark-scenario", 5, "none"),
    Benchmark("spark-exactness", 7, "none", is_spoiled=False),
    Benchmark("pages", 3, "a page's own reads of storage"),
    Benchmark("pages@many", 5, "a page's own reads of storage", environment={"HOMES": "100000"}),
    Benchmark("demo-pages", 4, "none"),
)
_SETS = {
    "quiet": tuple(each.name for each in ALL if each.is_spoiled),
    "any": tuple(each.name for each in ALL if not each.is_spoiled),
}


def chosen(only: str) -> list[Benchmark]:
    """Those that were asked for, in the order of the list; all where nothing was said."""
    asked = [name.strip() for name in only.split(",") if name.strip()]
    names = [name for word in asked for name in _SETS.get(word, (word,))]
    known = [each.name for each in ALL]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(
            f"ONLY: there is no benchmark '{unknown[0]}'; there are {', '.join([*_SETS, *known])}"
        )
    return [each for each in ALL if not names or each.name in names]


def main() -> None:
    wanted = chosen(os.environ.get("ONLY", ""))
    minutes = sum(each.minutes for each in wanted)
    print(f"{len(wanted)} benchmarks, about {minutes:.0f} minutes on two free cores:")
    print("  " + ", ".join(each.name for each in wanted), flush=True)
    failed = []
    for number, each in enumerate(wanted, 1):
        print(f"\n[{number} of {len(wanted)}] {each.name}, about {each.minutes:g} min", flush=True)
        begun = time.monotonic()
        # What make gives to those that it calls is not for a make of its own.
        inner = ("ONLY", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "QUICK", "PARTS")
        outer = {name: value for name, value in os.environ.items() if name not in inner}
        command = ["make", "--no-print-directory", each.target]
        ran = subprocess.run(command, cwd=ROOT, env={**outer, **each.environment}, check=False)
        if ran.returncode:
            failed.append(each.name)
        print(f"{each.name}: {(time.monotonic() - begun) / 60:.1f} minutes", flush=True)
    print(f"\nresults/{runs.FILE}; the pages that are made of it:", flush=True)
    pages = [sys.executable, str(Path(__file__).with_name("made_pages.py"))]
    made = subprocess.run(pages, cwd=ROOT, check=False)
    if failed or made.returncode:
        raise SystemExit(f"failed: {', '.join(failed) or 'the pages'}; the others are kept")


if __name__ == "__main__":
    main()
