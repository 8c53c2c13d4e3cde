"""How partitions find their owners: ours beside the official SDK, in virtual time and for real.

Rules: the first part lives through each scenario in the simulator's world, ours and the SDK's own
processor with the same seeds (balance_cases.py). The second asks what a settled member's tick costs
(balance_ticks.py), the third has processes of its own, a hub and Azurite (balance_real.py).
Figures of virtual time are the same on every machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

# The simulator is among the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import balance_cases as cases
import balance_real as real
import balance_ticks as ticks
from balance_ticks import Row
from harness import Bench

RUNS = 60
RUNS_QUICK = 2
COUNTED_S = 600.0
COUNTED_QUICK_S = 30.0


def add_cases(bench: Bench, pool: ProcessPoolExecutor, runs: int) -> None:
    """Every scenario, ours and the SDK's."""
    for number, case in enumerate(cases.CASES):
        ours, peer = (
            list(pool.map(partial(cases.figures_of, number, is_sdk=is_sdk), range(runs)))
            for is_sdk in (False, True)
        )
        for line in cases.lines_of(case, ours, peer):
            bench.add(line)


def tick_rows(
    pool: ProcessPoolExecutor, count: int, runs: int, seconds: float, *, has_idle: bool
) -> Iterator[Row]:
    """The SDK's row, then ours at each tick."""

    def idle(of: Callable[[int], tuple[float, ...]]) -> Sequence[float]:
        found = pool.map(of, range(runs)) if has_idle else ()
        return [second for one in found for second in one]

    sdk_cost = pool.submit(ticks.sdk_cost, count, seconds)
    sdk_idle = idle(partial(ticks.sdk_idle_of, count))
    yield Row("the SDK", count, None, sdk_idle, sdk_cost.result())
    for tick_s in ticks.TICKS_S:
        cost = pool.submit(ticks.our_cost, count, tick_s, seconds)
        found = idle(partial(ticks.idle_of, count, tick_s))
        yield Row("ours", count, tick_s, found, cost.result())


def add_ticks(bench: Bench, pool: ProcessPoolExecutor, runs: int) -> str:
    """The settled ticks, as lines and as the table that is returned."""
    seconds = COUNTED_QUICK_S if bench.quick else COUNTED_S
    table: list[Row] = []
    for count in ticks.COUNTS:
        has_idle = not bench.quick or count == min(ticks.COUNTS)
        rows = tick_rows(pool, count, runs, seconds, has_idle=has_idle)
        peer = next(rows)
        for row in rows:
            table.append(row)
            for line in ticks.lines_of(row, peer):
                bench.add(line)
        table.append(peer)
    return ticks.as_markdown(table)


def main() -> None:
    bench = Bench("balance")
    runs = RUNS_QUICK if bench.quick else RUNS
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pool.submit(os.getpid).result()  # its processes are forked before there is a thread
        with real.place() as where, ThreadPoolExecutor(1) as aside:
            peers = None if bench.quick else aside.submit(real.peer_changes, where)
            add_cases(bench, pool, runs)
            table = add_ticks(bench, pool, runs)
            lines = real.quick_lines(where) if peers is None else real.real_lines(where, peers)
            for line in lines:
                bench.add(line)
    bench.finish()
    print(f"\n{table}")


if __name__ == "__main__":
    main()
