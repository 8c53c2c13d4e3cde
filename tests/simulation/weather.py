"""How well storage and hub can be reached, for whom, and how often a call goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tidegate.model import MemberName

EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class Rates:
    """The share of storage calls that end so. What is left goes well."""

    lost_request: float = 0.0  # never arrives; the client knows nothing
    lost_reply: float = 0.0  # done; the client knows nothing
    late: float = 0.0  # done long after the client gave up
    twice: float = 0.0  # done, and done again later
    busy: float = 0.0  # 429: refused, not done
    failed: float = 0.0  # 500: not done, but who knows
    failed_done: float = 0.0  # 500: done all the same
    spike: float = 0.0  # done, and takes seconds

    def cumulative(self) -> list[tuple[float, str]]:
        """Names against the upper ends of their shares."""
        return list(self._ends())

    def _ends(self) -> Iterator[tuple[float, str]]:
        end = 0.0
        for name in self.__slots__:
            share = getattr(self, name)
            end += share
            if share:
                yield end, name


@dataclass(slots=True)
class Weather:
    """What is down just now. Troubles of one kind may overlap, so they are counted."""

    storage_down: Counter[MemberName] = field(default_factory=Counter)
    hub_down: Counter[MemberName] = field(default_factory=Counter)
    slow_s: float = 0.0
    odds: list[tuple[float, str]] = field(default_factory=list)

    def is_storage_down(self, name: MemberName) -> bool:
        down = self.storage_down
        return bool(down) and (down[EVERYBODY] > 0 or down[name] > 0)

    def is_hub_down(self, name: MemberName) -> bool:
        down = self.hub_down
        return bool(down) and (down[EVERYBODY] > 0 or down[name] > 0)
