"""What the rows of an output are: whose they are, of which kind, and what is counted. Pure.

    Shape(key="home", kinds=("kind",), sums=("count", "alarms"), most=("alarm_at",), flag="alarms")

Rules:
- A slice's bytes follow from its events alone, however they were cut into batches. So a sum is of
  whole numbers: a sum of fractions depends on the order in which it was added up.
- `flag` is a sum: rows where it is above 0 are found without reading the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

# Whole numbers between these bounds are kept.
MOST = (1 << 62) - 1
LEAST = -MOST
# The most bytes of a key, and the most different values of a kind in one slice.
KEY_BYTES = 255
KIND_VALUES = 65_536
# The most rows of one key in one slice.
KEY_ROWS = 65_535


class SliceError(Exception):
    """What should be in a slice cannot be, or is not; the message says what, where and why."""

    # Whether what the events say may be the cause.
    blames_events = True


class SliceStorageError(SliceError):
    """A slice cannot be written or read now, or is gone: no fault of the events."""

    blames_events = False


class SliceGone(SliceStorageError):
    """It is not there any more, or was not yet: mostly a newer version stands in its place."""


class How(StrEnum):
    """How two values of a column become one."""

    SUM = "sum"
    LEAST = "least"
    MOST = "most"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Column:
    """A value of each row."""

    name: str
    how: How
    is_fraction: bool


@dataclass(frozen=True, slots=True)
class Shape:
    """See the module. `fractions` are the columns whose values are no whole numbers."""

    key: str
    kinds: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    fractions: tuple[str, ...] = ()
    flag: str = ""
    size_s: int = 60

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of values, in the order in which they are stored."""
        by_how = (
            (How.SUM, self.sums),
            (How.LEAST, self.least),
            (How.MOST, self.most),
            (How.LAST, self.last),
        )
        return tuple(
            Column(name, how, name in self.fractions) for how, names in by_how for name in names
        )

    @property
    def names(self) -> tuple[str, ...]:
        return (self.key, *self.kinds, *(column.name for column in self.columns))

    @property
    def flag_at(self) -> int | None:
        """Which of the columns the flag is."""
        return self.sums.index(self.flag) if self.flag else None

    def checked(self) -> Shape:
        """This shape, or SliceError."""
        names = self.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SliceError(f"column '{twice[0]}' is named twice")
        if not all(names) or not self.columns:
            raise SliceError("name a key and at least one of sums, least, most or last")
        unknown = [name for name in self.fractions if name not in names]
        if unknown:
            raise SliceError(f"fractions: there is no column '{unknown[0]}'")
        added = [name for name in self.fractions if name in self.sums]
        if added:
            raise SliceError(
                f"column '{added[0]}' is a sum of fractions, which depends on the order in which "
                "they are added up: sum whole numbers, such as thousandths"
            )
        if self.flag and self.flag not in self.sums:
            raise SliceError(f"flag '{self.flag}' is none of the sums")
        if not 1 <= self.size_s <= 86_400:
            raise SliceError(f"size_s {self.size_s}: write 1 to 86400 whole seconds")
        # In one order, so that equal shapes are equal.
        sorted_ = tuple(column.name for column in self.columns if column.is_fraction)
        return replace(self, fractions=sorted_)

    def check_continues(self, stored: Shape) -> None:
        """Whether a slice of such rows may go on with ours; or SliceError.

        Columns may come and go: events that were counted before have nothing in a new one.
        """
        same = (self.key, self.kinds, self.size_s)
        other = (stored.key, stored.kinds, stored.size_s)
        if same != other:
            raise SliceError(
                f"slices of {self.size_s} s by {', '.join((self.key, *self.kinds))} cannot go on "
                f"with ones of {stored.size_s} s by {', '.join((stored.key, *stored.kinds))}: give "
                "what is written now an output of its own"
            )
