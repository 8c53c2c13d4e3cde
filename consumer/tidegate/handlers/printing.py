"""A handler that prints how many events came: for a first try, before there is one of your own.

handler: {code: "tidegate.handlers.printing:handle"}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def handle(events: Sequence[Any], context: Any) -> None:
    """Prints a line for each batch."""
    last = events[-1].sequence_number
    print(f"partition {context.partition}: {len(events)} events, up to {last}", flush=True)
