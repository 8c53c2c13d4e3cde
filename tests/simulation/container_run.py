"""Runs worlds of a container: `python tests/simulation/container_run.py --seeds 1000`, or one with
`--seed N --trace`."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "consumer")]

from simulation import history  # noqa: E402
from simulation.container_checks import judge  # noqa: E402
from simulation.container_reader import Gave  # noqa: E402
from simulation.container_script import container_script  # noqa: E402
from simulation.container_world import ContainerWorld  # noqa: E402


def run_seed(seed: int) -> tuple[ContainerWorld, list[str]]:
    """A world and what is wrong with it; a member that raises an error is a problem as well."""
    world = ContainerWorld(container_script(seed))
    try:
        facts = world.run()
    except Exception as error:  # the world names the seed; hiding nothing
        return world, [f"{type(error).__name__} at {world.clock.now:.3f}: {error}"]
    return world, [str(each) for each in judge(world, facts)]


def problems_of(seed: int) -> list[str]:
    return run_seed(seed)[1]


def trace(seed: int) -> None:
    """Prints what storage and handlers saw."""
    world, _ = run_seed(seed)
    for record in sorted([*world.records, *world.gave], key=lambda each: each.at):
        print(record if isinstance(record, Gave) else history.line(record))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what was seen")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    if arguments.seed is not None:
        seeds = range(arguments.seed, arguments.seed + 1)
    if arguments.trace:
        trace(seeds.start)
    failed = 0
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for seed, problems in zip(seeds, pool.map(problems_of, seeds, chunksize=20), strict=True):
            if problems:
                failed += 1
                print(f"seed {seed} fails:", *problems[:4], sep="\n  ", flush=True)
    print(f"{len(seeds)} seeds from {seeds.start}: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
