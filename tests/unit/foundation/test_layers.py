"""Layers: who may import whom, held by import-linter; and the contracts do bite."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.tree import ROOT

LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter with the contracts of pyproject.toml over a tree."""
    path = os.pathsep.join(str(tree / source) for source in ("consumer", "operator"))
    return subprocess.run(
        [str(LINT_IMPORTS), "--no-cache"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_layers_hold() -> None:
    linted = lint_imports(ROOT)
    assert linted.returncode == 0, (
        f"{linted.stdout}{linted.stderr}\nAn import crosses a layer. Pass what is needed as an "
        "argument (the time, the dice, a port), or move the code to the layer that may know it."
    )


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("consumer/tidegate_amqp/types.py", "import time"),
        ("consumer/tidegate_hub/selectors.py", "import random"),
        ("consumer/tidegate_hub/server.py", "import tidegate"),
        ("consumer/tidegate/words.py", "import tidegate_operator"),
    ],
)
def test_an_import_across_a_layer_is_found(module: str, line: str, tmp_path: Path) -> None:
    for source in ("consumer", "operator"):
        shutil.copytree(
            ROOT / source, tmp_path / source, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a", encoding="utf-8") as appended:
        appended.write(f"\n{line}\n")
    linted = lint_imports(tmp_path)
    assert linted.returncode == 1
    assert "BROKEN" in linted.stdout
