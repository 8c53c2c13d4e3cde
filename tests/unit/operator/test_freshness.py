"""A status that an operator has left behind, and a group that is being deleted: who says so."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate_operator.freshness import STALE_S, stale_s, stale_text
from tidegate_operator.page.shown import REST, detail_of, row_of
from tidegate_operator.plugin.reports import as_document, report_of
from tidegate_operator.plugin.tables import page
from tidegate_operator.wording import time_text
from unit.operator.observed import NOW
from unit.operator.plugin_groups import group


def seen_at(at: float) -> dict[str, Any]:
    document = group()
    document["status"]["observedTime"] = time_text(at)
    return document


def test_a_status_is_stale_some_time_after_it_should_have_been_written_again() -> None:
    document = seen_at(NOW)
    assert stale_s(document, NOW + STALE_S) is None
    assert stale_s(document, NOW + STALE_S + 1.0) == STALE_S + 1.0
    assert stale_text(document, NOW + 600.0).startswith("this is as it was 10m ago")
    assert stale_text(document, NOW - 600.0) == "", "the clock of who asks is behind"


@pytest.mark.parametrize("time", [None, "", "yesterday", 5, {"a": "b"}])
def test_of_a_status_without_a_time_nobody_knows_how_old_it_is(time: Any) -> None:
    document = group()
    document["status"]["observedTime"] = time
    assert stale_s(document, NOW) is None


def test_the_commands_say_it_above_all_else() -> None:
    report = report_of(seen_at(NOW), now=NOW + 600.0)
    lines = [line.text for line in page(report)]
    assert lines[1].startswith("This is as it was 10m ago: no operator has looked at the group")
    assert as_document(report)["observedTime"] == time_text(NOW)
    assert as_document(report)["stale"].startswith("this is as it was 10m ago")
    assert as_document(report_of(seen_at(NOW), now=NOW))["stale"] is None


def test_the_console_is_told_the_time_and_from_which_age_it_is_stale() -> None:
    for shown in (row_of(seen_at(NOW)), detail_of(seen_at(NOW))):
        assert (shown["observed"], shown["staleAfterSeconds"]) == (time_text(NOW), STALE_S)
    assert row_of(group())["observed"] is None


def test_a_group_that_is_being_deleted_says_so_whatever_its_status_says() -> None:
    document = seen_at(NOW)
    document["metadata"]["deletionTimestamp"] = time_text(NOW)
    report = report_of(document, now=NOW + 600.0)
    assert report.state == "Deleting" and "· Deleting ·" in page(report)[0].text
    row = row_of(document)
    assert (row["state"], row["tone"]) == ("Deleting", REST)
    document["status"] = {}
    assert report_of(document).state == "Deleting"
