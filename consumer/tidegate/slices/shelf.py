"""Which slices stand, for who shows them as they change: told by listings, asked by nobody. Pure.

Rules:
- A listing is of all names that begin alike: of ten minutes, or of an hour. Ten minutes are listed
  at every look while something is written there; hours now and then, for what comes late.
- Of a slice's versions only the newest is told. One that could not be read is forgotten, and so
  told again by the next listing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tidegate.slices.naming import Version, start_text

DAY_S = 86_400
HOUR_S = 3_600
# As much of a start's text as says the hour, and ten minutes of it: 20260131T23, 20260131T235.
_HOUR_CHARS, _TEN_MINUTES_CHARS = 11, 12
# How often an hour is listed: the last two, and those before.
_LATE_EVERY_S, _OLD_EVERY_S = 15.0, 300.0
# Ten minutes in which something was written are looked at for so long; and at most so many.
_HOT_S, _HOT_MOST = 60.0, 6


class Place(NamedTuple):
    """A slice of a partition, whatever its version. They sort by time."""

    start: int
    partition: str


class Stood(NamedTuple):
    """What stands in a place."""

    version: Version
    size: int


def _beginning(at: float, chars: int) -> str:
    return start_text(int(at))[:chars]


class Shelf:
    """See the module."""

    def __init__(self) -> None:
        self._stands: dict[Place, Stood] = {}
        self._starts: dict[str, list[int]] = {}
        self._listed_at: dict[str, float] = {}
        self._hot: dict[str, float] = {}

    @property
    def newest(self) -> int | None:
        """The start of the newest slice."""
        return max((starts[-1] for starts in self._starts.values() if starts), default=None)

    def partitions(self) -> Collection[str]:
        return self._starts.keys()

    def at(self, place: Place) -> Stood | None:
        return self._stands.get(place)

    def between(self, partition: str, begin: int, end: int) -> Iterator[Place]:
        """The places of a partition from one time to before another."""
        starts = self._starts.get(partition, [])
        for start in starts[bisect_left(starts, begin) : bisect_left(starts, end)]:
            yield Place(start, partition)

    def due(self, now: float) -> list[str]:
        """What to list now: beginnings of names, the newest first."""
        wanted = {_beginning(at, _TEN_MINUTES_CHARS): None for at in (now, now - _HOT_S)}
        if self.newest is not None:
            wanted[_beginning(self.newest, _TEN_MINUTES_CHARS)] = None
        hot = sorted(
            (text for text, at in self._hot.items() if now - at <= _HOT_S and text not in wanted),
            reverse=True,
        )
        hours = []
        for back in range(DAY_S // HOUR_S + 1):
            text = _beginning(now - back * HOUR_S, _HOUR_CHARS)
            every_s = _LATE_EVERY_S if back < 2 else _OLD_EVERY_S
            if now - self._listed_at.get(text, float("-inf")) >= every_s:
                hours.append(text)
        return [*wanted, *hot[:_HOT_MOST], *hours]

    def hear(self, beginning: str, listed: Mapping[Version, int], now: float) -> set[Place]:
        """A listing: the places in which something else stands than before."""
        is_first = beginning not in self._listed_at
        self._listed_at[beginning] = now
        newest: dict[Place, Stood] = {}
        for version, size in listed.items():
            place = Place(version.start, version.partition)
            if place not in newest or newest[place].version.end < version.end:
                newest[place] = Stood(version, size)
        changed = {place for place, stood in newest.items() if self._stands.get(place) != stood}
        for place in changed:
            self._put(place, newest[place])
            if not is_first:
                self._hot[_beginning(place.start, _TEN_MINUTES_CHARS)] = now
        return changed

    def forget(self, place: Place, version: Version) -> None:
        """It could not be read: if it is still there it will be told of again."""
        stood = self._stands.get(place)
        if stood is not None and stood.version == version:
            del self._stands[place]
            self._starts[place.partition].remove(place.start)

    def tidy(self, now: float) -> None:
        """What is older than a day, and a little more, is no longer shown by anybody."""
        oldest = now - DAY_S - HOUR_S
        for place in [place for place in self._stands if place.start < oldest]:
            del self._stands[place]
            self._starts[place.partition].remove(place.start)
        self._hot = {text: at for text, at in self._hot.items() if now - at <= _HOT_S}
        kept = _beginning(oldest, _HOUR_CHARS)
        self._listed_at = {text: at for text, at in self._listed_at.items() if text >= kept}

    def _put(self, place: Place, stood: Stood) -> None:
        if place not in self._stands:
            insort(self._starts.setdefault(place.partition, []), place.start)
        self._stands[place] = stood
