"""The embedded container of `tidegate up` with one of the examples of orders: written and split.

orders = UpContainer()
orders.write(up, 40)
orders.split(up, "0")
"""

from __future__ import annotations

import json
import re
from urllib.request import Request, urlopen

from azure.cosmos import CosmosClient

from support.up_process import UpProcess


class UpContainer:
    """shop/orders. `customers`: items are of so many, in turns."""

    def __init__(self, customers: int = 1000) -> None:
        self.written = 0
        self._customers = customers

    def write(self, up: UpProcess, count: int) -> None:
        """So many more, each an item of its own."""
        connection = (up.state / "cosmos.txt").read_text().strip()
        with CosmosClient.from_connection_string(connection) as client:
            orders = client.get_database_client("shop").get_container_client("orders")
            for number in range(self.written, self.written + count):
                customer = self.customer(number)
                orders.create_item({"id": str(number), "customer": customer})
                self.written += 1

    def customer(self, number: int) -> str:
        return f"c{number % self._customers}"

    def split(self, up: UpProcess, range_id: str) -> None:
        found = re.search(r"split and merge at (\S+)", up.said)
        assert found is not None, up.said
        request = Request(
            f"{found[1]}api/v1/containers/shop/orders/ranges/{range_id}/split",
            json.dumps({}).encode(),
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=10) as answer:
            assert answer.status == 200


def columns(up: UpProcess) -> list[str]:
    """Of the one group: what `tidegate get` shows."""
    lines = up.ask("get").stdout.splitlines()
    return lines[1].split() if len(lines) > 1 else []
