"""What a member says of its partitions' figures, as text in its blob's metadata, and back.

Rules: pure. A row is short, because all rows of a member share 8 KB with what must be told: numbers
are in base 36, times and rates in tenths, shares in thousandths, and what is not known is empty.
`rounded` gives figures that come back just as they were. A row may have more fields than are known
here: a newer member has written it.
"""

from __future__ import annotations

from tidegate.ledger.packing import Unreadable
from tidegate.model import Figures

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TENTHS, _THOUSANDTHS = 10, 1000
_FIELDS = 9


def rounded(figures: Figures) -> Figures:
    """The figures as they can be told."""
    return unpack_figures(pack_figures(figures))


def pack_figures(figures: Figures) -> str:
    """`end:handled:behind:arriving:handling:busy:begins:aside:utilization`, without empty ones at
    the end."""
    fields = (
        _whole(figures.end),
        _whole(figures.handled),
        _scaled(figures.behind_s, _TENTHS),
        _scaled(figures.arriving or None, _TENTHS),
        _scaled(figures.handling or None, _TENTHS),
        _scaled(figures.busy or None, _THOUSANDTHS),
        _whole(figures.begins_at),
        _whole(figures.put_aside),
        _scaled(figures.utilization or None, _THOUSANDTHS),
    )
    return ":".join(fields).rstrip(":")


def unpack_figures(text: str) -> Figures:
    fields = [_read(field) for field in text.split(":")[:_FIELDS]]
    fields += [None] * (_FIELDS - len(fields))
    end, handled, behind, arriving, handling, busy, begins_at, put_aside, utilization = fields
    return Figures(
        end,
        handled,
        None if behind is None else behind / _TENTHS,
        (arriving or 0) / _TENTHS,
        (handling or 0) / _TENTHS,
        (busy or 0) / _THOUSANDTHS,
        begins_at,
        put_aside,
        utilization / _THOUSANDTHS if utilization else None,
    )


def _whole(number: int | None) -> str:
    if number is None:
        return ""
    sign, left, digits = "-" if number < 0 else "", abs(number), ""
    while left or not digits:
        left, digit = divmod(left, 36)
        digits = _DIGITS[digit] + digits
    return sign + digits


def _scaled(number: float | None, per_unit: int) -> str:
    return "" if number is None else _whole(round(number * per_unit))


def _read(field: str) -> int | None:
    if not field:
        return None
    digits = field.removeprefix("-")
    if not digits or len(digits) > 16 or not digits.isascii() or not digits.isalnum():
        raise Unreadable("its figures are damaged")
    return int(field.lower(), 36)
