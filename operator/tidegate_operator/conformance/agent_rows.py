"""What the agent has seen and the run has not yet: rows that are numbered from the first on.

Rules: pure. Who asks for what came since row N has all before it, which is let go: a run of hours
sees millions of them, and the agent keeps those of a moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST = 5000


class Rows:
    """See the module."""

    def __init__(self) -> None:
        self._kept: list[list[Any]] = []
        # The number of the first that is kept.
        self._first = 0

    def add(self, *fields: Any) -> None:
        self._kept.append(list(fields))

    def extend(self, rows: Iterable[list[Any]]) -> None:
        self._kept.extend(rows)

    def since(self, after: int) -> tuple[list[list[Any]], int]:
        """The next of them, and the number to ask for then: below `after` where there are not so
        many, which is another life of the agent than the one that said so."""
        had = min(max(after - self._first, 0), len(self._kept))
        del self._kept[:had]
        self._first += had
        found = self._kept[:MOST]
        return found, self._first + len(found)

    @property
    def kept(self) -> int:
        return len(self._kept)
