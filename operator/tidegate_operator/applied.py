"""An object as it was left: what it said then, and whether somebody changes it back. Pure.

Rules: what is put right again and again is somebody else's wish. That is said, and then the object
is left alone for as long; once contested it is so until it has stood for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate_operator.drift import Order, fingerprint, other_writers, said_of
from tidegate_operator.kinds import Document

# Put right so often within so long, somebody is at it; then it is left alone for as long.
_REPAIRS, _CONTEST_S = 3, 60.0


@dataclass(frozen=True, slots=True)
class Applied:
    """See the module."""

    # Of its manifest, and of what the object then said where the manifest says something.
    print: str
    said: str
    version: str
    # When it is looked at again where no watch tells of it.
    look_at: float
    repairs: tuple[float, ...] = ()
    # Who changes it back, in words; '' where nobody does.
    contested: str = ""


@dataclass(frozen=True, slots=True)
class Looking:
    """By whose clock, and how often what no watch tells of is looked at."""

    manager: str
    now: Callable[[], float]
    dice: Callable[[], float]
    recheck_s: float

    def as_seen(self, order: Order, live: Document, before: Applied | None) -> Applied:
        """It was looked at and stands."""
        now = self.now()
        return self._left(order, live, _lately(before, now), "", self._later(now))

    def as_written(
        self, order: Order, found: Document, before: Applied | None, was: Document | None
    ) -> Applied:
        """It was written: anew, or put right where it was known `before`, and `was` so then."""
        now = self.now()
        if before is None:
            return self._left(order, found, (), "", self._later(now))
        repairs = (*_lately(before, now), now)
        if len(repairs) < _REPAIRS and not before.contested:
            return self._left(order, found, repairs, "", self._later(now))
        who = other_writers(was or found, self.manager)
        contested = (
            f"{order.name} is changed back again and again by {who}, as often as it is put "
            "right. Let one of the two write it."
        )
        return self._left(order, found, repairs, contested, now + _CONTEST_S)

    def _later(self, now: float) -> float:
        return now + self.recheck_s * (0.75 + 0.5 * self.dice())

    def _left(
        self, order: Order, found: Document, repairs: tuple[float, ...], who: str, look_at: float
    ) -> Applied:
        said = fingerprint(said_of(found, order.compared))
        version = found["metadata"]["resourceVersion"]
        return Applied(order.print, said, version, look_at, repairs, who)


def _lately(before: Applied | None, now: float) -> tuple[float, ...]:
    repairs = before.repairs if before is not None else ()
    return tuple(at for at in repairs if now - at < _CONTEST_S)
