"""Runs many worlds, or one with its trace: `python tests/simulation/run.py --seeds 10000`.

A seed that fails is made smaller by leaving troubles out, and printed with the one command that
replays it. `--seed N --trace` prints everything that storage, hub and handlers saw.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "consumer")]

from simulation import history  # noqa: E402
from simulation.draw import draw  # noqa: E402
from simulation.judge import judge  # noqa: E402
from simulation.script import Script  # noqa: E402
from simulation.world import World  # noqa: E402

_CHUNK = 20
_TOLD = 5  # so many failures are told in full
_SAY_EVERY_S = 10.0
_SHRINK_S = 10.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one seed."""

    seed: int
    kind: str
    problems: tuple[str, ...]
    checkers: frozenset[str]
    operations: int


def run_script(script: Script) -> Outcome:
    """Runs a world and judges it; a member that raises an error is a problem like any other."""
    world = World(script)
    try:
        facts = world.run()
    except Exception as error:  # the world names the seed; hiding nothing
        text = f"{type(error).__name__} at {world.clock.now:.3f}: {error}"
        return Outcome(
            script.seed, script.kind, (text,), frozenset({type(error).__name__}), len(world.records)
        )
    found = judge(world.records, facts)
    return Outcome(
        script.seed,
        script.kind,
        tuple(str(violation) for violation in found),
        frozenset(violation.checker for violation in found),
        len(world.records),
    )


def run_seed(seed: int) -> Outcome:
    return run_script(draw(seed))


def run_seeds(seeds: range) -> list[Outcome]:
    return [run_seed(seed) for seed in seeds]


def shrunk(script: Script, checkers: frozenset[str]) -> tuple[Script, list[int]]:
    """The script with as few troubles as still make one of these checkers speak."""
    left_out: list[int] = []
    numbered = list(enumerate(script.troubles))
    begun = time.monotonic()
    for number, _ in reversed(numbered):
        if time.monotonic() - begun > _SHRINK_S:
            break
        fewer = [(n, t) for n, t in numbered if n not in (*left_out, number)]
        smaller = replace(script, troubles=tuple(trouble for _, trouble in fewer))
        if run_script(smaller).checkers & checkers:
            left_out.append(number)
    kept = tuple(trouble for number, trouble in numbered if number not in left_out)
    return replace(script, troubles=kept), sorted(left_out)


def tell(outcome: Outcome) -> None:
    """Prints a failure, made smaller, and how to see it again."""
    print(f"\nseed {outcome.seed} ({outcome.kind}) fails:")
    for problem in outcome.problems[:3]:
        print(f"  {problem}")
    script, left_out = shrunk(draw(outcome.seed), outcome.checkers)
    without = f" --without {','.join(map(str, left_out))}" if left_out else ""
    for trouble in script.troubles:
        print(f"    {trouble}")
    print(f"  again: python tests/simulation/run.py --seed {outcome.seed}{without} --trace")


def one(seed: int, without: frozenset[int], *, is_traced: bool) -> int:
    script = draw(seed)
    kept = tuple(t for number, t in enumerate(script.troubles) if number not in without)
    world = World(replace(script, troubles=kept))
    problems: list[str] = []
    try:
        facts = world.run()
        problems = [str(violation) for violation in judge(world.records, facts)]
    except Exception as error:  # the trace is what is wanted
        problems = [f"{type(error).__name__}: {error}"]
    if is_traced:
        print(replace(script, troubles=()))
        for trouble in kept:
            print(trouble)
        for record in world.records:
            print(history.line(record))
    for problem in problems:
        print(problem)
    print(f"seed {seed} ({script.kind}): {'fails' if problems else 'passes'}")
    return 1 if problems else 0


def many(first: int, count: int, jobs: int) -> int:
    begun = said = time.monotonic()
    failed: list[Outcome] = []
    kinds: Counter[str] = Counter()
    operations = 0
    chunks = [
        range(begin, min(begin + _CHUNK, first + count))
        for begin in range(first, first + count, _CHUNK)
    ]
    with ProcessPoolExecutor(jobs) as pool:
        for outcomes in pool.map(run_seeds, chunks):
            for outcome in outcomes:
                kinds[outcome.kind] += 1
                operations += outcome.operations
                if outcome.problems:
                    failed.append(outcome)
                    if len(failed) <= _TOLD:
                        tell(outcome)
            now = time.monotonic()
            if now - said > _SAY_EVERY_S:
                said = now
                done = kinds.total()
                rate = done / (now - begun)
                print(f"{done} of {count} seeds, {len(failed)} failed, {rate:.0f}/s", flush=True)
    took = time.monotonic() - begun
    print(
        f"{count} seeds from {first}: {len(failed)} failed; {took:.0f} s, "
        f"{count / took:.0f} seeds/s on {jobs} cores, {operations} records"
    )
    print("  " + ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items())))
    if failed:
        print("  failed: " + " ".join(str(outcome.seed) for outcome in failed[:50]))
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--without", default="", help="numbers of troubles to leave out")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what was seen")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        without = frozenset(int(number) for number in arguments.without.split(",") if number)
        return one(arguments.seed, without, is_traced=arguments.trace)
    return many(arguments.first, arguments.seeds, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
