"""On a real Kubernetes: for how long partitions stand still, whatever is done to a group's pods.

It runs tests/cluster/test_operator_moves.py, on the cluster that KUBECONFIG names or on one of kind
that is made and removed, and takes its figures: a group of three pods and 12 partitions to each of
which five events a second come.

Rules: idle is from the last batch of one owner to the first of the next, by what handlers wrote; it
is too long by the pause between two events at most. There is no peer: what deploys the official
processor leaves its balancing to it, which bench-balance measures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import Bench, Line, make_line

ROOT = Path(__file__).resolve().parents[1]
TESTS = "tests/cluster/test_operator_moves.py"
NOT_QUICK = "takes minutes: run without QUICK=1"
# What is done, and how long a partition may stand still and how many may move by it. Of a pod that
# goes and has another made in its place four go to those who are there, and four to the new one.
DONE = {
    "scale-in": (2.0, 4),
    "scale-out": (2.0, 4),
    "rollout": (2.0, 12),
    "restart in place": (None, 0),
    "delete": (3.0, 8),
    "evict": (3.0, 8),
    "delete and kill": (3.0, 8),
    "force deletion": (17.0, 8),
}
CLEAN = ("scale-in", "scale-out", "rollout", "delete", "evict")


def measured() -> dict[str, dict[str, Any]]:
    """What the tests kept, by what was done."""
    with tempfile.TemporaryDirectory(prefix="bench-cluster-") as folder:
        file = Path(folder) / "figures"
        command = [sys.executable, str(ROOT / "cluster" / "manage.py"), "test", "--name",
                   os.environ.get("CLUSTER") or "tidegate", TESTS]  # fmt: skip
        environment = {**os.environ, "TIDEGATE_FIGURES": str(file)}
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if code or not file.exists():
            raise SystemExit(f"{TESTS} failed ({code}): there are no figures")
        rows = [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()]
    return {row["what"]: row for row in rows}


def lines(found: dict[str, dict[str, Any]], reason: str | None = None) -> Iterator[Line]:
    for what, (limit_s, moves) in DONE.items():
        row = found.get(what)
        why = reason or (None if row else "it was not done in this run")
        idle = max(row["idle_s"], default=0.0) if row else None
        yield make_line(
            f"{what}: partition idle, longest", "s", target=limit_s, reason=why,
            ours=None if idle is None else round(idle, 2),
        )  # fmt: skip
        yield make_line(
            f"{what}: moves", "moves", target=moves, ours=row["moves"] if row else None, reason=why
        )
        yield make_line(
            f"{what}: handled twice", "events", target=0 if what in CLEAN else None,
            ours=row["duplicates"] if row else None, reason=why,
        )  # fmt: skip


def main() -> None:
    bench = Bench("cluster")
    for line in lines({}, NOT_QUICK) if bench.quick else lines(measured()):
        bench.add(line)
    bench.finish()


if __name__ == "__main__":
    main()
