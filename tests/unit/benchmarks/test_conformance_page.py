"""The page of conformance is what the runs have written, and shows nothing as held that was not."""

from __future__ import annotations

from typing import Any

from conformance_page import KINDS, PAGE, page, read
from support.conformance_runs import whole
from tidegate_operator.conformance.judge import verdicts
from tidegate_operator.conformance.report import as_json


def report(**changes: Any) -> dict[str, Any]:
    record = whole()
    return {**as_json(record, verdicts(record)), **changes}


def test_the_page_is_what_the_runs_have_written() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(read()), "run: python benchmarks/conformance_page.py"


def test_a_kind_that_was_not_run_is_named_and_what_was_not_tried_is_not_held() -> None:
    made = page({"python": report()})
    assert "Not run: cosmos, spark, mixed." in made
    assert "| P13 | a split or merge of a Cosmos range loses nothing | not tried |" in made


def test_a_check_that_an_older_run_had_not_is_shown_as_not_tried() -> None:
    older = report()
    older["properties"] = [each for each in older["properties"] if each["name"] != "NP"]
    made = page({"python": report(), "cosmos": older})
    what = "the cluster's network does what a NetworkPolicy says"
    assert f"| NP | {what} | held | not tried |" in made


def test_a_broken_property_is_shown_with_its_case() -> None:
    record = whole()
    record.handled = [row for row in record.handled if row.first != 30]
    made = page({"mixed": as_json(record, verdicts(record))})
    assert "| P2 | broken |" in made and "**0: 30 to 30 were passed over" in made


def test_every_kind_of_the_target_is_on_the_page() -> None:
    made = page(dict.fromkeys(KINDS, report()))
    assert all(f"## {text[0].upper()}{text[1:]}" in made for text in KINDS.values())
