"""Runs worlds with the real operator: `python tests/simulation/operator_run.py --seeds 200`.

`--seed N --trace` prints everything that storage, hub, handlers and the Deployment saw.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("tests", "consumer", "operator")]

from simulation import history, operator_checks  # noqa: E402
from simulation.judge import judge  # noqa: E402
from simulation.operator_script import OperatorScript, draw  # noqa: E402
from simulation.operator_world import OperatorWorld  # noqa: E402


def problems_of(script: OperatorScript) -> tuple[list[str], OperatorWorld]:
    """What did not hold in a world, and the world."""
    world = OperatorWorld(script)
    facts = world.run()
    found = [*judge(world.records, facts), *operator_checks.check(world)]
    return [str(violation) for violation in found], world


def trace(world: OperatorWorld) -> list[str]:
    """Everything that was seen, in order of time."""
    lines = [(record.at, history.line(record)) for record in world.records]
    lines += [(stopped.at, f"{stopped.at:9.3f} {stopped}") for stopped in world.journal.stopped]
    lines += [(at, f"{at:9.3f} {who} scales to {to}") for at, who, to in world.journal.scaled]
    return [text for _, text in sorted(lines, key=lambda line: line[0])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="this one alone")
    parser.add_argument("--trace", action="store_true", help="with --seed: print what was seen")
    arguments = parser.parse_args()
    first, count = arguments.first, arguments.seeds
    seeds = [arguments.seed] if arguments.seed is not None else range(first, first + count)
    begun, failed = time.monotonic(), []
    for seed in seeds:
        script = draw(seed)
        problems, world = problems_of(script)
        if arguments.trace:
            print("\n".join(trace(world)))
        if problems or arguments.seed is not None:
            print(f"seed {seed}: {script.befalls}")
            print("\n".join(f"  {problem}" for problem in problems[:5]), flush=True)
        failed += [seed] * bool(problems)
    print(f"{len(seeds)} seeds, {len(failed)} failed {failed}; {time.monotonic() - begun:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
