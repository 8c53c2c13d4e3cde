"""docs/conformance-measured.md, made from what `make test-conformance` has written:
`python benchmarks/conformance_page.py` writes it.

Rules: no figure stands here; all are in results/conformance.json. A kind that was not run is said
to be so, and what was not tried is never shown as held.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import RESULTS

PAGE = RESULTS.parents[1] / "docs" / "conformance-measured.md"
KINDS = {
    "python": "the Python engine", "cosmos": "Cosmos, the Python engine",
    "spark": "the Spark engine", "mixed": "Spark's executors and a Python pod in one group",
}  # fmt: skip
_TOP = """\
# Conformance: what was measured

What the last run of each kind said on a cluster of kind, with everything embedded. This page is
made by `python benchmarks/conformance_page.py` from what `make test-conformance` has written;
[conformance.md](conformance.md) says how each property is seen.
"""


def page(found: Mapping[str, Any]) -> str:
    """The page. Pure."""
    parts = [_TOP, _table(found)]
    parts += [_kind(name, found[name]) for name in KINDS if name in found]
    return "\n".join(parts)


def _table(found: Mapping[str, Any]) -> str:
    there = [name for name in KINDS if name in found]
    lines = [f"| | promised | {' | '.join(there)} |", "| --- | --- |" + " --- |" * len(there)]
    outcomes = {
        name: {each["name"]: each["outcome"] for each in found[name]["properties"]}
        for name in there
    }
    for each in found[there[0]]["properties"] if there else ():
        # A run of before a check was made has not tried it.
        row = " | ".join(outcomes[name].get(each["name"], "not tried") for name in there)
        lines.append(f"| {each['name']} | {each['text']} | {row} |")
    missing = [name for name in KINDS if name not in found]
    if missing:
        lines += ["", f"Not run: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _kind(name: str, report: Mapping[str, Any]) -> str:
    done = [each["kind"] for each in report["disturbances"] if not each["refused"]]
    lines = [
        f"## {KINDS[name][0].upper()}{KINDS[name][1:]}",
        f"{_day(report['began'])}, {report['seconds']:.0f} s, {len(done)} disturbances: "
        f"{', '.join(done)}.",
        "",
        f"`{report['again']}`",
        "",
        "| | | |",
        "| --- | --- | --- |",
    ]
    for each in report["properties"]:
        cases = "".join(f"; **{case}**" for case in each["cases"])
        lines.append(f"| {each['name']} | {each['outcome']} | {each['said']}{cases} |")
    return "\n".join(lines) + "\n"


def _day(began: float) -> str:
    return datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%d %H:%M UTC")


def read(results: Path = RESULTS) -> dict[str, Any]:
    file = results / "conformance.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def main() -> None:
    PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main()
