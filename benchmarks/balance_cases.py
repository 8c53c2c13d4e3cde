"""The balancing scenarios that are compared, what each shall reach, and their figures.

Rules: a scenario is lived through by our members and by the SDK's processors in the same world,
with the same seeds. Both are judged by the same eyes: what the hub and the handlers saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from balance_sdk import run_sdk
from harness import Line, make_line
from simulation import scenarios
from simulation.scenarios import Figures, changed_at, figures, measure, percentile
from simulation.script import Script


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario of the table. A limit that is None is not set for it."""

    what: str
    script: Callable[[int], Script]
    # The fewest moves that the change can do with.
    moves: int
    balanced_s: float | None = None
    idle_s: float | None = None
    # Whether everybody that leaves is asked to: then nothing is handled twice.
    is_clean: bool = True
    # Whether partitions had a reader before: otherwise none is idle for want of one.
    has_idle: bool = True


def growing(partitions: int, before: int, after: int, limit_s: float) -> Case:
    fewest = partitions - partitions * before // after
    return Case(
        f"{partitions} partitions, {before} -> {after}",
        lambda seed: scenarios.growing(seed, partitions, before, after),
        fewest,
        balanced_s=limit_s,
        idle_s=1.0,
    )


CASES = (
    growing(32, 1, 2, 15.0),
    growing(32, 1, 8, 15.0),
    growing(32, 4, 8, 15.0),
    growing(32, 8, 16, 15.0),
    growing(128, 1, 16, 20.0),
    Case(
        "32 partitions, 0 -> 8",
        lambda seed: scenarios.cold_start(seed, 32, 8, has_roster=False),
        32,
        balanced_s=10.0,
        has_idle=False,
    ),
    Case(
        "32 partitions, 0 -> 8 in 8 s, roster",
        lambda seed: scenarios.cold_start(seed, 32, 8, has_roster=True),
        32,
        balanced_s=10.0,
        has_idle=False,
    ),
    Case(
        "32 partitions, SIGKILL one of 8",
        lambda seed: scenarios.killed(seed, 32, 8),
        4,
        idle_s=17.0,
        is_clean=False,
    ),
    Case(
        "32 partitions, SIGKILL one of 8, storage answers in 100 ms",
        lambda seed: scenarios.killed(seed, 32, 8, latency_s=0.05),
        4,
        idle_s=17.0,
        is_clean=False,
    ),
    Case(
        "32 partitions, one of 8 back in place in 2 s",
        lambda seed: scenarios.restarted_in_place(seed, 32, 8, 2.0),
        0,
        idle_s=3.0,
        is_clean=False,
    ),
    Case(
        "32 partitions, 8 -> 4 gracefully",
        lambda seed: scenarios.shrinking(seed, 32, 8, 4),
        16,
        idle_s=2.0,
    ),
    Case(
        "32 partitions, rolling update of 8",
        lambda seed: scenarios.rolled_out(seed, 32, 8),
        32,
        idle_s=1.0,
    ),
)


def figures_of(number: int, seed: int, *, is_sdk: bool) -> Figures:
    """Lives once through the case of that number."""
    script = CASES[number].script(seed)
    if not is_sdk:
        return measure(script)
    return figures(run_sdk(script).records, changed_at(script))


NOTHING = Figures(0.0, 0, 0, (), {})


def rounded(value: float) -> float:
    return round(value, 3)


def lines_of(case: Case, ours: Sequence[Figures], peer: Sequence[Figures]) -> Iterator[Line]:
    """Every figure of a case over its runs."""

    def balanced(found: Sequence[Figures], share: float) -> float:
        return rounded(percentile(sorted(one.balanced_s for one in found), share))

    def idle(found: Sequence[Figures], share: float) -> float:
        return rounded(percentile(sorted(second for one in found for second in one.idle_s), share))

    def duplicates(found: Sequence[Figures]) -> float:
        return rounded(fmean(one.duplicates for one in found))

    def needless(found: Sequence[Figures]) -> float:
        return max(one.moves for one in found) - case.moves

    if case.balanced_s is not None:
        for share, limit_s in ((0.5, None), (0.95, case.balanced_s)):
            yield make_line(
                f"{case.what}: balanced, p{share * 100:.0f}", "s", target=limit_s,
                ours=balanced(ours, share), peer=balanced(peer, share),
            )  # fmt: skip
    if case.has_idle:
        for share, limit_s in ((0.5, None), (0.95, case.idle_s)):
            yield make_line(
                f"{case.what}: partition idle, p{share * 100:.0f}", "s", target=limit_s,
                ours=idle(ours, share), peer=idle(peer, share),
            )  # fmt: skip
    yield make_line(
        f"{case.what}: moves beyond the fewest ({case.moves}), most", "moves", target=0,
        ours=needless(ours), peer=needless(peer),
    )  # fmt: skip
    yield make_line(
        f"{case.what}: handled twice, mean", "events", target=0 if case.is_clean else None,
        ours=duplicates(ours), peer=duplicates(peer),
    )  # fmt: skip
