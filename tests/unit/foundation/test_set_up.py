"""Set-up of Python and npm packages: kept where complete, thrown away where broken off."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import node_env
import python_env
from node_env import Node
from steps import StopError

Commands = list[list[str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with two small lock files, nothing set up."""
    for layer in ("dev", "fuzz"):
        lock = tmp_path / "requirements" / f"{layer}.lock"
        lock.parent.mkdir(exist_ok=True)
        lock.write_text("# size: 1 MB to fetch, 2 MB on disk\nx==1\n", encoding="utf-8")
    version_file = tmp_path / "consumer" / "tidegate" / "__init__.py"
    version_file.parent.mkdir(parents=True)
    version_file.touch()
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


@pytest.fixture
def commands(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """What set-up ran; making an environment makes its python, everything else does nothing."""
    ran: Commands = []

    def record(command: Sequence[str | Path], *_: object, **__: object) -> None:
        ran.append([str(part) for part in command])
        if "venv" in ran[-1]:
            program = tree / ".venv" / "bin" / "python"
            program.parent.mkdir(parents=True, exist_ok=True)
            program.touch()

    monkeypatch.setattr(python_env, "run", record)
    return ran


def kinds(commands: Commands) -> list[str]:
    """What each command was for."""
    made = {"venv": "make", "--requirement": "fill", "--editable": "tree"}
    return [kind for command in commands for sign, kind in made.items() if sign in command]


def broken_off(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def failed(*_: object, **__: object) -> None:
    raise StopError("the index cannot be reached")


def test_a_complete_environment_is_left_alone(tree: Path, commands: Commands) -> None:
    python_env.ensure_layers(tree, ["dev"])
    assert kinds(commands) == ["make", "fill", "tree"]
    commands.clear()
    python_env.ensure_layers(tree, ["dev"])
    assert commands == []


def test_another_layer_is_added_to_the_environment(tree: Path, commands: Commands) -> None:
    python_env.ensure_layers(tree, ["dev"])
    commands.clear()
    python_env.ensure_layers(tree, ["dev", "fuzz"])
    assert kinds(commands) == ["fill"]
    commands.clear()
    python_env.ensure_layers(tree, ["dev"])
    assert commands == []


def test_a_changed_lock_makes_the_environment_anew(tree: Path, commands: Commands) -> None:
    python_env.ensure_layers(tree, ["dev"])
    leftover = tree / ".venv" / "leftover"
    leftover.touch()
    lock = tree / "requirements" / "dev.lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace("x==1", "x==2"), encoding="utf-8")
    commands.clear()
    python_env.ensure_layers(tree, ["dev"])
    assert kinds(commands) == ["make", "fill", "tree"]
    assert not leftover.exists()


def test_a_new_version_installs_the_tree_again_and_nothing_else(
    tree: Path, commands: Commands
) -> None:
    python_env.ensure_layers(tree, ["dev"])
    commands.clear()
    (tree / "consumer" / "tidegate" / "__init__.py").write_text("'2'", encoding="utf-8")
    python_env.ensure_layers(tree, ["dev"])
    assert kinds(commands) == ["tree"]


@pytest.mark.parametrize("how", [broken_off, failed])
def test_a_layer_that_was_broken_off_costs_only_itself(
    tree: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch, how: Callable[..., None]
) -> None:
    python_env.ensure_layers(tree, ["dev"])
    (tree / ".venv" / "package").touch()
    with monkeypatch.context() as while_interrupted:
        while_interrupted.setattr(python_env, "run", how)
        with pytest.raises((KeyboardInterrupt, StopError)):
            python_env.ensure_layers(tree, ["dev", "fuzz"])
    commands.clear()
    python_env.ensure_layers(tree, ["dev"])
    assert commands == []
    python_env.ensure_layers(tree, ["dev", "fuzz"])
    assert kinds(commands) == ["fill"]
    assert "--ignore-installed" in commands[0], "what is half there is put in again"
    assert (tree / ".venv" / "package").exists()
    commands.clear()
    python_env.ensure_layers(tree, ["dev", "fuzz"])
    assert commands == []


def test_a_layer_that_was_broken_off_for_another_lock_makes_the_environment_anew(
    tree: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    python_env.ensure_layers(tree, ["dev"])
    with monkeypatch.context() as while_interrupted:
        while_interrupted.setattr(python_env, "run", broken_off)
        with pytest.raises(KeyboardInterrupt):
            python_env.ensure_layers(tree, ["dev", "fuzz"])
    lock = tree / "requirements" / "fuzz.lock"
    lock.write_text(lock.read_text(encoding="utf-8").replace("x==1", "x==2"), encoding="utf-8")
    commands.clear()
    python_env.ensure_layers(tree, ["dev"])
    assert kinds(commands) == ["make", "fill", "tree"]


def test_an_environment_that_was_broken_off_while_made_is_thrown_away(
    tree: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as while_interrupted:
        while_interrupted.setattr(python_env, "run", broken_off)
        with pytest.raises(KeyboardInterrupt):
            python_env.ensure_layers(tree, ["dev"])
    leftover = tree / ".venv" / "bin" / "python"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    python_env.ensure_layers(tree, ["dev"])
    assert kinds(commands) == ["make", "fill", "tree"]


def test_a_tree_that_was_moved_makes_its_own_environment(tree: Path, commands: Commands) -> None:
    text = (tree / "requirements" / "dev.lock").read_text(encoding="utf-8")
    assert python_env.layer_key(tree, text) != python_env.layer_key(tree / "elsewhere", text)


def test_an_unknown_layer_names_those_that_are_known(tree: Path) -> None:
    with pytest.raises(StopError, match=r"no lock file gpu\.lock\. Known: dev, fuzz\."):
        python_env.lock_file(tree, "gpu")


def test_without_root_a_missing_venv_module_is_one_line_to_run(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(StopError) as stopped:
        python_env.ensure_venv_module(tree)
    assert str(stopped.value).splitlines()[1:] == ["sudo apt-get install -y python3-venv"]


def test_as_root_a_missing_venv_module_is_installed(
    tree: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = iter([None, "found"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: next(installed))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    python_env.ensure_venv_module(tree)
    assert commands == [
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "python3-venv"],
    ]


@pytest.fixture
def package(tree: Path) -> Path:
    """A folder with a package.json and its lock."""
    folder = tree / "package"
    folder.mkdir()
    described = {"name": "tool", "config": {"fetch_mb": 1, "disk_mb": 1}}
    (folder / "package.json").write_text(json.dumps(described), encoding="utf-8")
    (folder / "package-lock.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def npm(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A Node of the machine whose npm notes where it was called; gives those folders."""
    tool = tree / "bin" / "npm"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\npwd >> "{tree}/called"\nmkdir -p node_modules\ntest ! -e broken\n',
        encoding="utf-8",
    )
    tool.chmod(0o755)
    node = Node(program=tree / "bin" / "node", npm=(str(tool),))
    monkeypatch.setattr(node_env, "node_of_machine", lambda: node)

    def called() -> list[str]:
        noted = tree / "called"
        return noted.read_text(encoding="utf-8").split() if noted.exists() else []

    return called


def test_npm_packages_are_installed_once(
    tree: Path, package: Path, npm: Callable[[], list[str]]
) -> None:
    target = tree / ".tools" / "tool"
    node_env.npm_install(tree, package, target)
    node_env.npm_install(tree, package, target)
    assert npm() == [str(target)]
    assert (target / "package-lock.json").exists()


def test_npm_packages_are_installed_again_when_their_lock_changes(
    tree: Path, package: Path, npm: Callable[[], list[str]]
) -> None:
    target = tree / ".tools" / "tool"
    node_env.npm_install(tree, package, target)
    (package / "package-lock.json").write_text('{"new": 1}', encoding="utf-8")
    node_env.npm_install(tree, package, target)
    assert npm() == [str(target), str(target)]
    assert (target / "package-lock.json").read_text(encoding="utf-8") == '{"new": 1}'


def test_a_failed_npm_install_is_never_taken_for_finished(
    tree: Path, package: Path, npm: Callable[[], list[str]]
) -> None:
    target = tree / ".tools" / "tool"
    target.mkdir(parents=True)
    (target / "broken").touch()
    with pytest.raises(StopError):
        node_env.npm_install(tree, package, target)
    (target / "broken").unlink()
    node_env.npm_install(tree, package, target)
    assert len(npm()) == 2


@pytest.mark.parametrize(("version", "usable"), [("v18.20.0", False), ("v20.1.0", True)])
def test_an_old_node_of_the_machine_is_not_used(
    version: str, usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (node_env.node_of_machine() is not None) is usable


def test_a_node_without_npm_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho v24.0.0\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert node_env.node_of_machine() is None
