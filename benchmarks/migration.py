"""Going over from the official processor and back, with events flowing: support/migration.py.

Two official processors are stopped cleanly, two of our members go on, and two official ones again.
Beside it the same with official processors all the way: what any deployment of theirs costs.

Rules: the official ones are unmodified (asyncio, blob checkpoint store), with a balancing interval
of 1 s rather than 30, or the waits would be theirs alone.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from harness import Bench, make_line

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.azurite import running_azurite
from support.group import a_group
from support.migration import EVERY_S, OFFICIAL, PARTITIONS, Rehearsal, rehearsed
from tidegate_hub.testing import running_hub

NO_PEER_WHEN_QUICK = "takes half a minute more: run without QUICK=1"


def rehearsal(between: Path | None) -> Rehearsal:
    """In a place of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-migration-") as name:
        folder = Path(name)
        with running_azurite(folder) as azurite, running_hub() as hub:
            host = f"localhost:{hub.port}"
            with a_group(hub, azurite, folder, PARTITIONS, host=host, every_s=EVERY_S) as group:
                return rehearsed(group, between)


def main() -> None:
    bench = Bench("migration")
    ours = rehearsal(None)
    peer = None if bench.quick else rehearsal(OFFICIAL)
    why = NO_PEER_WHEN_QUICK if peer is None else None

    def add(what: str, unit: str, of: str, target: float | None = None) -> None:
        found = [None if seen is None else round(_figure(seen, of), 2) for seen in (ours, peer)]
        bench.add(make_line(what, unit, ours=found[0], peer=found[1], target=target, reason=why))

    add("events handled by all three sides", "events", "events")
    add("events sent", "events/s", "rate")
    add("handled by two sides", "events", "by_two_sides", 0)
    add("passed over", "events", "passed_over", 0)
    add("handled twice by those in the middle", "events", "twice", 0)
    add("longest wait of a partition, going over", "s", "over")
    add("longest wait of a partition, going back", "s", "back")
    bench.finish()


def _figure(seen: Rehearsal, of: str) -> float:
    return {
        "events": sum(side.events for side in seen.sides.values()),
        "rate": PARTITIONS / EVERY_S,
        "by_two_sides": seen.by_two_sides,
        "passed_over": seen.passed_over,
        "twice": seen.sides["between"].twice,
        "over": seen.wait_s[0],
        "back": seen.wait_s[1],
    }[of]


if __name__ == "__main__":
    main()
