"""A handler that counts the events of each home, in the state of its partition.

Each home's events are in one partition, so its count is whole. How many were counted is printed
after each thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PRINT_EVERY = 1_000


def handle(events: Sequence[Any], context: Any) -> None:
    """Counts a batch."""
    before = context.state.get("all", 0)
    context.state["all"] = before + len(events)
    for event in events:
        home = event.body_as_json()["home"]
        context.state[home] = context.state.get(home, 0) + 1
    if context.state["all"] // PRINT_EVERY > before // PRINT_EVERY:
        homes = len(context.state) - 1
        print(f"partition {context.partition}: {context.state['all']:,} events of {homes} homes")
