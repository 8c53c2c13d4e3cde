"""Which of some processes live, whoever started them.

Rules: one that has ended and was not yet reaped by whoever it fell to (a zombie) does not live.
"""

from __future__ import annotations

from collections.abc import Iterable

import psutil


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those of them that do."""
    return [each for each in processes if lives(each)]
