"""For how long the last write of an item has stood, at least. Pure: the clock is passed in.

Rules:
- By our own clock since that version was first seen, or written by us: nobody else's clock is
  trusted with it (rule 7 of docs/ledger.md).
- Or by the service's own clock, from `_ts` to the date of its last answer, less the whole seconds
  in which both are told and what its machines' clocks may differ by. So who comes new need not
  watch a lease that ended long ago.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_GRAIN_S = 2.0


class Ages:
    """See the module. Of one container, for one loop."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By name: the version, and when it was first seen.
        self._seen: dict[str, tuple[str, float]] = {}
        # What the service's clock said, and when that was heard.
        self._told: tuple[float, float] | None = None

    def told_time(self, server_time: float) -> None:
        now = self._clock()
        if self._told is None or server_time - self._told[0] > now - self._told[1] - 1:
            self._told = server_time, now

    @property
    def server_time(self) -> float:
        """Not later than it is; 0 where nothing was heard."""
        if self._told is None:
            return 0.0
        said, heard_at = self._told
        return said + self._clock() - heard_at

    def see(self, item: Mapping[str, Any]) -> None:
        name, version = str(item["id"]), str(item.get("_etag"))
        known = self._seen.get(name)
        if known is None or known[0] != version:
            self._seen[name] = version, self._clock()

    def forget(self, name: str) -> None:
        self._seen.pop(name, None)

    def of(self, item: Mapping[str, Any]) -> float:
        """The age of this version of an item that was seen."""
        version, first = self._seen.get(str(item["id"]), ("", 0.0))
        stood = self._clock() - first if version == str(item.get("_etag")) else 0.0
        by_service = self.server_time - float(item.get("_ts") or 0.0) - _GRAIN_S
        return max(stood, by_service if self._told is not None else 0.0, 0.0)
