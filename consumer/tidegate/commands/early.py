"""SIGTERM and Ctrl-C while nothing is owned: before the member runs, and after it has left.

Rules: a process that is asked to stop then ends at once, with a line and the code of a clean stop:
there is nothing to hand over. In a container it would otherwise be deaf, since the kernel drops a
signal that process 1 has no handler for. So this comes before anything large is imported.
"""

from __future__ import annotations

import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EndedEarly(KeyboardInterrupt):
    """Raised wherever the process was. Not an Exception: no handler's module takes it for one."""


def end_when_asked() -> None:
    """From now on, until somebody else listens."""
    for number in SIGNALS:
        signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    raise EndedEarly(f"{signal.Signals(number).name}: ended at once, for nothing is owned")
