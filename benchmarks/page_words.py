"""How figures are written on pages: cells, tables, dates. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import runs


def figure(value: float | None, unit: str = "") -> str:
    """Three digits that say something, and the unit."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 1_000:
        text = f"{value:,.0f}"
    elif abs(value) >= 100:
        text = f"{value:.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) + "\n"


def line_of(all_runs: runs.Runs, name: str, what: str) -> dict[str, Any]:
    """A line of a benchmark's latest run. Raises KeyError where it has none of that name."""
    for line in all_runs.get(name, {"lines": []})["lines"]:
        if line["what"] == what:
            found: dict[str, Any] = line
            return found
    raise KeyError(f"bench-{name} has no line '{what}'")


def or_not_yet(maker: Callable[[runs.Runs], str], bench: str) -> Callable[[runs.Runs], str]:
    """The maker, or a sentence that says what has to be run first."""

    def made(all_runs: runs.Runs) -> str:
        try:
            return maker(all_runs)
        except KeyError:
            return f"\nNot measured yet: `make bench-{bench}`.\n\n"

    return made


def told_of(run: runs.Run) -> str:
    """When, of which commit and on what a run was."""
    day = str(run["at"])[:16].replace("T", " ")
    machine = run["machine"]
    if machine is None:
        return f"committed {day} as {run['commit']}; two cores of a virtual machine, no more noted"
    return (
        f"{day} UTC, {run['commit']}; {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gb']} GB, {machine['system']}, Python {machine['python']}; "
        f"{run['load']:g} processes wanted the machine when it began{_kept(run)}"
    )


def _kept(run: runs.Run) -> str:
    """Lines that this run has left out keep their figures and their day."""
    older = sorted({str(line["of"])[:10] for line in run["lines"] if "of" in line})
    return f"; some lines of {', '.join(older)}" if older else ""
