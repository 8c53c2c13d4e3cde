"""How many pods, and when: ours beside KEDA, Azure Functions and Flink, in virtual time.

Rules: ten traces (scaling_traces.py) of one seed, which is printed; SEED draws another. Everybody
lives through the same world (scaling_world.py). KEDA and Functions scale official processors
(scaling_sdk.py), KEDA at its defaults and at the best of a sweep, which is printed too. Figures are
the same on every machine. QUICK=1 takes the traces of two hours at most, one objective and no
sweep. Ctrl-C ends it at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor

import scaling_cases as cases
import scaling_reaction
from balance import workers
from harness import Bench
from scaling_cases import Contender, Lives
from scaling_traces import DAY_LONG, TRACES
from scaling_world import LIMITS_S

DEFAULT_SEED = 1


class Lab:
    """Lives through traces, once for each contender, on all cores."""

    def __init__(self, pool: ProcessPoolExecutor, seed: int, numbers: Sequence[int]) -> None:
        self._pool, self._seed = pool, seed
        self._numbers = numbers
        self.names = [TRACES[number](seed).name for number in numbers]
        self.known: dict[Contender, Lives] = {}

    def run(self, whom: Iterable[Contender]) -> None:
        """The long traces first, so that no core waits for the last."""
        new = [who for who in dict.fromkeys(whom) if who not in self.known]
        order = sorted(self._numbers, key=lambda number: number not in DAY_LONG)
        jobs = {
            (number, who): self._pool.submit(cases.life, number, self._seed, who)
            for number in order
            for who in new
        }
        for who in new:
            self.known[who] = {
                name: jobs[number, who].result()
                for name, number in zip(self.names, self._numbers, strict=True)
            }
            found = cases.total(self.known[who])
            pairs = zip(found.out_s, LIMITS_S, strict=True)
            out = ", ".join(f"{s:,} s > {at:g} s" for s, at in pairs)
            settings = who.keda or (f"within {who.within_s:g} s" if who.within_s else "")
            print(f"  {who.name} {settings}: {out}, {found.pod_hours:,.1f} pod-hours", flush=True)

    def tried(self) -> dict[Contender, Lives]:
        """All of KEDA's settings."""
        return {who: lives for who, lives in self.known.items() if who.keda is not None}


def compare(bench: Bench, lab: Lab) -> str:
    """Runs everybody, adds the lines, and gives the tables."""
    limits = range(1 if bench.quick else len(LIMITS_S))
    lab.run([*(cases.OURS[limit] for limit in limits), cases.KEDA])
    lab.run([cases.FUNCTIONS, cases.FLINK, *cases.grid(is_quick=bench.quick)])
    if not bench.quick:
        bests = [cases.best_of(lab.tried(), limit) for limit in limits]
        lab.run(near for best in bests if best is not None for near in cases.around(best))
    texts, best_ones = [], set[Contender]()
    for limit in limits:
        ours = lab.known[cases.OURS[limit]]
        peers = {cases.KEDAS[0]: lab.known[cases.KEDA]}
        hours = cases.total(ours).pod_hours
        for name, most in zip(cases.KEDAS[1:], (None, hours), strict=True):
            best = cases.best_of(lab.tried(), limit, most)
            if best is not None:
                best_ones.add(best)
                peers[name] = lab.known[best]
                print(f"within {LIMITS_S[limit]:g} s, {name}: {best.keda}")
        kedas = dict(peers)
        peers |= {"Functions": lab.known[cases.FUNCTIONS], "Flink": lab.known[cases.FLINK]}
        for name in lab.names:
            found = {who: lives[name] for who, lives in kedas.items()}
            for line in cases.trace_lines(name, limit, ours[name], found):
                bench.add(line)
        if not bench.quick:
            sums = {who: cases.total(lives) for who, lives in peers.items()}
            for line in cases.sum_lines(limit, cases.total(ours), sums):
                bench.add(line)
        texts += [
            f"Within {LIMITS_S[limit]:g} s",
            cases.table(limit, [("Tidegate", ours), *peers.items()], lab.names),
        ]
    return "\n\n".join([*texts, cases.sweep_table(lab.tried(), best_ones.__contains__)])


def add_left_out(bench: Bench, seed: int, numbers: Sequence[int]) -> None:
    """What a quick run has no time for, by name; it is in the table alone."""
    nobody = dict.fromkeys((*cases.KEDAS, "Functions", "Flink"), cases.NOTHING)
    kedas = dict.fromkeys(cases.KEDAS, cases.NOTHING)
    for limit in range(len(LIMITS_S)):
        for number, make in enumerate(TRACES):
            if limit > 0 or number not in numbers:
                lines = cases.trace_lines(make(seed).name, limit, cases.NOTHING, kedas)
                bench.lines += cases.left_out(lines, cases.NOT_QUICK)
        lines = cases.sum_lines(limit, cases.NOTHING, nobody)
        bench.lines += cases.left_out(lines, cases.NOT_QUICK)


def main() -> None:
    seed = int(os.environ.get("SEED") or DEFAULT_SEED)
    bench = Bench("scaling")
    print(f"seed {seed}")
    numbers = [n for n in range(len(TRACES)) if not (bench.quick and n in DAY_LONG)]
    try:
        with workers() as pool:
            text = compare(bench, Lab(pool, seed, numbers))
        if bench.quick:
            add_left_out(bench, seed, numbers)
        for line in scaling_reaction.lines(seed):
            bench.add(line)
    except KeyboardInterrupt:
        raise SystemExit("interrupted: nothing was written") from None
    bench.finish()
    print(f"\n{text}")


if __name__ == "__main__":
    main()
