"""What could not be told of the groups, for metrics, health and the log.

Rules: why a group's status cannot be written is logged when the words are new, and once more when
it is written again. Nothing is decided by it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from tidegate_operator.model import GroupKey

_log = logging.getLogger("tidegate.operator.telling")


@dataclass(slots=True)
class Untold:
    """See the module."""

    # Tries that failed, of statuses and of Events; and Events that were given up.
    statuses_failed: int = 0
    events_failed: int = 0
    events_lost: int = 0
    # The groups whose status cannot be written, and why.
    groups: dict[GroupKey, str] = field(default_factory=dict)

    def failed(self, key: GroupKey, problem: Exception) -> None:
        """A status could not be written."""
        self.statuses_failed += 1
        words = str(problem)
        if self.groups.get(key) != words:
            _log.error("group %s: its status cannot be written: %s", key, words)
        self.groups[key] = words

    def written(self, key: GroupKey) -> None:
        if self.groups.pop(key, None) is not None:
            _log.info("group %s: its status is written again", key)

    def forget(self, key: GroupKey) -> None:
        self.groups.pop(key, None)

    def words(self) -> str:
        """For people; '' where everything is told."""
        if not self.groups:
            return ""
        key, why = next(iter(self.groups.items()))
        return f"the status of {len(self.groups)} cannot be written, such as {key}: {why}"
