"""The image's jars: fewer than Spark's, and enough for all that a group's pipeline may do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.spark_jars import kept_jars

EVERY_DAY = Path(__file__).with_name("every_day.py")
DRIVER_SECONDS = 240
MOST_MB = 240

pytestmark = [pytest.mark.slow, pytest.mark.timeout(DRIVER_SECONDS + 60)]


def test_a_pipeline_runs_on_the_jars_that_are_kept(
    pruned_environment: Mapping[str, str], tmp_path: Path
) -> None:
    ran = subprocess.run(
        [sys.executable, str(EVERY_DAY), str(tmp_path)], env=pruned_environment,
        capture_output=True, text=True, timeout=DRIVER_SECONDS, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-4000:]
    said = json.loads((tmp_path / "said.json").read_text(encoding="utf-8"))
    handled = [sum(range(n * 200, (n + 1) * 200)) * 2 for n in range(3)]
    assert said["batches"] == [
        {"rows": 200, "twice": total, "stored": sum(handled[: n + 1]), "arrow": 7, "sql": 1}
        for n, total in enumerate(handled)
    ]
    assert said["pages"] == {"jobs": 200, "rest": 200, "metrics": 200}


def test_what_is_kept_is_half_of_what_spark_brings() -> None:
    size_mb = sum(path.stat().st_size for path in kept_jars()) / 1_000_000
    assert size_mb <= MOST_MB
