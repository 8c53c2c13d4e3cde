"""How partitions find their owners: ours beside the official SDK, in virtual time and for real.

Rules: the first part lives through each scenario in the simulator's world, ours and the SDK's own
processor with the same seeds (balance_cases.py). The second asks what a settled member's tick costs
(balance_ticks.py), the third has processes of its own, a hub and Azurite (balance_real.py).
Figures of virtual time are the same on every machine. PARTS names the parts to run: virtual, ticks,
real. Ctrl-C ends it at once, with all that it has started.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

# The simulator is among the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import balance_cases as cases
import balance_real as real
import balance_ticks as ticks
from balance_ticks import Row
from harness import Bench, Line, left_out, parts_of

PARTS = VIRTUAL, TICKS, REAL = "virtual", "ticks", "real"

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


def add_real(bench: Bench, where: real.Place, peers: real.Peers | None) -> None:
    lines = real.quick_lines(where) if peers is None else real.real_lines(where, peers)
    for line in lines:
        bench.add(line)


def add_left_out(bench: Bench, part: str) -> None:
    """The lines of a part that was not asked for; they are in the table alone."""
    bench.lines += [left_out(line, part) for line in empty_lines(part)]


def empty_lines(part: str) -> Iterator[Line]:
    """The lines of a part, as they are named, whatever their figures."""
    if part == REAL:
        yield from real.empty_lines()
    elif part == VIRTUAL:
        for case in cases.CASES:
            yield from cases.lines_of(case, [cases.NOTHING], [cases.NOTHING])
    else:
        free = ticks.cost_of((), 1.0)
        for count in ticks.COUNTS:
            for tick_s in ticks.TICKS_S:
                row = Row("ours", count, tick_s, (), free)
                yield from ticks.lines_of(row, Row("the SDK", count, None, (), free))


@contextlib.contextmanager
def workers() -> Iterator[ProcessPoolExecutor]:
    """A process for each core; who leaves early does not wait for what they are at."""
    with ProcessPoolExecutor(os.cpu_count(), initializer=_leave_interrupts) as pool:
        pool.submit(os.getpid).result()  # its processes are forked before there is a thread
        try:
            yield pool
        except BaseException:
            # The pool's own thread stumbles over what is cancelled when its processes die.
            threading.excepthook = lambda _: None
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _leave_interrupts() -> None:
    """To the benchmark, which ends these processes itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def measure(bench: Bench, parts: Collection[str]) -> str:
    """Every part that was asked for, in turn; gives the table of the ticks."""
    runs, table = RUNS_QUICK if bench.quick else RUNS, ""
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(workers())
        peers = None
        if REAL in parts and not bench.quick:
            peers = stack.enter_context(real.peers_beside())
        for part in PARTS:
            if part not in parts:
                add_left_out(bench, part)
            elif part == VIRTUAL:
                add_cases(bench, pool, runs)
            elif part == TICKS:
                table = add_ticks(bench, pool, runs)
            else:
                with real.place() as where:
                    add_real(bench, where, peers)
    return table


def main() -> None:
    parts = parts_of(os.environ, PARTS)
    bench = Bench("balance")
    try:
        table = measure(bench, parts)
    except KeyboardInterrupt:
        raise SystemExit("interrupted: nothing was written") from None
    bench.finish()
    print(f"\n{table}")


if __name__ == "__main__":
    main()
