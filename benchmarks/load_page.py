"""The tables of docs/load.md: what was measured, and what is on paper. Pure.

Rules: what a look costs is taken from the measured run, so the paper follows from it; a case that
is larger than what was measured says so by standing on paper alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import runs
from load_paper import (
    REQUESTS,
    TIERS,
    Load,
    Look,
    Quota,
    Tier,
    binding,
    most_groups,
    requests_a_second,
    uses,
)
from page_words import figure, line_of, or_not_yet, table, told_of

# The bytes of a blob and the CPU for it are the slope between these two.
_SMALL, _LARGE = 32, 1_024
CASES = (
    Load(groups=1, partitions=32, members=8, events_per_s=20_000),
    Load(groups=1, partitions=1_024, members=64, events_per_s=500_000),
    Load(groups=10, partitions=1_000, members=32, events_per_s=100_000),
    Load(groups=313, partitions=32, members=4),
    Load(groups=500, partitions=32, members=4),
    Load(groups=1_000, partitions=10, members=2),
    Load(groups=1_000, partitions=32, members=4),
)


def look_of(all_runs: runs.Runs) -> Look:
    """What a look costs, by the measured ones."""

    def measured(partitions: int, of: str) -> float:
        line = line_of(all_runs, "load", f"a look at {partitions:,} partitions: {of}")
        return float(line["ours"])

    blobs = 2 * (_LARGE - _SMALL)
    slope = (measured(_LARGE, "CPU") - measured(_SMALL, "CPU")) / blobs
    return Look(
        bytes_of_blob=(measured(_LARGE, "bytes") - measured(_SMALL, "bytes")) / blobs,
        cpu_us=max(measured(_SMALL, "CPU") - 2 * _SMALL * slope, 0.0),
        cpu_us_of_blob=slope,
    )


def paper(all_runs: runs.Runs) -> str:
    look = look_of(all_runs)
    head = (
        "groups", "partitions of each", "members of each", "events/s of each", "partitions in all",
        "requests/s to storage", "of one account", "MB/s out of it", "a member's core, for looking",
        "the tier for it",
    )  # fmt: skip
    return f"\n{table(head, (tuple(_case(load, look)) for load in CASES))}\n"


def _case(load: Load, look: Look) -> Iterator[str]:
    tier = tier_for(load)
    shares = {use.quota.what: use for use in uses(load, look, tier)}
    asked = sum(requests_a_second(load).values())
    yield from map(figure, (load.groups, load.partitions, load.members, load.events_per_s))
    yield figure(load.groups * load.partitions)
    yield figure(asked)
    yield f"{figure(asked / REQUESTS.allows * 100)} %"
    yield figure(shares["MB a second out of a storage account"].takes)
    looking = shares["a member's core, for looking"].share
    yield f"{figure(looking * 100)} %"
    yield tier.name


def tier_for(load: Load) -> Tier:
    """The smallest whose hubs have so many partitions."""
    return next(tier for tier in TIERS if load.partitions <= tier.partitions_of_hub)


def binds(all_runs: runs.Runs) -> str:
    look = look_of(all_runs)
    head = (
        "groups like this", "one account and one namespace take", "then binds",
        "one account alone takes",
    )  # fmt: skip
    return f"\n{table(head, (_bound(load, look) for load in CASES))}\n"


def _bound(load: Load, look: Look) -> tuple[str, ...]:
    tier = tier_for(load)
    first = binding(load, look, tier)
    asked = sum(requests_a_second(load).values()) / load.groups
    rate = figure(load.events_per_s)
    return (
        f"{load.partitions:,} partitions, {load.members} members, {rate} events/s",
        f"{most_groups(load, look, tier):,}",
        _linked(first.quota),
        f"{int(REQUESTS.allows / asked):,}",
    )


def _linked(quota: Quota) -> str:
    return f"[{quota.what}]({quota.page})" if quota.page else quota.what


def measured(all_runs: runs.Runs, begins: tuple[str, ...], peer: str = "") -> str:
    """The lines of the run that begin so."""
    run = all_runs["load"]
    rows = []
    for line in run["lines"]:
        if line["what"].startswith(begins):
            found = figure(line["ours"], line["unit"])
            beside = (figure(line["peer"], line["unit"]),) if peer else ()
            why = f" ({line['reason']})" if line["ours"] is None else ""
            rows.append((line["what"], found + why, *beside))
    if not rows:
        raise KeyError(begins[0])
    head = ("", "measured", *((peer,) if peer else ()))
    return f"\n{table(head, rows)}\n"


def ran(all_runs: runs.Runs) -> str:
    return f"\n`make bench-load`, {told_of(all_runs['load'])}.\n\n"


def operator(all_runs: runs.Runs) -> str:
    run = all_runs["operator"]
    rows = [
        (line["what"], figure(line["ours"], line["unit"]), figure(line["target"]))
        for line in run["lines"]
        if "500 groups" in line["what"] or "an event for groups" in line["what"]
    ]
    shown = table(("", "measured", "target"), rows)
    return f"\n{shown}\n`make bench-operator`, {told_of(run)}.\n\n"


_MEMBERS = ("16 members", "64 members")
_WORLDS = ("1,000 groups", "300 groups", "4 groups", "10 groups", "100 groups")
_MAKERS: dict[str, Callable[[runs.Runs], str]] = {
    "paper": paper,
    "binds": binds,
    "look": partial(measured, begins=("a look",)),
    "consume": partial(measured, begins=("tidegate run",)),
    "members": partial(measured, begins=_MEMBERS),
    "worlds": partial(measured, begins=_WORLDS, peer="on paper"),
    "ran": ran,
    "operator": operator,
}
MAKERS = {
    name: or_not_yet(maker, "operator" if maker is operator else "load")
    for name, maker in _MAKERS.items()
}
