"""Whether what the pages show is what the homes have sent: every home, every kind, every alarm.

Rules: what is compared is what a page is made from, the newest version of each slice, for all homes
and kinds of sensor. Any difference is named, and is a failure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

from tidegate.sending.sensors import home_name
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.many import ManyKeys
from tidegate.slices.naming import Version

Place = tuple[str, str]  # home, kind
Totals = dict[Place, tuple[int, int]]  # readings, alarms

_SHOWN = 5


def truth_in(file: Path) -> tuple[list[str], Totals]:
    """The homes there are, and what they have sent."""
    said = json.loads(file.read_text(encoding="utf-8"))
    names = [home_name(number) for number in range(said["homes"])]
    return names, {(home, kind): (count, alarms) for home, kind, count, alarms in said["rows"]}


def newest_of(versions: Iterable[Version]) -> list[Version]:
    """Of each slice the version that has most."""
    found: dict[tuple[int, str], Version] = {}
    for each in versions:
        place = (each.start, each.partition)
        if place not in found or each.end > found[place].end:
            found[place] = each
    return [found[place] for place in sorted(found)]


async def totals_in(blobs: SliceBlobs, names: Collection[str]) -> Totals:
    """What stands in the slices. Raises SliceError."""
    sizes, many = await blobs.below(""), ManyKeys(blobs)
    counts: Counter[Place] = Counter()
    alarms: Counter[Place] = Counter()
    for version in newest_of(sizes):
        for home, rows in (await many.rows(version, sizes[version], names)).items():
            for row in rows:
                place = home, str(row["kind"])
                counts[place] += int(row["count"] or 0)
                alarms[place] += int(row["alarms"] or 0)
    return {place: (counts[place], alarms[place]) for place in counts}


def differences(truth: Totals, found: Totals) -> list[str]:
    """What is not as it should be, in words."""
    wrong = []
    for place in sorted(truth.keys() | found.keys()):
        sent, shown = truth.get(place, (0, 0)), found.get(place, (0, 0))
        if sent != shown:
            home, kind = place
            wrong.append(f"{home} {kind}: sent {sent[0]} ({sent[1]} alarms), "
                         f"shown {shown[0]} ({shown[1]} alarms)")  # fmt: skip
    return wrong


def report(truth: Totals, found: Totals) -> tuple[str, bool]:
    """What to say of it, and whether all is well."""
    wrong = differences(truth, found)
    sent = sum(count for count, _ in truth.values())
    alarms = sum(alarm for _, alarm in truth.values())
    if not wrong:
        return f"exact: {sent:,} readings and {alarms:,} alarms in {len(truth):,} totals", True
    shown = sum(count for count, _ in found.values())
    some = "\n".join(f"  {line}" for line in wrong[:_SHOWN])
    return f"{len(wrong):,} totals are wrong: {sent:,} sent, {shown:,} shown\n{some}", False
