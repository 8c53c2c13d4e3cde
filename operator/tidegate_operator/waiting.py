"""How long events of a group wait, and until when: from its status, for all who tell of it. Pure.

Rules: the console, the metrics and the commands say the same, as they ask here. What is not known
is None, and never 0: a partition in which nothing waits says nothing of one whose wait is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate_operator.wording import age_seconds

_LONGEST_DRAIN_S = 7 * 86_400


def behind_s(status: Mapping[str, Any]) -> float | None:
    """How long the oldest event has waited, by the arithmetic of `tidegate.lag.total`.

    Of a group with many partitions the status has an age such as 5m alone.
    """
    states = status.get("partitionStates")
    if not states:
        seconds = age_seconds(status.get("behind"))
        return None if seconds is None else float(seconds)
    known = [each for each in states if each.get("lag") is not None]
    waiting = [each for each in known if each["lag"]]
    waits = [each["behindSeconds"] for each in waiting if each.get("behindSeconds") is not None]
    nothing = 0.0 if known and not waiting else None
    return max(waits, default=nothing)


def drain_s(lag: int | None, arriving: Any, handling: Any) -> float | None:
    """How long it takes at the present pace until nothing waits; None where it does not end."""
    if lag == 0:
        return 0.0
    rates = (arriving, handling)
    if lag is None or not all(isinstance(rate, int | float) for rate in rates):
        return None
    if handling <= arriving or lag / (handling - arriving) > _LONGEST_DRAIN_S:
        return None
    return round(float(lag / (handling - arriving)), 1)
