"""Who is compared on the traces, and the lines and tables that come of it.

Rules: every contender lives through the same traces of one seed, with dice of its own. What the
peers do does not depend on the objective, so one life of theirs is counted for every limit; ours is
told it. KEDA's best settings are looked for, and all that were tried are printed: a grid first,
then each of the other settings around the best of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from harness import Line, make_line
from scaling_fleet import Tidegate
from scaling_flink import Flink, Job
from scaling_functions import EXPIRES_IN_S, Functions
from scaling_keda import Keda, KedaSettings
from scaling_ours import Ours
from scaling_sdk import Processors
from scaling_traces import TRACES
from scaling_world import LIMITS_S, Outcome, Trace, World

TIMES_FEWER = 5
# KEDA at its defaults; with the fewest seconds out of objective; and of those for no more pod-hours
# than ours.
KEDAS = "KEDA, defaults", "KEDA, best", "KEDA, best for no more"
COSTS_NO_LESS = KEDAS[:2]
THRESHOLDS = (64, 512, 1024, 2048, 4096, 8192)
STABLE_S = (60, 300, 900)
QUICK_THRESHOLDS, QUICK_STABLE_S = (2048,), (300,)
# A grid point is varied by these, one at a time.
VARIED: tuple[Mapping[str, int], ...] = ({"polling_s": 10}, {"cooldown_s": 60}, {"fallback": 8})

NOT_QUICK = "takes minutes: run without QUICK=1"


@dataclass(frozen=True, slots=True)
class Contender:
    """An autoscaler with its settings. `within_s` is ours, `keda` KEDA's."""

    name: str
    within_s: float | None = None
    keda: KedaSettings | None = None


OURS = tuple(Contender("Tidegate", within_s=limit_s) for limit_s in LIMITS_S)
KEDA = Contender("KEDA, defaults", keda=KedaSettings())
FUNCTIONS = Contender("Azure Functions")
FLINK = Contender("Flink")


@lru_cache(maxsize=2)
def trace_of(number: int, seed: int) -> Trace:
    return TRACES[number](seed)


def life(number: int, seed: int, who: Contender) -> Outcome:
    """Lives through a trace with an autoscaler."""
    trace = trace_of(number, seed)
    world, dice = World(trace), Random(f"{seed} {trace.name} {who}")
    if who.within_s is not None:
        ours = Tidegate(world, dice)
        return world.live(ours, Ours(world, ours, who.within_s))
    if who == FLINK:
        job = Job(world, dice)
        return world.live(job, Flink(world, job))
    if who == FUNCTIONS:
        hosts = Processors(world, dice, EXPIRES_IN_S)
        return world.live(hosts, Functions(world, hosts))
    pods = Processors(world, dice)
    return world.live(pods, Keda(world, pods, who.keda or KedaSettings()))


def keda(settings: KedaSettings) -> Contender:
    return KEDA if settings == KedaSettings() else Contender("KEDA", keda=settings)


def grid(*, is_quick: bool) -> list[Contender]:
    """KEDA's settings that are tried first."""
    thresholds = QUICK_THRESHOLDS if is_quick else THRESHOLDS
    windows = QUICK_STABLE_S if is_quick else STABLE_S
    return [keda(KedaSettings(each, stable_s=stable_s)) for each in thresholds for stable_s in
            windows]  # fmt: skip


def around(best: Contender) -> list[Contender]:
    settings = best.keda or KedaSettings()
    return [keda(replace(settings, **change)) for change in VARIED]


# What a contender made of each trace, by its name.
Lives = Mapping[str, Outcome]


def total(lives: Lives) -> Outcome:
    """All traces together; the worst wait is the worst of all."""
    rows = list(lives.values())
    return Outcome(
        tuple(sum(row.out_s[limit] for row in rows) for limit in range(len(LIMITS_S))),
        sum(row.pod_hours for row in rows),
        sum(row.actions for row in rows),
        sum(row.moves for row in rows),
        sum(row.duplicates for row in rows),
        max(row.worst_s for row in rows),
    )


