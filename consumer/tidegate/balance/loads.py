"""The loads that a member announces: rounded, and slow to change.

Rules: pure. Every announcement makes everybody plan anew, so a figure is announced again only when
it has left what was announced by a part of it: a plan compares loads with one another, and errors
of a part of each do not add up to a reason to move anything, as whole steps would where loads are
small. A partition that has just been received keeps the figure of its former owner until it has
been measured: as a partition without load it would be given company, and moved again when it is
known.
"""

from __future__ import annotations

import math

LOAD_STEP = 0.01
# Well within the band of a plan.
LOAD_PART = 0.1


def load_to_announce(measured: float | None, announced: float | None) -> float:
    """The load to announce, given the one that was announced last.

    `measured` is None where there is no measurement yet; `announced` is None where nothing was
    ever announced, by this member or by the owner before it.
    """
    if measured is None or not math.isfinite(measured):
        return announced or 0.0
    if announced is not None:
        if abs(measured - announced) <= max(LOAD_STEP, announced * LOAD_PART):
            return announced
    return round(max(measured, 0.0), 2)
