"""Set-up of Go and Rust: what is missing is said with where to get it, and built once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import prepare
import sdk_env
from sdk_env import GO, RUST, Toolchain
from steps import Size, StopError

SMALL = Size(1, 1)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Toolchain, str], Path]:
    """Makes a machine that has just this toolchain; it notes what it was called for."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))

    def with_toolchain(chain: Toolchain, version: str) -> Path:
        program = programs / chain.program
        program.write_text(
            f'#!/bin/sh\ncase "$1" in version|--version) echo "{version}"; exit;; esac\n'
            f'echo "$1" >> "{tmp_path}/called"; test ! -e "{tmp_path}/broken"\n',
            encoding="utf-8",
        )
        program.chmod(0o755)
        return tmp_path

    return with_toolchain


@pytest.mark.parametrize(
    ("chain", "said", "complaint"),
    [
        (GO, "", r"wants Go 1\.25 or newer \(go\), and there is none\. .* https://go\.dev/doc/"),
        (GO, "go version go1.24.9 linux/amd64", r"Go 1\.25 or newer .* this is 1\.24\."),
        (RUST, "", r"wants Rust 1\.88 or newer \(cargo\), and there is none\. .* https://rustup"),
        (RUST, "cargo 1.63.0", r"Rust 1\.88 or newer .* this is 1\.63\."),
    ],
)
def test_what_is_missing_or_too_old_is_said_with_where_to_get_it(
    chain: Toolchain, said: str, complaint: str, machine: Callable[[Toolchain, str], Path]
) -> None:
    if said:
        machine(chain, said)
    with pytest.raises(StopError, match=complaint):
        sdk_env.require_toolchain(chain)


@pytest.mark.parametrize(
    ("chain", "said"),
    [
        (GO, "go version go1.25.0 linux/amd64"),
        (GO, "go version go2.0 linux/arm64"),
        (RUST, "cargo 1.95.0 (f2d3ce0bd 2026-03-21)"),
    ],
)
def test_the_oldest_and_newer_ones_are_taken(
    chain: Toolchain, said: str, machine: Callable[[Toolchain, str], Path]
) -> None:
    machine(chain, said)
    sdk_env.require_toolchain(chain)


@pytest.mark.parametrize("word", ["go", "rust"])
def test_nothing_is_set_up_for_a_target_whose_toolchain_is_missing(
    word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    layers: list[list[str]] = []
    monkeypatch.setattr(prepare, "ensure_layers", lambda root, words: layers.append(words))
    with pytest.raises(StopError):
        prepare.prepare(["dev", word])
    assert layers == []


def calls(root: Path) -> list[str]:
    called = root / "called"
    return called.read_text(encoding="utf-8").split() if called.exists() else []


@pytest.mark.parametrize(
    ("chain", "lock", "steps"),
    [(GO, "go.sum", ["vet", "build"]), (RUST, "Cargo.lock", ["build"])],
    ids=["go", "rust"],
)
def test_a_program_is_built_once_and_again_when_what_it_is_made_of_changes(
    chain: Toolchain,
    lock: str,
    steps: list[str],
    machine: Callable[[Toolchain, str], Path],
    tmp_path: Path,
) -> None:
    root = machine(chain, "")
    source = tmp_path / "source"
    source.mkdir()
    (source / lock).write_text("one version", encoding="utf-8")
    small = replace(chain, size=SMALL)
    sdk_env.build_program(small, root, source, "x")
    sdk_env.build_program(small, root, source, "x")
    assert calls(root) == steps
    (source / lock).write_text("another version", encoding="utf-8")
    sdk_env.build_program(small, root, source, "x")
    assert calls(root) == steps * 2


def test_cargo_gets_a_lock_that_names_where_each_crate_is_from(
    machine: Callable[[Toolchain, str], Path], tmp_path: Path
) -> None:
    root = machine(RUST, "")
    source = tmp_path / "source"
    source.mkdir()
    ours = '[[package]]\nname = "ours"\nversion = "1.0.0"\n'
    theirs = '[[package]]\nname = "theirs"\nversion = "0.3.1"\n{}checksum = "5e"\n'
    (source / "Cargo.lock").write_text(ours + theirs.format(""), encoding="utf-8")
    sdk_env.build_program(replace(RUST, size=SMALL), root, source, "x")
    made = (root / ".tools" / "x" / "source" / "Cargo.lock").read_text(encoding="utf-8")
    assert made == ours + theirs.format(f'source = "{sdk_env._REGISTRY}"\n')


def test_a_build_that_failed_is_never_taken_for_finished(
    machine: Callable[[Toolchain, str], Path], tmp_path: Path
) -> None:
    root = machine(RUST, "")
    (root / "broken").touch()
    source = tmp_path / "source"
    source.mkdir()
    (source / "Cargo.lock").touch()
    for _ in range(2):
        with pytest.raises(StopError, match="`cargo` failed"):
            sdk_env.build_program(replace(RUST, size=SMALL), root, source, "x")
    assert calls(root) == ["build", "build"]
