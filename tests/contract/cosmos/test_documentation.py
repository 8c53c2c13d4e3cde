"""The tests that docs/cosmos-server.md shows are tests, and pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from support.tree import ROOT

TEXT = (ROOT / "docs" / "cosmos-server.md").read_text(encoding="utf-8")


def test_the_tests_of_the_documentation_pass(tmp_path: Path) -> None:
    (program,) = (
        block
        for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
        if "def test_" in block
    )
    (tmp_path / "test_shown.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr
