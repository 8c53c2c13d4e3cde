"""What pages of the documentation say of measured figures: `python benchmarks/made_pages.py`.

Rules: between `<!-- made: NAME -->` and `<!-- end -->` stands what the function of that name makes
of results/bench.json, and nothing else; a test holds both equal. The words around it are written
by hand and repeat no figure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import comparison_page
import load_page
import measured_pages
import migration_page
import runs

DOCS = runs.ROOT / "docs"
RESULTS = runs.ROOT / "benchmarks" / "results"
MADE = re.compile(r"(?<=<!-- made: )([\w-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)

Maker = Callable[[runs.Runs], str]
MAKERS: dict[str, Mapping[str, Maker]] = {
    "comparison.md": {**comparison_page.MAKERS, **measured_pages.SPARK},
    "cosmos.md": measured_pages.COSMOS,
    "load.md": load_page.MAKERS,
    "migrating.md": migration_page.MAKERS,
    "production.md": measured_pages.PRODUCTION,
    "slices.md": measured_pages.SLICES,
}


def made(text: str, makers: Mapping[str, Maker], all_runs: runs.Runs) -> str:
    """The page with all its made parts made anew."""
    names = [found[1] for found in MADE.finditer(text)]
    if missing := makers.keys() - set(names):
        raise ValueError(f"the page has no part '{missing.pop()}'")
    return MADE.sub(lambda part: f"{part[1]}{part[2]}{makers[part[1]](all_runs)}", text)


def main() -> None:
    all_runs = runs.read(RESULTS)
    for name, makers in MAKERS.items():
        path = DOCS / name
        path.write_text(made(path.read_text(encoding="utf-8"), makers, all_runs), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
