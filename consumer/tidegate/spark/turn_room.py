"""The credit of a reader that reads turns: what the turn has left, and no more. Pure.

Rules:
- A reader stays attached between the turns of its partition, with no credit left: what comes next
  may be read by another process, and would have come here for nothing.
- Within a turn, room is bytes as for every reader: see sources/native/credit.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.sources.native.credit import FIRST_CREDIT, Room


@dataclass(slots=True)
class TurnRoom(Room):
    """See the module. `left` is how many events of the turn have not come yet."""

    left: int = 0

    def came(self, count: int, size: int) -> None:
        Room.came(self, count, size)
        self.left = max(self.left - count, 0)

    def begin(self) -> int:
        return self._fitting()

    def renewal(self, credit: int) -> int | None:
        fitting = self._fitting()
        if credit < fitting and credit <= fitting // 2:
            return fitting
        if self.mean_bytes and credit > 2 * self._wanted():
            # What is under way would not fit.
            return self._wanted()
        return None

    def _fitting(self) -> int:
        """Of what is left, as much as there is room for."""
        return min(self.left, self._wanted() if self.mean_bytes else FIRST_CREDIT)
