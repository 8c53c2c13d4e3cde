"""Pages that show figures say what the runs say; where we lose there is a reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

import every
import made_pages
import runs
from comparison_page import losses, to_beat
from figures_to_beat import FIGURES, Figure, found, loses
from page_words import figure, told_of
from support.tree import ROOT, files_of

ALL_RUNS = runs.read(made_pages.RESULTS)


@pytest.mark.parametrize("page", made_pages.MAKERS)
def test_a_page_is_what_the_runs_make_of_it(page: str) -> None:
    text = (made_pages.DOCS / page).read_text(encoding="utf-8")
    assert made_pages.made(text, made_pages.MAKERS[page], ALL_RUNS) == text, (
        "run `python benchmarks/made_pages.py`"
    )


def test_wherever_we_lose_or_miss_there_is_a_reason() -> None:
    without = [
        f"{loss.bench}: {line['what']}"
        for loss in losses(ALL_RUNS)
        for line in loss.lines
        if loss.reason is None
    ]
    assert not without, f"{without}: say why in benchmarks/figures_to_beat.py (GAPS)"


def test_every_figure_to_beat_names_a_line_of_its_benchmark_once_that_has_run() -> None:
    wrong = [
        f"{each.bench}: {each.line}"
        for each in FIGURES
        if each.bench in ALL_RUNS and found(each, ALL_RUNS) is None
    ]
    assert not wrong


@pytest.mark.parametrize("page", made_pages.MAKERS)
def test_without_any_run_a_page_says_what_to_run(page: str) -> None:
    text = (made_pages.DOCS / page).read_text(encoding="utf-8")
    assert "`make bench" in made_pages.made(text, made_pages.MAKERS[page], {})


def test_what_is_by_hand_stays_and_a_part_that_is_gone_is_told() -> None:
    page = "By hand.\n<!-- made: a -->\nold\n<!-- end -->\nMore.\n"
    made = made_pages.made(page, {"a": lambda _: "new\n"}, {})
    assert made == "By hand.\n<!-- made: a -->\nnew\n<!-- end -->\nMore.\n"
    with pytest.raises(ValueError, match="no part 'b'"):
        made_pages.made(page, {"a": lambda _: "", "b": lambda _: ""}, {})


def a_run(*lines: dict[str, Any]) -> runs.Runs:
    machine = {"cores": 2, "processor": "P", "memory_gb": 4, "system": "Linux 6", "python": "3.11"}
    run = {"at": "2026-01-02T03:04:05Z", "commit": "abc", "seconds": 1, "load": 0.5}
    return {"consume": {**run, "machine": machine, "lines": list(lines)}}


def line(what: str, ours: float | None, peer: float | None, **more: Any) -> dict[str, Any]:
    ratio = peer / ours if peer is not None and ours else None
    return {"what": what, "unit": "s", "ours": ours, "peer": peer, "ratio": ratio, "target": None,
            "met": None, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "is_lost"),
    [
        (line("x", 2.0, 1.0), True),
        (line("x", 1.0, 2.0), False),
        (line("x", 1.0, 1.0), False),
        (line("x", 1.0, 0.0, ratio=None), True),
        (line("x", 0.0, 0.0, ratio=None), False),
        (line("x", 1.0, None, target=0.5, met=False), True),
        (line("x", None, 1.0), False),
    ],
)
def test_we_lose_where_the_peer_is_better_or_the_target_is_missed(
    of: dict[str, Any], is_lost: bool
) -> None:
    assert loses(of) is is_lost


def test_a_figure_without_a_run_is_not_counted_as_met() -> None:
    text = to_beat({})
    assert "0 of" in text and text.count("no run of `make bench-") == len(FIGURES)


def test_a_missed_target_and_a_better_peer_are_said() -> None:
    (each,) = (each for each in FIGURES if each.line.startswith("latency p50"))
    text = to_beat(a_run(line(each.line, 90.0, 60.0)))
    row = next(row for row in text.splitlines() if each.what in row)
    assert "**missed**, the peer is better" in row


def test_what_is_worked_out_from_two_lines_has_no_peer() -> None:
    each = Figure("x", "", "consume", "a", 1, of=lambda ours: ours("a") - ours("b"))
    seen = found(each, a_run(line("a", 3.0, 9.0), line("b", 2.5, 9.0)))
    assert seen is not None and (seen.ours, seen.peer, seen.is_met) == (0.5, None, True)


def test_a_run_says_when_and_on_what_it_was() -> None:
    assert told_of(a_run()["consume"]) == (
        "2026-01-02 03:04 UTC, abc; 2 cores of P, 4 GB, Linux 6, Python 3.11; "
        "0.5 processes wanted the machine when it began"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.03456, "0.0346"),
        (15.575, "15.6"),
        (497.1, "497"),
        (1234.5, "1,234"),
        (None, "-"),
    ],
)
def test_figures_have_the_digits_that_say_something(value: float | None, text: str) -> None:
    assert figure(value) == text


# --- make bench


def test_every_benchmark_is_in_the_list_of_all() -> None:
    """Programs that open a Bench are targets; each is run by `make bench`."""
    names = {each.name.partition("@")[0] for each in every.ALL}
    programs = {
        "operator" if path.stem == "operated" else path.stem.replace("_", "-")
        for path in files_of(".py", below=("benchmarks",))
        if path.stem != "harness"
        and re.search(r"^    bench = Bench\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert programs == names, "every.py lists them, with their minutes and their peers"


def test_benchmarks_can_be_chosen_by_name_or_by_kind() -> None:
    assert [each.name for each in every.chosen("consume, balance")] == ["balance", "consume"]
    kinds = [{each.name for each in every.chosen(kind)} for kind in ("quiet", "any")]
    assert kinds[0] | kinds[1] == {each.name for each in every.ALL} and not kinds[0] & kinds[1]
    assert len(every.chosen("")) == len(every.ALL)
    with pytest.raises(SystemExit, match="no benchmark 'balnace'; there are quiet, any, balance"):
        every.chosen("balnace")


def test_every_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for each in every.ALL:
        program = each.target.removeprefix("bench-").replace("-", "_")
        is_file = (ROOT / "benchmarks" / f"{program}.py").exists()
        assert is_file or re.search(rf"^{each.target}:", makefile, re.MULTILINE), each.target
