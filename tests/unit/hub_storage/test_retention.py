"""Which sequence retention keeps from: the decision alone, on positions made up for it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tidegate_hub.storage import Retention
from tidegate_hub.storage.retention import first_to_keep


@dataclass
class TenEvents:
    """Event n has time 1000 * n and offset 8 * n; the first two are trimmed."""

    first_sequence: int = 2
    next_offset: int = 80
    size_bytes: int = 64

    def sequence_at_time(self, ms: int, inclusive: bool) -> int:
        assert inclusive
        return next((n for n in range(2, 10) if 1000 * n >= ms), 10)

    def sequence_after_offset(self, offset: int, inclusive: bool) -> int:
        assert inclusive
        return next((n for n in range(2, 10) if 8 * n >= offset), 10)


@pytest.mark.parametrize(
    ("retention", "kept_from"),
    [
        (Retention(), 2),
        (Retention(max_age_ms=4000), 5),
        (Retention(max_age_ms=60_000), 2),
        (Retention(max_age_ms=0), 9),
        (Retention(max_bytes=64), 2),
        (Retention(max_bytes=63), 3),
        (Retention(max_bytes=0), 10),
        (Retention(max_age_ms=4000, max_bytes=16), 8),
        (Retention(max_age_ms=1000, max_bytes=40), 8),
    ],
)
def test_an_event_is_kept_that_is_young_enough_and_fits(
    retention: Retention, kept_from: int
) -> None:
    assert first_to_keep(TenEvents(), retention, now_ms=9000) == kept_from
