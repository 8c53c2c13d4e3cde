"""Feeds random inputs to every parser of tidegate_amqp and prints how many each took.

python tests/fuzz/run.py [--runs N] [--parser NAME ...]
python tests/fuzz/run.py --parser NAME --replay FILE

Rules: a parser passes when it took at least that many inputs and none of them raised what it must
not, took longer than the limit, or needed more memory than the limit. An input that broke a parser
is kept under tests/fuzz/found/, printed in hex, and the line that replays it is printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = HERE / "fuzz_amqp.py"
FOUND = HERE / "found"
PARSERS = (
    "values",
    "performatives",
    "frames",
    "sections",
    "sasl",
    "transfer",
    "acceptor",
    "initiator",
)
SECONDS_FOR_ONE_INPUT = 5
MEMORY_MB = 1_024
LONGEST_INPUT = 1_024
COUNTED = re.compile(r"^(?:Done|stat::number_of_executed_units:)\s+(\d+)", re.MULTILINE)


def environment() -> dict[str, str]:
    """The sources before what is installed, so that what is fuzzed is this checkout."""
    folders = [str(ROOT / "consumer"), str(ROOT / "tests")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def fuzz(parser: str, runs: int) -> bool:
    """Runs one parser; True when it took all inputs."""
    FOUND.mkdir(exist_ok=True)
    before = set(FOUND.iterdir())
    started = time.monotonic()
    ended = subprocess.run(
        [
            sys.executable,
            str(TARGET),
            parser,
            f"-runs={runs}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={SECONDS_FOR_ONE_INPUT}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-artifact_prefix={FOUND}/{parser}-",
            "-print_final_stats=1",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        env=environment(),
    )
    seconds = time.monotonic() - started
    counts = [int(count) for count in COUNTED.findall(ended.stdout)]
    taken = max(counts, default=0)
    if ended.returncode == 0 and taken >= runs:
        print(f"{parser:<14} {taken:>10,} inputs in {seconds:5.0f} s, nothing found", flush=True)
        return True
    print("\n".join(ended.stdout.splitlines()[-40:]))
    print(f"{parser:<14} {taken:>10,} inputs in {seconds:5.0f} s, FAILED", flush=True)
    for path in sorted(set(FOUND.iterdir()) - before):
        print(f"  input: {path.read_bytes().hex()}")
        print(f"  again: python tests/fuzz/run.py --parser {parser} --replay {path}")
    return False


def replay(parser: str, path: Path) -> bool:
    command = [sys.executable, str(TARGET), parser, "--replay", str(path.resolve())]
    return subprocess.run(command, check=False, env=environment()).returncode == 0


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=1_000_000, help="inputs for each parser")
    options.add_argument("--parser", action="append", choices=PARSERS, help="only this one")
    options.add_argument("--replay", type=Path, metavar="FILE", help="run one kept input again")
    chosen = options.parse_args()
    parsers = chosen.parser or PARSERS
    if chosen.replay:
        if len(parsers) != 1:
            options.error("--replay wants the one --parser that the input is for")
        return 0 if replay(parsers[0], chosen.replay) else 1
    results = [fuzz(parser, chosen.runs) for parser in parsers]
    print(f"{sum(results)} of {len(results)} parsers passed", flush=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