def best_of(tried: Mapping[Contender, Lives], limit: int, most_hours: float | None = None) -> (
    Contender | None
):  # fmt: skip
    """The fewest seconds out of objective, then the fewest pod-hours."""
    sums = {who: total(lives) for who, lives in tried.items()}
    good = [w for w, row in sums.items() if most_hours is None or row.pod_hours <= most_hours]
    return min(good, key=lambda who: (sums[who].out_s[limit], sums[who].pod_hours), default=None)


NOTHING = Outcome((0,) * len(LIMITS_S), 0.0, 0, 0, 0.0, 0.0)

# --- lines


def trace_lines(name: str, limit: int, ours: Outcome, peers: Mapping[str, Outcome]) -> (
    Iterator[Line]
):  # fmt: skip
    """A trace: nobody's KEDA is better."""
    for who, peer in peers.items():
        theirs = peer.out_s[limit]
        yield make_line(
            f"{name}, within {LIMITS_S[limit]:g} s: out of objective, beside {who}", "s",
            ours=ours.out_s[limit], peer=theirs, target=theirs,
        )  # fmt: skip


def sum_lines(limit: int, ours: Outcome, peers: Mapping[str, Outcome]) -> Iterator[Line]:
    """All traces: far fewer seconds out of objective, for no more pod-hours.

    Who was chosen for costing no more than ours is not a target for that.
    """
    what = f"all traces, within {LIMITS_S[limit]:g} s"
    for who, peer in peers.items():
        is_keda = who.startswith("KEDA")
        theirs = peer.out_s[limit]
        yield make_line(
            f"{what}: out of objective, beside {who}", "s", ours=ours.out_s[limit], peer=theirs,
            target=theirs / TIMES_FEWER if is_keda else None,
        )  # fmt: skip
        yield make_line(
            f"{what}: pods, beside {who}", "pod-hours", ours=round(ours.pod_hours, 1),
            peer=round(peer.pod_hours, 1),
            target=round(peer.pod_hours, 1) if who in COSTS_NO_LESS else None,
        )  # fmt: skip


def left_out(lines: Iterable[Line], reason: str) -> Iterator[Line]:
    for line in lines:
        yield replace(line, ours=None, peer=None, ratio=None, target=None, met=None, reason=reason)


# --- tables

HEADINGS = (
    "trace", "who", "out of objective", "pod-hours", "scale actions", "moves", "duplicates",
    "worst wait",
)  # fmt: skip


def table(limit: int, rows: Sequence[tuple[str, Lives]], names: Sequence[str]) -> str:
    """Every trace and all of them, for each of those who are compared."""
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]
    for name in (*names, "all"):
        for who, lives in rows:
            found = total(lives) if name == "all" else lives[name]
            lines.append(_row(name, who, limit, found))
    return "\n".join(lines)


def _row(name: str, who: str, limit: int, found: Outcome) -> str:
    cells = (
        name, who, f"{found.out_s[limit]:,} s", f"{found.pod_hours:,.1f}", f"{found.actions:,}",
        f"{found.moves:,}", f"{found.duplicates:,.0f}", f"{found.worst_s:,.0f} s",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def sweep_table(tried: Mapping[Contender, Lives], is_best: Callable[[Contender], bool]) -> str:
    """Every setting of KEDA that was tried, over all traces."""
    limits = [f"out, {limit_s:g} s" for limit_s in LIMITS_S]
    heads = ["KEDA's settings", *limits, "pod-hours", "scale actions", "moves", "duplicates", ""]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for who, lives in tried.items():
        found = total(lives)
        cells = [
            str(who.keda), *(f"{seconds:,} s" for seconds in found.out_s),
            f"{found.pod_hours:,.1f}", f"{found.actions:,}", f"{found.moves:,}",
            f"{found.duplicates:,.0f}", "best" if is_best(who) else "",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
