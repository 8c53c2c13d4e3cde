"""Conformance with each engine and each source: `make test-conformance`; its figures are written
down in benchmarks/results/conformance.json.

They are as long as the step of two minutes wants that P10 needs; MINUTES is for all.
Spark and mixed want the image of Spark on the cluster: `make cluster SPARK=1`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.cluster_conformance import conformance, until_nothing_is_left
from support.cluster_release import Release
from support.tree import ROOT

# With all that comes before and after what MINUTES says.
LIMIT_S = max(900.0, 60 * float(os.environ.get("MINUTES") or 0) + 600)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT_S)]

RESULTS = ROOT / "benchmarks" / "results" / "conformance.json"
ALWAYS = {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P14"}


@pytest.mark.parametrize(
    ("kind", "minutes", "words", "must"),
    [
        ("python", 6, (), ALWAYS | {"P10", "P11", "P12"}),
        ("cosmos", 6, ("--source", "cosmos"), ALWAYS | {"P10", "P11", "P12", "P13"}),
        # Whoever takes the operator away kills a consumer, for which a process is wanted.
        ("spark", 7, ("--engine", "spark"), ALWAYS | {"P10", "P12"}),
        ("mixed", 7, ("--engine", "mixed"), ALWAYS | {"P10", "P11", "P12"}),
    ],
)
def test_everything_that_is_tried_holds(
    release: Release,
    kind: str,
    minutes: int,
    words: tuple[str, ...],
    must: set[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = ROOT / "build" / "conformance" / kind
    length = os.environ.get("MINUTES") or str(minutes)
    seed = os.environ.get("SEED") or "1"
    ran = conformance(release, folder, "--minutes", length, "--seed", seed, *words)
    with capsys.disabled():
        print(f"\n{ran.told}\n{ran.said}")
    assert ran.report, ran.told
    write_down(RESULTS, kind, ran.report)
    assert ran.code == 0, ran.said
    assert ran.held >= must, sorted(must - ran.held)
    if kind == "cosmos":
        assert {"split", "merge"} <= ran.done, "ranges are split and merged in one run"
    until_nothing_is_left(release.inside)


def write_down(file: Path, kind: str, report: dict[str, object]) -> None:
    """The report of a kind, beside those of the others."""
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    kept = ("passed", "again", "began", "seconds", "properties", "disturbances", "troubles")
    found[kind] = {key: report[key] for key in kept}
    file.write_text(f"{json.dumps(found, indent=1, sort_keys=True)}\n", encoding="utf-8")
