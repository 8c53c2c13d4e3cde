"""The make targets: each says what it does, and CI calls those that exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.tree import ROOT, files_of, named

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([A-Za-z][\w%-]*):(?!=)", MAKEFILE, re.MULTILINE)


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make in the tree, as a person would: not as a part of the make that runs the tests."""
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=outer_environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def outer_environment() -> dict[str, str]:
    """The environment without what a make gives to those that it calls."""
    inner = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    return {name: value for name, value in os.environ.items() if name not in inner}


def test_make_alone_says_what_each_target_does() -> None:
    said = make().stdout
    for target in TARGETS:
        shown = target.replace("%", "NAME")
        assert re.search(rf"^  {shown} +\w.+", said, re.MULTILINE), (
            f"`make` does not say what {shown} does: write '{target}: ## what it does'"
        )


def test_the_promised_targets_exist() -> None:
    promised = {
        *("help", "demo", "test", "test-java", "test-go", "test-rust", "check", "lint", "fuzz"),
        *("bench-%", "lock"),
    }
    assert promised <= set(TARGETS)


def exported_names() -> list[str]:
    """What a person may say to a target, as variables that every program sees."""
    line = re.search(r"^export (CONFORMANCE .+)$", MAKEFILE, re.MULTILINE)
    assert line is not None
    return line[1].split()


def test_what_is_not_said_is_empty_for_every_program() -> None:
    """A length meant for one target would be taken by all others."""
    names = exported_names()
    said = subprocess.run(
        ["make", "--silent", "--eval", "say-all: ; @env", "say-all"], cwd=ROOT, text=True,
        env={name: value for name, value in outer_environment().items() if name not in names},
        capture_output=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in names:
        assert f"{name}=" in said


def test_no_program_takes_what_is_empty_for_something_said() -> None:
    """`environ.get(NAME, DEFAULT)` is no default for what make gives as nothing."""
    names = "|".join(exported_names())
    wrong = re.compile(rf'environ(\.get\("({names})", (?!"")|\["({names})"\])')
    for path in files_of(".py", below=("benchmarks", "scripts", "tests/cluster")):
        assert not wrong.search(path.read_text(encoding="utf-8")), named(path)


def told_in(page: str) -> set[str]:
    """The targets that a page names, each after `make` or after another one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return set(
        re.findall(
            r"[a-z][\w-]*",
            " ".join(re.findall(r"(?:^|[`' ])make ([a-z][\w -]*)", text, re.MULTILINE)),
        )
    )


def test_every_target_is_told_to_who_contributes() -> None:
    benchmarks = {"bench-%", "bench-operator"}
    assert not set(TARGETS) - benchmarks - {"help"} - told_in("CONTRIBUTING.md")


def test_every_target_of_tests_is_asked_for_by_a_release() -> None:
    tests = {name for name in TARGETS if name.startswith("test")}
    others = {"simulate", "fuzz", "audit", "soak"}
    assert not (tests | others) - told_in("docs/releasing.md")


def test_what_make_test_leaves_out_is_said_where_it_is_described() -> None:
    assert "without test-live" in make().stdout
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `make test` \|(.*)$", text, re.MULTILINE)
    assert "without those of `make test-live`" in row


def test_no_line_of_the_help_is_wider_than_a_terminal() -> None:
    assert max(len(line) for line in make().stdout.splitlines()) <= 100


def test_every_target_does_its_own_set_up() -> None:
    for target in set(TARGETS) - {"help", "clean", "cluster-down"}:
        recipe = MAKEFILE.split(f"\n{target}:")[1].split("\n\n")[0]
        assert "scripts/prepare.py" in recipe or "scripts/lock.py" in recipe, target


def test_a_benchmark_that_does_not_exist_is_refused_with_those_that_do() -> None:
    tried = make("bench-nothing", "PYTHON=true")
    assert tried.returncode != 0
    assert "There is no benchmarks/nothing.py; there are:" in tried.stdout


def test_every_test_is_run_by_a_target() -> None:
    run = {Path(folder) for folder in re.findall(r"tests/[\w/]+", MAKEFILE)}
    forgotten = [
        named(path)
        for path in files_of(".py", below=("tests",))
        if path.name.startswith("test_") and not run & set(path.relative_to(ROOT).parents)
    ]
    assert not forgotten, f"{forgotten}: name the folder in a target of the Makefile"


@pytest.fixture
def ci(tmp_path: Path) -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs .ci/run in a tree whose Makefile is the given one."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")

    def run(makefile: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "Makefile").write_text(makefile, encoding="utf-8")
        return subprocess.run(
            [tmp_path / ".ci" / "run"], env=outer_environment(), capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    return run


Ci = Callable[[str], subprocess.CompletedProcess[str]]


def test_ci_names_the_targets_that_do_not_exist_and_runs_the_others(ci: Ci) -> None:
    ran = ci("test:\n\t@echo 5 passed\n\ntest-java:\n\t@echo 22 passed\n")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "5 passed",
        "ci: there is no make target test-live yet",
        "ci: there is no make target test-cluster yet",
        "22 passed",
    ]


@pytest.mark.parametrize(
    "recipe",
    ["test-java:\n\t@false", "test-java: nobody-makes-this\n\t@true", "test-java:\n\t$(error no)"],
)
def test_a_target_that_cannot_be_run_fails_ci(recipe: str, ci: Ci) -> None:
    assert ci(f"test:\n\t@true\n\n{recipe}\n").returncode != 0


def test_ci_ends_at_the_first_failure(ci: Ci) -> None:
    ran = ci("test:\n\t@false\n\ntest-java:\n\t@echo 22 passed\n")
    assert ran.returncode != 0
    assert "22 passed" not in ran.stdout
