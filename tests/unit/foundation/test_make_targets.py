"""The make targets: each says what it does, and CI calls those that exist."""

from __future__ import annotations

import os
import re
import subprocess

from support.tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([A-Za-z][\w%-]*):(?!=)", MAKEFILE, re.MULTILINE)


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the tree, as a person would: not as a part of the make that runs the tests."""
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    env = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def test_make_alone_says_what_each_target_does() -> None:
    said = make().stdout
    for target in TARGETS:
        shown = target.replace("%", "NAME")
        assert re.search(rf"^  {shown} +\w.+", said, re.MULTILINE), (
            f"`make` does not say what {shown} does: write '{target}: ## what it does'"
        )


def test_the_promised_targets_exist() -> None:
    assert {"help", "demo", "test", "check", "lint", "fuzz", "bench-%", "lock"} <= set(TARGETS)


def test_no_line_of_the_help_is_wider_than_a_terminal() -> None:
    assert max(len(line) for line in make().stdout.splitlines()) <= 100


def test_every_target_does_its_own_set_up() -> None:
    for target in set(TARGETS) - {"help", "clean"}:
        recipe = MAKEFILE.split(f"\n{target}:")[1].split("\n\n")[0]
        assert "scripts/prepare.py" in recipe or "scripts/lock.py" in recipe, target


def test_a_benchmark_that_does_not_exist_is_refused_with_those_that_do() -> None:
    tried = make("bench-nothing", "PYTHON=true")
    assert tried.returncode != 0
    assert "There is no benchmarks/nothing.py; there are:" in tried.stdout


def test_ci_runs_the_tests_and_each_larger_target_once_it_exists() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test\n" in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    for target in ("test-cluster", "test-pages", "test-java"):
        assert target in script
