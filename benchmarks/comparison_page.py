"""The tables of docs/comparison.md. Pure: from all runs to text.

Rules: each figure is of the latest run of its benchmark, whose date, commit and machine stand
below. Where a target is missed or the peer is better it stands under 'where we lose', with the
reason; a line that is not measured yet says so and is not counted as met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import runs
from figures_to_beat import FIGURES, Figure, Found, found, loses, why
from page_words import figure, table, told_of


def to_beat(all_runs: runs.Runs) -> str:
    head = ("what", "before", "the peer, same run", "ours", "target", "")
    rows = [_row(each, found(each, all_runs)) for each in FIGURES]
    met = sum(row[-1].startswith("met") for row in rows)
    wanted = sum(each.target is not None for each in FIGURES)
    return f"\n{table(head, rows)}\n{met} of the {wanted} rows with a target meet it.\n\n"


def _row(each: Figure, seen: Found | None) -> tuple[str, ...]:
    before, target = each.today or "-", figure(each.target)
    if seen is None or seen.ours is None:
        why_not = seen.reason if seen else f"no run of `make bench-{each.bench}` yet"
        return (each.what, before, "-", "-", target, f"not measured: {why_not}")
    verdict = {True: "met", False: "**missed**", None: each.note}[seen.is_met]
    if seen.peer is not None and seen.peer < seen.ours:
        verdict = f"{verdict}, the peer is better".lstrip(", ")
    peer = each.no_peer or figure(seen.peer, seen.unit)
    limit = figure(each.target, seen.unit if each.target is not None else "")
    return (each.what, before, peer, figure(seen.ours, seen.unit), limit, verdict)


@dataclass(frozen=True, slots=True)
class Loss:
    """Lines of one benchmark that have one reason."""

    bench: str
    lines: tuple[dict[str, Any], ...]
    reason: str | None


def losses(all_runs: runs.Runs) -> Iterator[Loss]:
    """Every line where the peer is better or the target is missed."""
    for name, run in all_runs.items():
        by_reason: dict[str | None, list[dict[str, Any]]] = {}
        for line in run["lines"]:
            if loses(line) and not _is_on_paper(name, line):
                by_reason.setdefault(why(name, line["what"]), []).append(line)
        for reason, lines in by_reason.items():
            yield Loss(name, tuple(lines), reason)


def _is_on_paper(name: str, line: dict[str, Any]) -> bool:
    """Whether what stands beside ours is no peer."""
    return name == "load" and ": requests, " in line["what"]


def lost(all_runs: runs.Runs) -> str:
    text = ""
    for loss in losses(all_runs):
        text += f"\n**{loss.bench}**: {loss.reason or 'not explained yet'}\n\n"
        head = ("line", "ours", "the peer", "target")
        text += table(head, (_lost(line) for line in loss.lines))
    return text + "\n"


def _lost(line: dict[str, Any]) -> tuple[str, ...]:
    unit = line["unit"]
    figures = (figure(line[of], unit if line[of] is not None else "") for of in ("ours", "peer"))
    return (line["what"], *figures, figure(line["target"], unit if line["target"] else ""))


def benchmarks(all_runs: runs.Runs) -> str:
    head = ("benchmark", "lines", "with a peer", "targets met", "latest run")
    return f"\n{table(head, (_bench(name, run) for name, run in all_runs.items()))}\n"


def _bench(name: str, run: runs.Run) -> tuple[str, ...]:
    lines = run["lines"]
    wanted = [line for line in lines if line["target"] is not None]
    met = sum(line["met"] is True for line in wanted)
    beside = sum(line["peer"] is not None and not _is_on_paper(name, line) for line in lines)
    return (name, str(len(lines)), str(beside), f"{met} of {len(wanted)}", told_of(run))


MAKERS = {"to-beat": to_beat, "lost": lost, "benchmarks": benchmarks}
