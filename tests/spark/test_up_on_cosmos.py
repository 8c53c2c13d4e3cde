"""`tidegate up` with `engine: spark` on the embedded Cosmos DB, as the example has it.

The totals are those that the example's pipeline says of each customer, from its state.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from support.tree import ROOT
from support.up_container import UpContainer, columns
from support.up_process import UpProcess, up_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

EXAMPLE = ROOT / "examples" / "orders-spark-up.yaml"
SOON = 240.0


def totals(up: UpProcess) -> dict[str, int]:
    """The newest that was said of each customer: it only grows."""
    found: dict[str, int] = {}
    for log in up.state.glob("logs/*.log"):
        for customer, count in re.findall(r"(c\d+) has made (\d+) orders", log.read_text()):
            found[customer] = max(int(count), found.get(customer, 0))
    return found


def test_the_example_counts_each_order_once_through_a_split_and_a_restart(
    tmp_path: Path, java_home: Path
) -> None:
    orders = UpContainer(customers=8)

    def write(up: UpProcess, count: int) -> None:
        orders.write(up, count)
        truth = Counter(orders.customer(number) for number in range(orders.written))
        up.until("all orders to be counted", lambda: totals(up) == truth, SOON)

    with up_process(tmp_path, EXAMPLE, JAVA_HOME=str(java_home)) as up:
        up.until("it to begin", lambda: columns(up)[4:7] == ["1", "4", "4"], SOON)
        assert columns(up)[:4] == ["orders-spark", "cosmos", "spark", "1/1"]
        write(up, 40)
        orders.split(up, "0")
        write(up, 40)
        up.until("the split to show", lambda: columns(up)[5:7] == ["5", "5"], SOON)
        up.until("no lag", lambda: columns(up)[7] == "0", SOON)
        assert up.stop() == 0
    with up_process(tmp_path, EXAMPLE, JAVA_HOME=str(java_home)) as up:
        up.until("it to begin", lambda: columns(up)[5:7] == ["5", "5"], SOON)
        write(up, 16)
        assert up.stop() == 0
