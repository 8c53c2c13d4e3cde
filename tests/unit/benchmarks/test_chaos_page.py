"""The page of faults is what the runs have written, and names tests that are there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import chaos_page
from chaos_faults import FAULTS
from chaos_page import measured_of, page, read
from slopes import Slope
from soak_report import Judged, told_of
from support.chaos_notes import ChaosNotes
from support.tree import ROOT

FIGURES: dict[str, Any] = {
    "on": "2026-01-31", "resumed_s": 0.0, "longest_pause_s": 0.41, "moves": 0, "duplicates": 0,
    "duplicates_allowed": 0,
}  # fmt: skip


def test_the_page_is_what_the_runs_have_written() -> None:
    written = (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8")
    made = page(read("chaos") or {}, read("soak"))
    assert written == made, "run: python benchmarks/chaos_page.py"


def test_every_fault_has_figures_of_its_own_or_says_why_not() -> None:
    assert all(bool(fault.key) != bool(fault.why_not) for fault in FAULTS)
    keys = [fault.key for fault in FAULTS if fault.key]
    assert len(keys) == len(set(keys))


def test_every_fault_is_injected_by_a_test_under_its_key() -> None:
    paths = sorted((ROOT / "tests" / "cluster").glob("test_chaos_*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    text = text.replace('f"sigstop-{leases}"', '"sigstop-1" "sigstop-3" "sigstop-5"')
    named = {key for fault in FAULTS if (key := fault.key) and f'"{key}"' in text}
    assert named == {fault.key for fault in FAULTS if fault.key}
    injected = set(re.findall(r'struck\(\s*"([\w-]+)"', text))
    assert injected <= named


def test_the_tests_that_prove_it_elsewhere_are_there() -> None:
    for fault in FAULTS:
        assert all((ROOT / path).is_file() for path in fault.elsewhere), fault.what
        assert fault.elsewhere or fault.key


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "resumed in 0.41 s; 0 moves; 0 again"),
        ({"resumed_s": 3.2, "moves": 1}, "resumed in 3.2 s; 1 move; 0 again"),
        (
            {"duplicates": 2, "duplicates_allowed": 9},
            "resumed in 0.41 s; 0 moves; 2 again, of 9 at most",
        ),
        ({"gone": 20}, "20 gone, told; resumed in 0.41 s; 0 moves; 0 again"),
        ({"told": "HubDenied"}, "`HubDenied`; resumed in 0.41 s; 0 moves; 0 again"),
    ],
)  # fmt: skip
def test_figures_are_said_in_words(changes: dict[str, Any], said: str) -> None:
    assert measured_of({**FIGURES, **changes}) == said


def test_what_was_not_measured_says_so() -> None:
    assert page({}, None).count("not measured yet") == sum(bool(each.key) for each in FAULTS)
    assert "No run has written results yet." in page({}, None)


def test_a_soak_is_shown_with_its_verdicts() -> None:
    slope = Slope(1.5, 1.0, 2.0, 40, 2, 70.0, 1.0)
    judged = [Judged("operator", "memory_mb", slope, 5.0), Judged("hub", "threads", slope, None)]
    rows = [
        {"role": each.role, "figure": each.figure, "limit": each.limit, "verdict": each.verdict,
         "mean": slope.mean, "per_hour": slope.per_hour, "low": slope.low, "high": slope.high,
         "samples": slope.samples, "lives": slope.lives}
        for each in judged
    ]  # fmt: skip
    its = {"handled": 9, "lost": 0, "again": 1, "out_of_order": 0, "wrong_totals": 0}
    found = {
        "on": "2026-01-31", "minutes": 60.0, "stood_still_minutes": 0.0, "cores": 2, "kills": 3,
        "rollouts": 1, "totals": {"sent": 9, "work": its}, "slopes": rows,
        "left": {"members_in_ledgers": 3, "exit_code": 0, "processes": 0},
    }  # fmt: skip
    said = page({}, found)
    assert "| operator | memory, MB | 70.0 | +1.50 | +1.00 to +2.00 | 5 | 40 of 2 | flat |" in said
    assert "| hub | threads | 70.0 | +1.50 | +1.00 to +2.00 | - | 40 of 2 | not judged |" in said
    assert "9 handled, 0 lost, 1 again" in told_of(found)


def test_what_failed_has_no_figures_and_others_keep_theirs(tmp_path: Any) -> None:
    notes = ChaosNotes(tmp_path / "results" / "chaos.json")
    notes.keep("oom", moves=0)
    notes.keep("drain", moves=3)
    notes.add("drain", told="x")
    notes.forget("oom")
    notes.forget("never-there")
    assert set(notes.read()) == {"drain"}
    assert notes.read()["drain"]["told"] == "x"


def test_a_fault_without_a_key_is_not_looked_up() -> None:
    fault = replace(FAULTS[0], key="", why_not="no reason")
    assert "not here: no reason" in chaos_page._row(fault, None)
