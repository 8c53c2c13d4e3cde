"""Whether the status of a group says what its leases say, and for how long it did not.

Rules: pure; it is shown both, look by look, and compares only what both know.
"""

from __future__ import annotations

from collections.abc import Mapping


class Agreement:
    """See the module."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self.longest_s = 0.0
        self.looks = 0

    def look(self, told: Mapping[str, str], owners: Mapping[str, str], now: float) -> None:
        """Who owns what as the status told it, and as the leases are."""
        self.looks += 1
        differing = {name for name, owner in owners.items() if told.get(name, owner) != owner}
        for partition in self._since.keys() - differing:
            del self._since[partition]
        for partition in differing:
            since = self._since.setdefault(partition, now)
            self.longest_s = max(self.longest_s, now - since)
