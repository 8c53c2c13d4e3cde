"""All runs in one file: the latest of each benchmark, its date and its machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import harness
import runs


def line(what: str, ours: float | None, **more: Any) -> dict[str, Any]:
    return {"what": what, "unit": "s", "ours": ours, **more}


def test_a_run_is_kept_with_its_date_its_commit_and_its_machine(tmp_path: Path) -> None:
    bench = harness.Bench("sample", results=tmp_path)
    bench.add(harness.make_line("start", "s", ours=0.2))
    bench.finish()
    kept = runs.read(tmp_path)["sample"]
    assert set(kept) == {"at", "commit", "seconds", "load", "machine", "lines"}
    assert set(kept["machine"]) == {"cores", "processor", "memory_gb", "system", "python"}
    assert [each["ours"] for each in kept["lines"]] == [0.2]


def test_a_quick_run_is_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICK", "1")
    harness.Bench("sample", results=tmp_path).finish()
    assert not runs.read(tmp_path) and "sample" in runs.read(tmp_path / "quick")


def test_one_run_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    runs.keep(tmp_path, "a", runs.made([line("x", 1.0)], 1.0, 0.0))
    before = runs.read(tmp_path)["a"]
    runs.keep(tmp_path, "b", runs.made([line("y", 2.0)], 1.0, 0.0))
    assert runs.read(tmp_path)["a"] == before and "b" in runs.read(tmp_path)


def test_what_a_run_left_out_keeps_its_earlier_figure_and_says_of_when() -> None:
    before = {"at": "then", "lines": [line("x", 1.0), line("y", 2.0)]}
    why = f"{runs.LEFT_OUT} 'real'"
    run = {"at": "now", "lines": [line("x", 3.0), line("y", None, reason=why)]}
    assert runs.merged(before, run)["lines"] == [line("x", 3.0), {"of": "then", **line("y", 2.0)}]


def test_one_thing_in_two_units_is_two_lines() -> None:
    why = f"{runs.LEFT_OUT} 'stream'"
    rate = line("stream", 9.0) | {"unit": "events/s"}
    run = {"at": "now", "lines": [line("stream", None, reason=why)]}
    before = {"at": "then", "lines": [line("stream", 1.0), rate]}
    kept = [{"of": "then", **line("stream", 1.0)}, {"of": "then", **rate}]
    assert runs.merged(before, run, is_part=True)["lines"] == kept


def test_a_run_of_parts_leaves_the_lines_of_the_others() -> None:
    before = {"at": "then", "lines": [line("x", 1.0), line("y", 2.0)]}
    run = {"at": "now", "lines": [line("x", 3.0)]}
    both = [line("x", 3.0), {"of": "then", **line("y", 2.0)}]
    assert runs.merged(before, run, is_part=True)["lines"] == both
    assert runs.merged(before, run)["lines"] == [line("x", 3.0)]


def test_of_two_files_the_later_run_of_each_benchmark_is_taken() -> None:
    mine = {"a": {"at": "2026-01-02"}, "b": {"at": "2026-01-01"}}
    others = {"b": {"at": "2026-01-03"}, "a": {"at": "2026-01-01"}, "c": {"at": "2025-01-01"}}
    assert runs.newest(mine, others) == {"a": mine["a"], "b": others["b"], "c": others["c"]}


def test_what_was_never_measured_stays_so() -> None:
    run = {"at": "now", "lines": [line("y", None, reason=f"{runs.LEFT_OUT} 'real'")]}
    assert runs.merged(None, run) == run
    failed = {"at": "now", "lines": [line("x", None, reason="there is no Java")]}
    assert runs.merged({"at": "then", "lines": [line("x", 1.0)]}, failed) == failed
