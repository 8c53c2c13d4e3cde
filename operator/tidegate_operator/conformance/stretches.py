"""How far numbered events have been handled, whatever order their ranges came in.

Rules: pure. Millions of events are a few numbers here: ranges, never events.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Stretch:
    """How far it was handled, and what was passed over on the way."""

    through: int = -1
    gaps: list[tuple[int, int]] = field(default_factory=list)

    def take(self, first: int, last: int) -> int:
        """Counts a range in; gives how many of its events had been handled before."""
        again = max(0, min(last, self.through) - first + 1)
        filled: list[tuple[int, int]] = []
        for begin, end in self.gaps:
            covered = max(0, min(last, end) - max(first, begin) + 1)
            again -= covered
            if covered == 0:
                filled.append((begin, end))
                continue
            filled += [(begin, first - 1)] if begin < first else []
            filled += [(last + 1, end)] if end > last else []
        self.gaps = filled
        if first > self.through + 1:
            self.gaps.append((self.through + 1, first - 1))
        self.through = max(self.through, last)
        return again

    @property
    def whole(self) -> int:
        """The last event up to which all was handled."""
        return self.gaps[0][0] - 1 if self.gaps else self.through
