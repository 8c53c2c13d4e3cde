"""How a group came to be as it is: figures over time, and hand-overs. Pure, in memory, bounded.

Rules: a sample is taken where something changed, SAMPLE_S after the one before at the soonest.
Where there is no more room every second of the older half goes, so that the time that is kept
grows and what is new stays sharp. What was not known is not a number, and is told as null.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Mapping
from typing import Any

from tidegate_operator.kinds import Document
from tidegate_operator.page.shown import ready_of
from tidegate_operator.waiting import behind_s

SAMPLES = 480
MOVES = 100
SAMPLE_S = 2.0
FIELDS = ("at", "lag", "behindSeconds", "ready", "wanted", "arriving", "handling")
_WIDTH = len(FIELDS)


class Track:
    """See the module."""

    def __init__(self) -> None:
        self._samples = array("d")
        self._owners: dict[str, str] = {}
        self.moves: deque[Document] = deque(maxlen=MOVES)

    def hear(
        self, document: Mapping[str, Any], now: float
    ) -> tuple[list[Any] | None, list[Document]]:
        """The group is like this now: the sample that was taken, if any, and who moved."""
        status = document.get("status") or {}
        return self._sample(status, now), self._moved(status, now)

    def samples(self) -> list[list[Any]]:
        return [self._told(at) for at in range(0, len(self._samples), _WIDTH)]

    def _sample(self, status: Mapping[str, Any], now: float) -> list[Any] | None:
        if self._samples and now - self._samples[-_WIDTH] < SAMPLE_S:
            return None
        scaling = status.get("scaling") or {}
        values = (
            status.get("lag"),
            behind_s(status),
            ready_of(status),
            status.get("wanted"),
            scaling.get("arriving"),
            scaling.get("handling"),
        )
        self._samples.extend([now, *(math.nan if each is None else float(each) for each in values)])
        if len(self._samples) > SAMPLES * _WIDTH:
            self._thin()
        return self._told(len(self._samples) - _WIDTH)

    def _told(self, at: int) -> list[Any]:
        row = self._samples[at : at + _WIDTH]
        return [None if math.isnan(value) else round(value, 3) for value in row]

    def _thin(self) -> None:
        half = SAMPLES // 2 * _WIDTH
        kept = array("d")
        for at in range(0, half, 2 * _WIDTH):
            kept.extend(self._samples[at : at + _WIDTH])
        self._samples = kept + self._samples[half:]

    def _moved(self, status: Mapping[str, Any], now: float) -> list[Document]:
        """Partitions that another member owns than before."""
        found: list[Document] = []
        for each in status.get("partitionStates") or ():
            partition, owner = each["partition"], each.get("owner")
            before = self._owners.get(partition)
            if not owner or owner == before:
                continue
            self._owners[partition] = owner
            if before is not None:
                at = round(now, 3)
                found.append({"at": at, "partition": partition, "from": before, "to": owner})
        self.moves.extend(found)
        return found
