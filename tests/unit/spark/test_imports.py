"""Who reads a hub does not pay for what reads a container: a worker starts for many a task."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["reading_tasks", "source", "office"])
def test_a_hub_is_read_without_the_sdk_of_cosmos_db(module: str) -> None:
    code = f"import sys, tidegate.spark.{module}; sys.exit('azure.cosmos' in sys.modules)"
    pytest.importorskip("pyspark", reason="what Spark runs needs pyspark")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
