"""Age of a status, and deletion of a group without an operator. Pure.

Rules:
- A status has the time at which the operator saw the group, and is written again each `BEAT_S` even
  if nothing else has changed. A status older than `STALE_S` is stale, and every view shows its age.
- A status without a time was written by an older operator. Its age is unknown, so it is not stale.
- The metadata of a group shows its deletion, independent of the status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.ledger.survey import age_text
from tidegate_operator.facts import seconds_of

OBSERVED = "observedTime"
# Thousands of groups may sleep, so this is rare. They are looked at once a minute, which makes it
# two minutes for them.
BEAT_S = 90.0
STALE_S = 240.0
DELETING = "Deleting"
# Of a group whose ledger is to go with it.
FINALIZER = "tidegate.dev/ledger"


def is_beat_due(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a status is to be written again for its time alone."""
    was, now = seconds_of(before.get(OBSERVED)), seconds_of(after.get(OBSERVED))
    if now is None:
        return False
    return was is None or not 0.0 <= now - was < BEAT_S


def observed_at(document: Mapping[str, Any]) -> float | None:
    """When the operator saw the group that it tells of."""
    return seconds_of((document.get("status") or {}).get(OBSERVED))


def stale_s(document: Mapping[str, Any], now: float) -> float | None:
    """How old a status is, where it is stale."""
    at = observed_at(document)
    return now - at if at is not None and now - at > STALE_S else None


def is_deleting(document: Mapping[str, Any]) -> bool:
    """Whether somebody has deleted the group, and a finalizer keeps it."""
    return bool(document["metadata"].get("deletionTimestamp"))


def stale_text(document: Mapping[str, Any], now: float) -> str:
    """That a status is stale, in words; '' where it is not."""
    age_s = stale_s(document, now)
    if age_s is None:
        return ""
    return (
        f"this is as it was {age_text(age_s)} ago: no operator has looked at the group since. Is "
        "one running, and does it watch this namespace?"
    )
