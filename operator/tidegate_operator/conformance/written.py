"""What handlers have written down, as rows: each line counts once, however often it was appended.

Rules: pure. One of these for each blob; the lines are recorder.py's. A number is remembered as part
of a range, so that a blob of hours is a few numbers.
"""

from __future__ import annotations

from typing import Any

from tidegate_operator.conformance.stretches import Stretch


class Written:
    """See the module. `through`: so many bytes of the blob were taken in."""

    def __init__(self) -> None:
        self.through = 0
        self._numbers = Stretch()

    def take(self, said: bytes) -> list[list[Any]]:
        """The rows of what has come since; half a line is left for the next time."""
        whole = said[: said.rfind(b"\n") + 1]
        self.through += len(whole)
        return [row for line in whole.decode().splitlines() for row in self._rows(line)]

    def _rows(self, line: str) -> list[list[Any]]:
        when, who, partition, epoch, stream, *numbers, what = line.split(" ")
        first, last, number = map(int, numbers)
        if what == "handled" and self._numbers.take(number, number):
            return []
        return [[what, float(when), who, partition, int(epoch), stream, first, last, number]]
