"""How long to wait before something that failed is tried again. Pure.

Rules: pauses double, with a dice in them; and none is shorter than the server asked for, be it the
Kubernetes API or storage.
"""

from __future__ import annotations

from collections.abc import Callable

from tidegate.ports import LedgerError
from tidegate_operator.kube_errors import KubeError

# One that asks for a day is asked sooner: nobody knows by then why nothing is done.
_LONGEST_ASKED_S = 300.0


def pause_s(failures: int, first_s: float, longest_s: float, dice: Callable[[], float]) -> float:
    """How long to wait after so many failures in a row: doubled, with up to a half taken off."""
    whole = min(first_s * 2.0 ** min(failures - 1, 30), longest_s)
    return whole * (1 - dice() / 2)


def asked_pause_s(problem: Exception) -> float:
    """For how long the server asks to be left alone with it; 0 where it does not."""
    asked = problem.retry_after_s if isinstance(problem, KubeError | LedgerError) else None
    return min(asked or 0.0, _LONGEST_ASKED_S)
