"""Which files the tree has: for tests that hold the tree itself to its rules."""

from __future__ import annotations

import ast
import functools
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {
    ".git", ".venv", ".tools", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".import_linter_cache", "__pycache__", "node_modules", "dist", "build",
}  # fmt: skip


def files_of(*endings: str, below: tuple[str, ...] = ("",)) -> list[Path]:
    """The files of the tree with these endings, below these folders (all, if none)."""
    found = []
    for folder in below:
        for parent, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name not in NOT_OURS]
            found += [Path(parent, name) for name in names if name.endswith(endings)]
    return sorted(found)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """What a Python file says; each is parsed once, however many tests look at it."""
    return ast.parse(path.read_text(encoding="utf-8"))


def named(path: Path) -> str:
    """A file's name as people of this tree say it."""
    return str(path.relative_to(ROOT))
