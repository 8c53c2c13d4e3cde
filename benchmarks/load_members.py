"""Many members with many partitions on real leases: a part of `make bench-load`.

Rules: every member is a process of its own on one Azurite and one hub; all of them share this
machine's cores, and where it is not balanced within the limit that is said, never a time. CPU is
counted while nothing changes. What a machine cannot do shows in `answered`: what a listing took
for who asked beside them all.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness import Line, cpu_seconds, make_line
from real_scenarios import watched
from support.azurite import running_azurite
from support.group import Group, a_group
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.ports import List
from tidegate_hub.testing import running_hub

# More of both at once is too much for Azurite, whose listings are the slower the more there is in
# them: load_worlds.py has 64 members and 256 partitions in virtual time.
SIZES = ((16, 64), (64, 64), (16, 256))
LIMIT_S = 240.0
# Time that members are left alone before they are counted, and for which they are.
SETTLE_S, COUNTED_S = 5.0, 20.0
EVENTS_EVERY_S = 0.5
NOT_OVER = f"not over within {LIMIT_S:.0f} s on this machine, which all processes share"


def lines(quick: bool) -> Iterator[Line]:
    for members, partitions in ((4, 16),) if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="bench-load-") as name:
            folder = Path(name)
            with running_azurite(folder) as azurite, running_hub() as hub, a_group(
                hub, azurite, folder, partitions, every_s=EVENTS_EVERY_S
            ) as group:  # fmt: skip
                yield from _lived(group, members, COUNTED_S / (4 if quick else 1))


def _lived(group: Group, members: int, counted_s: float) -> Iterator[Line]:
    names = [f"m{number:02d}" for number in range(members)]
    what = f"{members} members, {group.partitions} partitions"

    def line(of: str, unit: str, ours: float | None, target: float | None = None) -> Line:
        found = None if ours is None else round(ours, 2)
        reason = NOT_OVER if ours is None else None
        return make_line(f"{what}: {of}", unit, ours=found, target=target, reason=reason)

    cold = watched(group, lambda: group.start_together(*names), set(names), LIMIT_S, names)
    yield line("share all, from nothing", "s", cold.over_s)
    if cold.over_s is None:
        return
    yield line("handled twice meanwhile", "events", cold.duplicates, 0)
    time.sleep(SETTLE_S)
    before = _cpu_s(group)
    time.sleep(counted_s)
    used = (_cpu_s(group) - before) / counted_s
    yield line("CPU of a settled member", "% of a core", used / members * 100)
    yield line("a listing is answered in", "s", asyncio.run(_listing_s(group)))
    dead, left = names[0], set(names[1:])
    killed = watched(group, lambda: group.kill(dead), left, LIMIT_S)
    yield line("one killed: its partitions are idle, most", "s", max(killed.idle_s, default=None))
    yield line("one killed: partitions that moved", "moves", killed.moves)
    yield line("lost", "events", len(group.missing()), 0)


def _cpu_s(group: Group) -> float:
    """What all members have used so far."""
    return sum(cpu_seconds(pid) for pid in group.pids())


async def _listing_s(group: Group) -> float:
    """The longest of five."""
    settings = BlobSettings(group.container, connection_string=group.storage)
    ledger = BlobLedger(settings, GroupNames("localhost", group.hub_name, "$default"))
    longest = 0.0
    try:
        for _ in range(5):
            begun = time.perf_counter()
            await ledger.perform(List())
            longest = max(longest, time.perf_counter() - begun)
    finally:
        await ledger.close()
    return longest
