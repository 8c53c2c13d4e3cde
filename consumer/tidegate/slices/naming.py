"""The names of the blobs: which slice of which partition, and up to which event. Pure.

    {prefix}/{slice start}/{partition}/{end}.homes      .../20260131T235900Z/3/000...4711.homes

Rules:
- `end` is the sequence number of the last event that is in it. So a name's bytes change only where
  one of its events was put aside after it was written. Of several versions of a slice the one with
  the highest end holds all that the others hold.
- The start stands first, so that one call lists a minute of all partitions, and names sort by time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

PROJECTION = ".homes"
PARQUET = ".parquet"

_START = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"(?:.*/)?([0-9]{8}T[0-9]{6}Z)/([^/]+)/([0-9]{20})(\.[a-z]+)")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A slice of a partition as it was after one of its events. `start`: seconds since 1970."""

    partition: str
    start: int
    end: int

    def folder(self, prefix: str) -> str:
        """What the names of all versions of this slice begin with."""
        return f"{prefix}/{start_text(self.start)}/{self.partition}/"

    def name(self, prefix: str, suffix: str = PROJECTION) -> str:
        return f"{self.folder(prefix)}{self.end:020}{suffix}"


def start_text(start: int) -> str:
    """A slice's start as it stands in names: 20260131T235900Z."""
    return datetime.fromtimestamp(start, UTC).strftime(_START)


def start_of(text: str) -> int:
    """The other way round; ValueError."""
    return int(datetime.strptime(text, _START).replace(tzinfo=UTC).timestamp())


def version_of(name: str) -> tuple[Version, str] | None:
    """The version that a blob's name says, and its suffix; None for other blobs."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    text, partition, end, suffix = found.groups()
    try:
        return Version(partition, start_of(text), int(end)), suffix
    except ValueError:
        return None


def newest(names: Iterable[str], suffix: str = PROJECTION) -> dict[tuple[int, str], Version]:
    """Of each slice and partition the version to read."""
    found: dict[tuple[int, str], Version] = {}
    for name in names:
        parsed = version_of(name)
        if parsed is None or parsed[1] != suffix:
            continue
        version = parsed[0]
        place = (version.start, version.partition)
        if place not in found or found[place].end < version.end:
            found[place] = version
    return found
