"""Feeds random inputs to every parser of what others wrote, and prints how many each took.

python tests/fuzz/run.py [--runs N] [--parser NAME ...]
python tests/fuzz/run.py --parser NAME --replay FILE

Rules: a parser passes when it took at least that many inputs and none of them raised what it must
not, took longer than the limit, or needed more memory than the limit. An input that broke a parser
is kept under tests/fuzz/found/, printed in hex, and the line that replays it is printed. What each
parser took stands in benchmarks/results/fuzz.json; runs of fewer than a million inputs in
benchmarks/results/quick/.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOUND = HERE / "found"
RESULTS = ROOT / "benchmarks" / "results"
FULL = 1_000_000
# The parsers of each file of targets, and what each reads.
FILES: dict[str, dict[str, str]] = {
    "fuzz_amqp.py": {
        "values": "AMQP: values",
        "performatives": "AMQP: performatives",
        "frames": "AMQP: frames in pieces",
        "sections": "AMQP: sections of a message",
        "sasl": "AMQP: SASL",
        "transfer": "AMQP: transfers, by both readers",
        "acceptor": "AMQP: a connection, the service's end",
        "initiator": "AMQP: a connection, the client's end",
    },
    "fuzz_client.py": {
        "connection_strings": "connection strings of hubs, storage and Cosmos DB; addresses",
        "service_answers": "answers of `$cbs` and `$management`",
        "service_refusals": "errors of a service; how long it asks to be left alone",
        "events": "events, by both readers",
        "websocket_client": "AMQP over WebSockets, the client's end",
    },
    "fuzz_ledger.py": {
        "listings": "List Blobs, by both readers",
        "ledger_blobs": "metadata of ownerships, checkpoints, members and rosters",
        "rosters": "the roster's JSON",
        "checkpoint_bodies": "bodies of checkpoints, and the state in them",
        "dead_letters": "dead letters",
        "scratch_files": "the scratch file of a process",
    },
    "fuzz_leases.py": {
        "leases": "lease documents of .NET (v0, EPK) and Java (EPK, pk)",
        "lease_tokens": "Java's continuation tokens",
        "ledger_documents": "the ledger's documents in a container",
        "feed_pages": "changes of a container",
        "feed_answers": "answers of a change feed, and their continuation tokens",
        "positions": "offsets of a change feed, names of its partitions",
    },
    "fuzz_settings.py": {
        "group_files": "group files, as text",
        "consumer_groups": "ConsumerGroups, and what is made of them",
        "declarations": "hubs and containers on command lines, Config.json, durations",
    },
    "fuzz_http.py": {
        "http": "HTTP of our own servers",
        "hub_admin": "requests to the admin API of tidegate-hub",
        "cosmos_admin": "requests to the admin API of tidegate-cosmos",
        "websocket_server": "AMQP over WebSockets, the hub's end",
    },
    "fuzz_cosmos.py": {
        "cosmos_requests": "requests to tidegate-cosmos",
        "cosmos_queries": "queries of Cosmos DB",
        "cosmos_faults": "faults for tidegate-cosmos",
    },
    "fuzz_hub.py": {
        "deliveries": "what publishers send to tidegate-hub",
        "hub_questions": "addresses, filters, tokens and questions to tidegate-hub",
        "hub_faults": "faults for tidegate-hub",
        "segments": "tidegate-hub's files of events",
        "sidecars": "tidegate-hub's indexes",
        "hub_files": "tidegate-hub's list of hubs",
        "journals": "the journal of tidegate-cosmos",
    },
    "fuzz_operator.py": {
        "kube_objects": "pods, Deployments and Leases of Kubernetes",
        "kube_answers": "whatever answers at the API's address",
        "shown_groups": "groups, as the console and /groups show them",
        "reviews": "Kubernetes' reviews of tokens and rights",
        "console_requests": "what browsers send to the console",
    },
    "fuzz_slices.py": {
        "slices": "projections of slices, by both readers",
        "slice_names": "names of slices",
        "links": "signed links of the residents' page",
        "readings": "what sensors of the scenario send",
    },
    "fuzz_spark.py": {
        "spark_offsets": "offsets of a stream, reports of workers",
        "spark_options": 'options of `format("tidegate")`',
        "spark_errors": "texts of Spark's errors",
        "desk_questions": "questions of workers to the driver",
        "payloads": "messages of a batch, read together",
        "json_columns": "JSON bodies as columns",
    },
}
PARSERS = {parser: HERE / file for file, parsers in FILES.items() for parser in parsers}
READS = {parser: reads for parsers in FILES.values() for parser, reads in parsers.items()}
# What a parser needs that is not in every environment.
WANTS = {"json_columns": "pyarrow"}
SECONDS_FOR_ONE_INPUT = 5
MEMORY_MB = 1_024
LONGEST_INPUT = 1_024
COUNTED = re.compile(r"^(?:Done|stat::number_of_executed_units:)\s+(\d+)", re.MULTILINE)


def environment() -> dict[str, str]:
    """The sources before what is installed, so that what is fuzzed is this checkout."""
    paths = ("consumer", "operator", "examples/home-security", "tests")
    folders = [str(ROOT / path) for path in paths]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def fuzz(parser: str, runs: int, seconds_each: int) -> bool:
    """Runs one parser; True when it took all inputs."""
    FOUND.mkdir(exist_ok=True)
    before = set(FOUND.iterdir())
    started = time.monotonic()
    ended = subprocess.run(
        [
            sys.executable,
            str(PARSERS[parser]),
            parser,
            f"-runs={runs}",
            f"-max_len={LONGEST_INPUT}",
            f"-timeout={seconds_each}",
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
        print(f"{parser:<18} {taken:>10,} inputs in {seconds:5.0f} s, nothing found", flush=True)
        write_result(parser, taken, seconds)
        return True
    print("\n".join(ended.stdout.splitlines()[-40:]))
    print(f"{parser:<18} {taken:>10,} inputs in {seconds:5.0f} s, FAILED", flush=True)
    for path in sorted(set(FOUND.iterdir()) - before):
        print(f"  input: {path.read_bytes().hex()}")
        print(f"  again: python tests/fuzz/run.py --parser {parser} --replay {path}")
    return False


def write_result(parser: str, taken: int, seconds: float) -> None:
    """What the parser has taken, beside what the others have; those that are no more are left
    out."""
    path = RESULTS / ("" if taken >= FULL else "quick") / "fuzz.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    if path.exists():
        lines = json.loads(path.read_text(encoding="utf-8"))
    known = {line["parser"]: line for line in lines}
    known[parser] = {
        "parser": parser,
        "reads": READS[parser],
        "inputs": taken,
        "found": 0,
        "seconds": round(seconds, 1),
        "on": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    text = json.dumps([known[name] for name in PARSERS if name in known], indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def replay(parser: str, path: Path) -> bool:
    command = [sys.executable, str(PARSERS[parser]), parser, "--replay", str(path.resolve())]
    return subprocess.run(command, check=False, env=environment()).returncode == 0


def is_there(parser: str) -> bool:
    """Whether what it wants is; says so where it is not."""
    wanted = WANTS.get(parser)
    if wanted is None or importlib.util.find_spec(wanted) is not None:
        return True
    print(f"{parser:<18} left out: it wants {wanted}, which `make fuzz` installs", flush=True)
    return False


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--runs", type=int, default=FULL, help="inputs for each parser")
    options.add_argument(
        "--seconds",
        type=int,
        default=SECONDS_FOR_ONE_INPUT,
        help="the longest that one input may take; more where a machine stands still now and then",
    )
    options.add_argument("--parser", action="append", choices=PARSERS, help="only this one")
    options.add_argument("--replay", type=Path, metavar="FILE", help="run one kept input again")
    chosen = options.parse_args()
    parsers = chosen.parser or list(PARSERS)
    if chosen.replay:
        if len(parsers) != 1:
            options.error("--replay wants the one --parser that the input is for")
        return 0 if replay(parsers[0], chosen.replay) else 1
    results = [fuzz(parser, chosen.runs, chosen.seconds) for parser in parsers if is_there(parser)]
    print(f"{sum(results)} of {len(results)} parsers passed", flush=True)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
