"""Every kind of report is told on the page, and nothing else is."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from support.tree import ROOT
from tidegate.ops import logs, reports

CODE = ROOT / "consumer" / "tidegate"
# How a report is made, wherever that is: its kind is among the first two arguments.
MAKERS = {"Report", "report", "say", "_say"}


def trees() -> Iterator[ast.AST]:
    for path in Path(CODE).rglob("*.py"):
        yield ast.parse(path.read_text(encoding="utf-8"))


def constants(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        each.value
        for node in nodes
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def made() -> set[str]:
    """What is written as a kind where a report is made."""
    found: set[str] = set()
    for tree in trees():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call):
                name = getattr(call.func, "attr", getattr(call.func, "id", ""))
                if name in MAKERS:
                    first = [each for each in call.args[:2] if isinstance(each, ast.Constant)]
                    found |= constants(first[:1])
    return {each for each in found if each.islower() and " " not in each}


def test_what_the_code_reports_is_on_the_list() -> None:
    assert made() >= {"taken", "fenced", "dead-letter-failed", "source-unreadable"}
    assert made() <= set(reports.REPORTS)
    assert set(reports.REPORTS) >= logs._CALM | logs._GRAVE


def test_what_is_on_the_list_is_written_somewhere_in_the_code() -> None:
    of_two_parts = {"range-split", "range-merged"}
    files = Counter(word for tree in trees() for word in constants([tree]))
    own = constants([ast.parse((CODE / "ops" / "reports.py").read_text(encoding="utf-8"))])
    stale = {kind for kind in reports.REPORTS if files[kind] == (kind in own)}
    assert stale == of_two_parts


def test_the_page_shows_exactly_the_list() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert reports.as_markdown() in page, (
        "docs/metrics.md and consumer/tidegate/ops/reports.py differ. Replace the table there "
        "with:\n" + reports.as_markdown()
    )
