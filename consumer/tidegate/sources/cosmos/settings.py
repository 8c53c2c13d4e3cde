"""How a container's change feed is read. Frozen; the defaults are meant."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.model import NO_OFFSET
from tidegate.settings import SettingsError
from tidegate.sources.start import Start

ONLY_FROM_NOW = (
    "allVersionsAndDeletes can begin at latest alone: the service keeps no versions from before "
    "the first reading"
)
NO_NUMBER = (
    "a position of a change feed is more than a number: start or rewind to latest, earliest or a "
    "time"
)


class FeedMode(StrEnum):
    """What the feed tells."""

    LATEST_VERSION = "latestVersion"
    ALL_VERSIONS_AND_DELETES = "allVersionsAndDeletes"

    @property
    def wire(self) -> str:
        """As the SDK calls it."""
        return f"{self[0].upper()}{self[1:]}"


@dataclass(frozen=True, slots=True)
class FeedSettings:
    """Units are in the names."""

    database: str
    container: str
    mode: FeedMode = FeedMode.LATEST_VERSION
    # How long a partition that had nothing is left alone before it is asked again.
    poll_s: float = 5.0
    # The most items that one answer has.
    page_items: int = 1_000
    # Request units a second that the group may spend on reading; None is as many as it takes.
    units_per_s: float | None = None
    # A copy of a partition's state is right for each part of it, where its range is split.
    copies_state: bool = False
    # Partitions stay as they are where the service merges their ranges.
    keeps_merged: bool = False
    # How long one answer may take.
    timeout_s: float = 10.0
    # For how long a reader tries again by itself before it says what is wrong.
    patience_s: float = 20.0
    # How long `receive` waits before it gives nothing: a reader is to show that it lives.
    quiet_s: float = 5.0

    @property
    def place(self) -> str:
        """For messages."""
        return f"container '{self.container}' of database '{self.database}'"

    def checked(self) -> FeedSettings:
        """These settings, or SettingsError."""
        if not self.database or not self.container:
            raise SettingsError("name the database and the container")
        for name in ("poll_s", "timeout_s", "patience_s", "quiet_s"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} must be above 0")
        if self.page_items < 1:
            raise SettingsError("page_items must be at least 1")
        if self.units_per_s is not None and self.units_per_s <= 0:
            raise SettingsError(
                "request_units_per_second must be above 0; leave it out for no bound"
            )
        return self


def check_start(mode: FeedMode, start: Start) -> None:
    """Whether reading can begin there. Raises SettingsError."""
    if mode is FeedMode.ALL_VERSIONS_AND_DELETES and start.kind in ("earliest", "time"):
        raise SettingsError(ONLY_FROM_NOW)
    if start.position is not None and start.position.offset == NO_OFFSET:
        raise SettingsError(NO_NUMBER)
