"""A user's handler without a state: it writes down what it is given, and that is all.

It is laid beside a group file together with seen.py (command_group.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from seen import see  # type: ignore[import-not-found]


def handle(events: Sequence[Any], context: Any) -> None:
    first, last = events[0].sequence_number, events[-1].sequence_number
    who = f"{context.member}#{os.getpid()}"
    see("h", time.time(), who, context.partition, context.epoch, first, last)
