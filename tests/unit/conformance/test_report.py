"""A report says what held, what did not, what was not tried and why, and how to play it again."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from support.conformance_runs import on_cosmos, whole
from tidegate_operator.conformance import report, report_html, timelines
from tidegate_operator.conformance.judge import verdicts
from tidegate_operator.conformance.record import Disturbed, as_document, of_document


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        if tag not in ("meta", "rect", "line", "polyline", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line", "polyline", "path"):
            assert self.open.pop() == tag


def test_the_text_has_the_seed_every_property_and_what_was_not_tried() -> None:
    record = whole()
    text = report.as_text(record, verdicts(record))
    assert "seed 7" in text and "--seed 7" in text
    assert "ok   P6   from a kill to reading on" in text
    assert "not tried: the source is an event hub" in text
    assert "passed: 14 of 14 properties that were tried held; 1 not tried" in text


def test_a_broken_property_is_in_every_form_with_its_case() -> None:
    record = whole()
    record.handled = [row for row in record.handled if row.first != 30]
    found = verdicts(record)
    text, page = report.as_text(record, found), report_html.page(record, found)
    said = report.as_json(record, found)
    for form in (text, page, json.dumps(said)):
        assert "0: 30 to 30 were passed over and never handled" in form
    assert not said["passed"] and "FAILED" in text and 'class="end failed"' in page


def test_the_page_is_whole_needs_nothing_from_outside_and_trusts_no_name() -> None:
    record = whole()
    record.disturbed.append(
        Disturbed("force", 90.0, 91.0, 92.0, "<script>x</script>", (), ("a",), ("a",))
    )
    page = report_html.page(record, verdicts(record))
    tags = _Tags()
    tags.feed(page)
    assert not tags.open
    assert tags.found.count("svg") == 3
    assert not {"script", "link", "img", "iframe"} & set(tags.found)
    assert "http" not in page.replace("https://www.w3.org", "")


def test_a_range_is_drawn_while_it_is_there_and_named_without_the_zeros_at_its_ends() -> None:
    record = on_cosmos(whole())
    record.told = [
        row._replace(owners={"0": "a"}) if row.at > 30 else row for row in record.told
    ]  # fmt: skip
    found = timelines.partitions(record)
    bars = re.findall(r'x="([\d.]+)" y="\d+" width="([\d.]+)".*?<title>partition 1: b', found)
    (x, width) = bars[0]
    assert len(bars) == 1 and float(x) + float(width) < timelines.Scale(record).x(31.0)
    assert "partition 1: c" not in found and "partition 1 was not read" not in found
    assert timelines.short(f"08{'0' * 30}-10{'0' * 30}") == "08-10"
    assert timelines.short(f"-10{'0' * 30}") == "-10" and timelines.short("12") == "12"


def test_a_record_that_was_written_is_read_as_it_was_and_judged_alike() -> None:
    record = whole()
    again = of_document(json.loads(json.dumps(as_document(record))))
    assert again == record
    assert verdicts(again) == verdicts(record)
