"""Set-up of Java: what is missing is said with the line that installs it, and built once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import java_env
import prepare
from steps import StopError

POM = "<fetch_mb>1</fetch_mb><disk_mb>1</disk_mb>"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a machine that has just these programs; Maven notes that it was called."""
    programs = tmp_path / "bin"
    programs.mkdir()

    def with_programs(java: str = "", maven: bool = False) -> Path:
        if java:
            add("javac", f"echo javac {java}")
        if maven:
            add("mvn", f'echo called >> "{tmp_path}/called"; test ! -e "{tmp_path}/broken"')
        monkeypatch.setenv("PATH", str(programs))
        return tmp_path

    def add(name: str, does: str) -> None:
        program = programs / name
        program.write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        program.chmod(0o755)

    return with_programs


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "pom.xml").write_text(POM, encoding="utf-8")
    (folder / "One.java").write_text("class One {}", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("java", "maven", "missing"),
    [
        ("", True, r"a Java compiler \(javac\)\."),
        ("17.0.1", False, r"Maven \(mvn\)\."),
        ("", False, r"a Java compiler \(javac\) and Maven \(mvn\)\."),
        ("11.0.2", True, r"a newer Java than 11\."),
    ],
)
def test_what_is_missing_is_said_with_the_line_that_installs_it(
    java: str, maven: bool, missing: str, machine: Callable[..., Path]
) -> None:
    machine(java, maven)
    with pytest.raises(StopError, match=f"Missing: {missing}") as stopped:
        java_env.require_java()
    last_line = str(stopped.value).splitlines()[-1]
    assert last_line == "sudo apt-get install -y openjdk-17-jdk-headless maven"


def test_nothing_is_set_up_for_a_target_whose_java_is_missing(
    machine: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    layers: list[list[str]] = []
    monkeypatch.setattr(prepare, "ensure_layers", lambda root, words: layers.append(words))
    with pytest.raises(StopError):
        prepare.prepare(["dev", "java"])
    assert layers == []


def test_java_17_and_newer_are_taken(machine: Callable[..., Path]) -> None:
    machine("17.0.15", True)
    java_env.require_java()
    machine("25", True)
    java_env.require_java()


def builds(root: Path) -> int:
    called = root / "called"
    return len(called.read_text(encoding="utf-8").split()) if called.exists() else 0


def test_the_program_is_built_once_and_again_when_its_source_changes(
    machine: Callable[..., Path], source: Path
) -> None:
    root = machine("17", True)
    java_env.build_java(root, source, "java", "Java")
    java_env.build_java(root, source, "java", "Java")
    assert builds(root) == 1
    (source / "One.java").write_text("class One { int x; }", encoding="utf-8")
    old = root / ".tools" / "java" / "classes" / "Old.class"
    old.parent.mkdir()
    old.touch()
    java_env.build_java(root, source, "java", "Java")
    assert builds(root) == 2
    assert not old.exists()


def test_a_build_that_failed_is_never_taken_for_finished(
    machine: Callable[..., Path], source: Path
) -> None:
    root = machine("17", True)
    (root / "broken").touch()
    for _ in range(2):
        with pytest.raises(StopError, match="`mvn` failed"):
            java_env.build_java(root, source, "java", "Java")
    assert builds(root) == 2
