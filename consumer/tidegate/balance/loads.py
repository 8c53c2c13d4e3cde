"""The loads that a member announces: rounded to steps, and slow to change.

Rules: pure. A listing shows what members announced, and every announcement is a storage call; so a
figure is announced anew only when it has left the step that was announced. A partition that has
just been received keeps the figure of its former owner until it has been measured: as a partition
without load it would be given company, and moved again when it is known.
"""

from __future__ import annotations

import math

LOAD_STEP = 0.05


def load_to_announce(
    measured: float | None, announced: float | None, step: float = LOAD_STEP
) -> float:
    """The load to announce, given the one that was announced last.

    `measured` is None where there is no measurement yet; `announced` is None where nothing was
    ever announced, by this member or by the owner before it.
    """
    if measured is None or not math.isfinite(measured):
        return announced or 0.0
    # Half a step is rounding; the quarter on top keeps a load at the edge from going to and fro.
    if announced is not None and abs(measured - announced) <= step * 0.75:
        return announced
    return round(round(max(measured, 0.0) / step) * step, 6)
