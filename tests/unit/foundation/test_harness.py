"""The benchmark harness: what a line says, what the results file holds, how things are measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
import runs


def test_less_is_better_compares_the_peer_with_ours() -> None:
    line = harness.make_line("serve", "us", ours=1.0, peer=34.0, target=1.5)
    assert (line.ratio, line.met) == (34.0, True)


def test_more_is_better_compares_ours_with_the_peer() -> None:
    line = harness.make_line("ingest", "events/s", ours=50, peer=25, target=200, better="more")
    assert (line.ratio, line.met) == (2.0, False)


def test_a_figure_at_its_target_meets_it() -> None:
    assert harness.make_line("start", "s", ours=0.3, target=0.3).met is True
    assert harness.make_line("in", "1/s", ours=5, target=5, better="more").met is True


def test_without_target_or_peer_nothing_is_judged() -> None:
    line = harness.make_line("start", "s", ours=0.2)
    assert (line.ratio, line.met) == (None, None)


def test_a_figure_of_nothing_has_no_ratio() -> None:
    assert harness.make_line("start", "s", ours=0, peer=3).ratio is None
    assert harness.make_line("in", "1/s", ours=3, peer=0, better="more").ratio is None


def test_a_line_without_a_figure_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="'disk' has no figure of ours: give the reason"):
        harness.make_line("disk", "MB")


def test_the_results_file_has_exactly_the_agreed_keys(tmp_path: Path) -> None:
    bench = harness.Bench("sample", results=tmp_path)
    bench.add(harness.make_line("serve", "us", ours=2.0, peer=34.0, target=1.5))
    reason = "takes minutes: run without QUICK=1"
    bench.add(harness.make_line("disk", "MB", target=300, reason=reason))
    bench.finish()
    written = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert written["sample"]["lines"] == [
        {
            "what": "serve", "unit": "us", "ours": 2.0, "peer": 34.0, "ratio": 17.0,
            "target": 1.5, "met": False,
        },
        {
            "what": "disk", "unit": "MB", "ours": None, "peer": None, "ratio": None,
            "target": 300, "met": None, "reason": "takes minutes: run without QUICK=1",
        },
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


def test_the_end_of_a_run_shows_a_table_and_what_was_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = harness.Bench("sample", results=tmp_path)
    bench.add(harness.make_line("serve an event", "us", ours=2.0, peer=34.0, target=1.5))
    bench.add(harness.make_line("disk", "MB", reason="takes minutes"))
    bench.finish()
    said = capsys.readouterr().out
    assert (
        "what            unit  ours  peer  ratio  target  met\n"
        "serve an event  us       2    34     17     1.5   NO\n"
        "disk            MB       -     -      -       -    -\n"
        "disk: takes minutes\n"
    ) in said
    assert "Targets missed: serve an event\n" in said


@pytest.mark.parametrize(
    ("environment", "quick"), [({}, False), ({"QUICK": "0"}, False), ({"QUICK": "1"}, True)]
)
def test_quick_is_asked_for_by_the_environment(environment: dict[str, str], quick: bool) -> None:
    assert harness.is_quick(environment) is quick


def test_a_quick_run_leaves_the_results_of_a_whole_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for quick, ours in (("0", 1.0), ("1", 2.0)):
        monkeypatch.setenv("QUICK", quick)
        bench = harness.Bench("sample", results=tmp_path)
        bench.add(harness.make_line("start", "s", ours=ours))
        bench.finish()
    found = [runs.read(folder)["sample"]["lines"] for folder in (tmp_path, tmp_path / "quick")]
    assert [lines[0]["ours"] for lines in found] == [1.0, 2.0]


def test_a_timed_program_is_measured_by_wall_and_by_cpu() -> None:
    burn = "import time\nwhile time.process_time() < 0.2: pass\nprint('burnt')"
    ran = harness.timed([sys.executable, "-c", burn], timeout_s=30)
    assert ran.output == "burnt\n"
    assert ran.cpu_s >= 0.18  # the system counts in ticks of 10 ms
    assert ran.wall_s >= 0.18


def test_a_timed_program_that_fails_is_not_a_figure() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        harness.timed([sys.executable, "-c", "raise SystemExit(3)"], timeout_s=30)


def test_cpu_and_memory_of_a_process_are_read() -> None:
    own = os.getpid()
    before = harness.cpu_seconds(own)
    while harness.cpu_seconds(own) < before + 0.02:
        sum(range(10_000))
    assert 1 < harness.resident_mb(own) <= harness.resident_peak_mb(own) * 1.05


def test_parts_are_all_unless_some_are_named_and_a_misspelt_one_is_told() -> None:
    known = ("virtual", "ticks", "real")
    assert harness.parts_of({}, known) == set(known)
    assert harness.parts_of({"PARTS": "real, virtual"}, known) == {"real", "virtual"}
    with pytest.raises(SystemExit, match="there is no part 'rael'; there are virtual, ticks, real"):
        harness.parts_of({"PARTS": "rael"}, known)
