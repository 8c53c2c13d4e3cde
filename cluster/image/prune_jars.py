"""Takes out of a folder of jars those that a list names: `prune_jars.py JARS LIST`.

Rules: standard library only, for it runs while the image is built. A line of the list is a pattern
of names; empty ones and those with # are for people. A pattern that fits nothing is an error: the
list is then of another Spark than the one that was installed.
"""

from __future__ import annotations

import fnmatch
import shutil
import sys
from collections.abc import Collection
from pathlib import Path


def patterns(text: str) -> list[str]:
    """The patterns of a list."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def left_out(names: Collection[str], listed: Collection[str]) -> set[str]:
    """The names that some pattern fits; refuses patterns that fit none."""
    found = {pattern: set(fnmatch.filter(names, pattern)) for pattern in listed}
    useless = [pattern for pattern in listed if not found[pattern]]
    if useless:
        raise ValueError(f"No jar is called {', '.join(useless)}: take that out of the list.")
    return set().union(*found.values())


def main(jars: Path, listed: Path) -> None:
    names = {path.name for path in jars.iterdir()}
    for name in sorted(left_out(names, patterns(listed.read_text(encoding="utf-8")))):
        path = jars / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
