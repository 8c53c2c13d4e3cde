"""A handler that prints how many events came: for a first try, before there is one of your own.

handler: {code: "tidegate.handlers.printing:handle"}
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def handle(events: Sequence[Any], context: Any) -> None:
    """Prints a line for each batch."""
    last = events[-1].sequence_number
    line = f"partition {context.partition}: {len(events)} events, up to {last}\n"
    # One write with its end in it: `print` makes two, and between them another partition's thread
    # may write.
    sys.stdout.write(line)
    sys.stdout.flush()
