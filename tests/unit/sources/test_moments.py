"""Times that people write: what is none, or is of no year of UTC's, is refused."""

from __future__ import annotations

import pytest

from tidegate.commands.rewind import start_of
from tidegate.settings import SettingsError
from tidegate.sources.start import moment_of

OF_NO_YEAR = ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"]


def test_a_time_with_a_zone_is_given_in_utc_and_one_without_as_it_is() -> None:
    assert moment_of("2026-01-31T01:00:00+01:00").isoformat() == "2026-01-31T00:00:00+00:00"
    assert moment_of("2026-01-31T01:00:00").isoformat() == "2026-01-31T01:00:00"


@pytest.mark.parametrize("text", [*OF_NO_YEAR, "2026-13-01T00:00:00Z", "soon"])
def test_what_is_no_time_of_utc_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        moment_of(text)


@pytest.mark.parametrize("text", OF_NO_YEAR)
def test_a_rewind_to_no_year_is_refused_in_words(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--to .*: write "):
        start_of(text)
