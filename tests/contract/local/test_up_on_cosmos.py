"""A group on a container of Cosmos DB, without a cluster, an account or any other storage.

What is written is counted in what the example's handler prints of each batch.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.tree import ROOT
from support.up_container import UpContainer, columns
from support.up_process import UpProcess, up_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def handled(up: UpProcess) -> int:
    """How many changes the consumers have said that they were given."""
    logs = "".join(path.read_text() for path in up.state.glob("logs/orders-*.log"))
    return sum(int(count) for count in re.findall(r": (\d+) events, up to", logs))


def test_the_example_reads_a_container_through_a_split_and_goes_on_after_a_restart(
    tmp_path: Path,
) -> None:
    orders = UpContainer()
    with up_process(tmp_path, ROOT / "examples" / "orders.yaml") as up:
        up.until_said("orders  Balanced: ")
        assert columns(up)[:7] == ["orders", "cosmos", "python", "1/1", "1", "4", "4"]
        orders.write(up, 40)
        up.until("all changes to come", lambda: handled(up) == orders.written)
        orders.split(up, "0")
        orders.write(up, 40)
        up.until("the split to show", lambda: columns(up)[5:7] == ["5", "5"])
        up.until("all changes to come", lambda: handled(up) == orders.written)
        up.until("no lag", lambda: columns(up)[7] == "0")
        assert up.stop() == 0
        assert handled(up) == orders.written, "a clean end handles nothing twice"
        logs = list(up.state.glob("logs/orders-*.log"))
    for log in logs:
        log.rename(log.with_suffix(".before"))
    with up_process(tmp_path, ROOT / "examples" / "orders.yaml") as up:
        up.until("it to begin", lambda: columns(up)[5:7] == ["5", "5"])
        orders.write(up, 20)
        up.until("the new changes to come", lambda: handled(up) >= 20)
        up.until("no lag", lambda: columns(up)[7] == "0")
        assert up.stop() == 0
        assert handled(up) == 20, "what was handled before is not handled again"
