"""Times at which a group is to have at least so many consumers: cron, in a time zone of its own.

Rules: pure; `now` is passed in. A floor holds from a minute in which `start` matches up to the next
in which `end` does. Fields are those of cron: minute, hour, day of the month, month, day of the
week (0 or 7 is Sunday), with `*`, lists, ranges and steps. As in cron, a day matches by either of
its two fields where both are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tidegate.settings import SettingsError

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
# A 29th of February on a weekday comes back after so long.
_LOOK_BACK_DAYS = 366
_LONGEST = 128


@dataclass(frozen=True, slots=True)
class Floor:
    """At least so many from one time on until another."""

    start: str
    end: str
    replicas: int
    timezone: str = "UTC"

    def checked(self) -> Floor:
        """This floor, or SettingsError."""
        if _times(self.start) == _times(self.end):
            raise SettingsError("start and end are the same: write when it ends")
        _zone(self.timezone)
        return self

    def holds(self, now: float) -> bool:
        """Whether it holds at a time."""
        minute = int(now // 60)
        began, ended = (_last(text, self.timezone, minute) for text in (self.start, self.end))
        return began is not None and (ended is None or began > ended)


def floor_of(floors: Iterable[Floor], now: float) -> int:
    """The highest that holds; 0 where none does."""
    return max((floor.replicas for floor in floors if floor.holds(now)), default=0)


@dataclass(frozen=True, slots=True)
class _Times:
    """When a cron text matches."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    is_any_day: bool
    is_any_weekday: bool

    def matches(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.is_any_day or self.is_any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday

    def backwards(self) -> Iterator[time]:
        """The times of a day that matches, the last first."""
        for hour in sorted(self.hours, reverse=True):
            for minute in sorted(self.minutes, reverse=True):
                yield time(hour, minute)


@lru_cache(maxsize=1024)
def _last(text: str, timezone: str, minute: int) -> float | None:
    """When the text matched last, up to and with a minute since 1970."""
    times, zone = _times(text), _zone(timezone)
    at = datetime.fromtimestamp(minute * 60, zone)
    for back in range(_LOOK_BACK_DAYS + 1):
        day = at.date() - timedelta(days=back)
        if times.matches(day):
            for each in times.backwards():
                found = datetime.combine(day, each, zone).timestamp()
                if found <= minute * 60:
                    return found
    return None


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SettingsError(
            f"timezone '{name:.64}' is not known: write one such as Europe/Berlin or UTC"
        ) from None


@lru_cache(maxsize=256)
def _times(text: str) -> _Times:
    fields = text.split()
    if len(fields) != len(_FIELDS) or len(text) > _LONGEST:
        raise SettingsError(
            f"'{text:.64}' is no time: write minute, hour, day, month and weekday, such as "
            "'0 8 * * 1-5'"
        )
    sets = [frozenset(_values(field, *known)) for field, known in zip(fields, _FIELDS, strict=True)]
    return _Times(
        sets[0],
        sets[1],
        sets[2],
        sets[3],
        frozenset(number % 7 for number in sets[4]),
        is_any_day=fields[2].startswith("*"),
        is_any_weekday=fields[4].startswith("*"),
    )


def _values(field: str, name: str, least: int, most: int) -> Iterator[int]:
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            first, last = str(least), str(most)
        elif not last:
            last = str(most) if step else first
        numbers = (first, last, step or "1")
        if not all(number.isascii() and number.isdecimal() for number in numbers):
            raise _wrong(field, name, least, most)
        low, high, by = (int(number) for number in numbers)
        if not least <= low <= high <= most or by < 1:
            raise _wrong(field, name, least, most)
        yield from range(low, high + 1, by)


def _wrong(field: str, name: str, least: int, most: int) -> SettingsError:
    return SettingsError(
        f"'{field:.64}' is no {name}: write *, a number from {least} to {most}, a range, or a list "
        "of them"
    )
