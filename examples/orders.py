"""A handler of changes: counts each customer's orders, exactly, whatever is killed.

Rules: the state is stored together with the position, so that no order counts twice. Each key of it
belongs to one customer, which is the container's partition key: so `stateOnSplit: copy` is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


async def handle(changes: Sequence[Any], context: Any) -> None:
    for change in changes:
        customer = change["customer"]
        context.state[customer] = context.state.get(customer, 0) + 1
        print(context.partition, change["_lsn"], change["id"], customer, context.state[customer])
