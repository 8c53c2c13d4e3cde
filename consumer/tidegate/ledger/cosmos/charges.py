"""What a lease container costs: request units and requests, on whatever thread they are sent."""

from __future__ import annotations

from threading import Lock


class Charges:
    """Request units, and requests, since the beginning."""

    def __init__(self) -> None:
        self.units = 0.0
        self.requests = 0
        self._lock = Lock()

    def add(self, units: float) -> None:
        with self._lock:
            self.units += units
            self.requests += 1
