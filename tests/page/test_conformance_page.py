"""The page of a conformance report in a browser: it breaks no rule, and no name is markup."""

from __future__ import annotations

from pathlib import Path

import pytest

from page.looks import look_at
from support.browser import Browser
from support.conformance_runs import whole
from tidegate_operator.conformance.judge import verdicts
from tidegate_operator.conformance.record import Disturbed, Record
from tidegate_operator.conformance.report_html import page

HOSTILE = "<img src=x onerror=document.title='taken'>"


def broken() -> Record:
    """With a case, a step that was refused, and a hostile name."""
    record = whole()
    record.handled = [row for row in record.handled if row.first != 30]
    record.disturbed.append(Disturbed("force", 90.0, 91.0, None, HOSTILE))
    record.disturbed.append(Disturbed("pause", 93.0, 93.0, 94.0, refused=HOSTILE))
    return record


@pytest.mark.parametrize("record", [whole(), broken()], ids=["passed", "failed"])
def test_a_report_breaks_no_rule_in_either_theme_and_any_size(
    record: Record, browser: Browser, pictures: Path, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    name = request.node.callspec.id
    file = tmp_path / f"{name}.html"
    file.write_text(page(record, verdicts(record)), encoding="utf-8")
    browser.open(file.as_uri())
    assert browser.text(".end") == name
    look_at(browser, pictures, f"conformance-{name}")
    assert browser.run("return document.querySelectorAll('svg').length") == 3
    assert browser.run("return document.title").startswith("Conformance, seed 7")
    assert not browser.complaints()
