"""A hub in memory for each test."""

from __future__ import annotations

import pytest

from support.hub_bench import Bench


@pytest.fixture
def bench() -> Bench:
    """A hub that allows everything, with the hub telemetry of two partitions."""
    bench = Bench()
    bench.add_hub("telemetry", 2, "analytics")
    return bench


@pytest.fixture
def checking() -> Bench:
    """The same, but it checks tokens."""
    bench = Bench(is_checked=True)
    bench.add_hub("telemetry", 2)
    return bench
