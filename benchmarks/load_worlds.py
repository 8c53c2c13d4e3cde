"""Many groups and many partitions in virtual time: a part of `make bench-load`.

Rules: a world is one group with its members, its ledger and its hub, as the simulator's tests have
it; groups have nothing in common but the storage account, so many of them are many worlds, each of
a seed of its own. Requests are counted as they are sent, and told beside what is on paper. Figures
are the same on every machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from harness import Line, make_line
from load_paper import Load, fewest_moves, requests_a_second
from simulation import scenarios
from simulation.history import Did
from simulation.scenarios import Figures, changed_at, figures, percentile
from simulation.world import World

_SETTLES_S, COUNTED_S = 20.0, 20.0


@dataclass(frozen=True, slots=True)
class Many:
    """So many groups, all alike, each of which grows."""

    groups: int
    partitions: int
    before: int
    after: int

    @property
    def told(self) -> str:
        return (
            f"{self.groups:,} groups of {self.partitions:,} partitions, "
            f"{self.before} -> {self.after} members"
        )


MANY = (Many(1_000, 10, 1, 2), Many(300, 32, 4, 8))
LARGE = (Many(4, 256, 32, 64), Many(10, 1_000, 8, 16))
QUICK, QUICK_LARGE = (Many(20, 10, 1, 2),), (Many(1, 64, 4, 8),)


@dataclass(frozen=True, slots=True)
class Lived:
    """One world: what the change brought, and its requests in each second from then on."""

    figures: Figures
    requests: Counter[int]


def grow(many: Many, seed: int) -> Lived:
    """Everybody joins at one moment, and then nothing happens for a while."""
    script = scenarios.growing(seed, many.partitions, many.before, many.after)
    change = changed_at(script)
    until = change + _SETTLES_S + COUNTED_S
    world = World(replace(script, quiet_from=until))
    world.clock.run_until(until)
    requests = Counter(
        int(record.at - change)
        for record in world.records
        if isinstance(record, Did) and record.at >= change
    )
    return Lived(figures(world.records, change), requests)


def killed(many: Many, seed: int) -> Figures:
    """One of those that are there dies."""
    return scenarios.measure(scenarios.killed(seed, many.partitions, max(many.after, 4)))


def large_lines(quick: bool) -> Iterator[Line]:
    """Few groups with many members or many partitions."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from _all_grown(pool, QUICK_LARGE if quick else LARGE)


def _all_grown(pool: ProcessPoolExecutor, cases: Iterable[Many]) -> Iterator[Line]:
    for many in cases:
        yield from _grown(many, list(pool.map(partial(grow, many), range(many.groups))))


def lines(quick: bool) -> Iterator[Line]:
    """Many groups, each of few members."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from _all_grown(pool, QUICK if quick else MANY)
        one = Many(100, 10, 1, 4)
        dead = list(pool.map(partial(killed, one), range(4 if quick else one.groups)))
        idle = sorted(second for each in dead for second in each.idle_s)
        what = f"{len(dead)} groups of 10 partitions, one of 4 members killed"
        yield make_line(
            f"{what}: partition idle, p95", "s", ours=round(percentile(idle, 0.95), 2), target=17.0
        )


def _grown(many: Many, lived: list[Lived]) -> Iterator[Line]:
    each = [one.figures for one in lived]
    balanced = percentile(sorted(one.balanced_s for one in each), 0.95)
    fewest = fewest_moves(many.partitions, many.before, many.after)
    yield make_line(f"{many.told}: balanced, p95", "s", ours=round(balanced, 2), target=20.0)
    yield make_line(
        f"{many.told}: moves beyond the fewest, most", "moves", target=0,
        ours=max(one.moves for one in each) - fewest,
    )  # fmt: skip
    twice = sum(one.duplicates for one in each)
    yield make_line(f"{many.told}: handled twice, all groups", "events", target=0, ours=twice)
    load = Load(many.groups, many.partitions, many.after)
    moved = fewest / many.partitions
    for what, ours, share in (
        ("all change at once, busiest second", _busiest(lived), moved),
        ("settled", _settled(lived), 0.0),
    ):
        asked = requests_a_second(load, moved=share)
        # The simulator has no operator that looks, and nobody tells figures in it.
        paper = sum(asked.values()) - asked["listings of the operator"] - asked["figures"]
        yield make_line(
            f"{many.told}: requests, {what}", "1/s", ours=round(ours), peer=round(paper),
            reason="beside it: the same on paper",
        )  # fmt: skip


def _busiest(lived: Iterable[Lived]) -> int:
    total: Counter[int] = Counter()
    for one in lived:
        total += one.requests
    return max(total.values())


def _settled(lived: Iterable[Lived]) -> float:
    """On the average of the last seconds."""
    total: Counter[int] = Counter()
    for one in lived:
        total += one.requests
    last = max(total)
    return sum(total[second] for second in range(last - int(COUNTED_S), last)) / COUNTED_S
