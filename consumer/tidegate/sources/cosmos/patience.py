"""How often and for how long what failed is asked again. One for each that reads."""

from __future__ import annotations

import random

from tidegate.sources.cosmos.pages import FeedError
from tidegate.sources.native.backoff import pause_s


class Patience:
    """Rules: what may pass is tried again until it has failed for so long; fatal ends at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._failures = 0
        self._since: float | None = None

    def failed(self, error: FeedError, now: float) -> float:
        """Until when to leave it alone. Raises what is not to be tried again."""
        if error.trouble.is_fatal:
            raise error
        self._failures += 1
        self._since = now if self._since is None else self._since
        if now - self._since >= self._seconds:
            self._since = None
            raise error
        return now + pause_s(self._failures, random.random, error.trouble.at_least_s)

    def went_well(self) -> None:
        self._failures, self._since = 0, None
