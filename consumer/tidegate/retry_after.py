"""How long a server asks to be left alone: the header Retry-After. Pure.

Rules: it is seconds, or a date as HTTP writes it. A date is of the server's clock, so what is left
until then is counted from the answer's own `Date`; where there is none, from our clock. What cannot
be read asks for nothing. No pause is longer than LONGEST_S: an answer can be garbled, and one that
asks for a year must not stop a member for a year.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isnan

# Of seconds.
LONGEST_S = 300.0


def bounded_s(seconds: float) -> float | None:
    """A pause that was asked for, none below 0 and none above LONGEST_S; None for no number."""
    return None if isnan(seconds) else min(max(seconds, 0.0), LONGEST_S)


def asked_s(headers: Mapping[str, str], now: float) -> float | None:
    """The pause in seconds, none below 0; None where nothing is asked for.

    Names of headers are found as the mapping finds them: those of HTTP clients know no cases.
    """
    asked = (headers.get("Retry-After") or "").strip()
    if asked.isascii() and asked.isdecimal():
        return bounded_s(float(asked))
    until, since = _seconds(asked), _seconds(headers.get("Date") or "")
    if until is None:
        return None
    return bounded_s(until - (since if since is not None else now))


def _seconds(date: str) -> float | None:
    """Since 1970; None where it is no date."""
    try:
        at = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    # Dates of HTTP are in GMT, also where they do not say it.
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
