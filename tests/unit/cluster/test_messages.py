"""What is said where something is missing: what it is, why it is wanted, and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
import machine
import programs
import steps
from steps import Size, StopError
from store import Store
from support.wait import wait_until


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on its PATH, and nobody in particular at work; the PATH's folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return folder


def put(folder: Path, program: str, script: str) -> None:
    path = folder / program
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def test_no_docker_and_no_root(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(StopError, match=r"No Docker engine answers.*Start Docker, or"):
        engine.ensure_engine(Store(tmp_path))


def test_a_docker_that_does_not_answer_is_no_docker(bare: Path, tmp_path: Path) -> None:
    put(bare, "docker", "exit 1")
    assert engine.find_engine(Store(tmp_path)) is None


def test_a_docker_that_answers_is_used(bare: Path, tmp_path: Path) -> None:
    put(bare, "docker", "exit 0")
    found = engine.ensure_engine(Store(tmp_path))
    assert not found.is_ours


def test_packages_without_root_are_one_line_to_run(bare: Path, tmp_path: Path) -> None:
    with pytest.raises(StopError) as stopped:
        machine.require_packages(
            {"no-such-program": "its-package"}, Size(1, 1), "Making a base", tmp_path
        )
    assert str(stopped.value).splitlines() == [
        "Making a base wants Debian's its-package, and installing wants root. Run this, then the "
        "same command again:",
        "sudo apt-get install --no-install-recommends its-package",
    ]


def test_packages_that_are_there_are_not_installed(bare: Path, tmp_path: Path) -> None:
    put(bare, "debootstrap", "exit 0")
    machine.require_packages({"debootstrap": "debootstrap"}, Size(1, 1), "A base", tmp_path)


def test_no_go(bare: Path) -> None:
    with pytest.raises(StopError, match=r"none on the PATH\. Install Go 1\.24 or newer"):
        machine.require_go()


def test_a_go_that_is_too_old(bare: Path) -> None:
    put(bare, "go", "echo go version go1.19.8 linux/amd64")
    with pytest.raises(StopError, match=r"go1\.19\.8 .*too old\. Install Go 1\.24 or newer"):
        machine.require_go()


def test_a_go_that_is_new_enough(bare: Path) -> None:
    put(bare, "go", "echo go version go1.26.8 linux/amd64")
    assert machine.require_go() == str(bare / "go")


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("go version go1.24 linux/amd64", (1, 24)),
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version devel", None),
    ],
)
def test_the_version_of_go_is_read(said: str, version: tuple[int, int] | None) -> None:
    assert machine.go_version(said) == version


@pytest.mark.parametrize(("mask", "may"), [("000001fffeffffff", False), ("000001ffffffffff", True)])
def test_a_root_that_may_not_raise_limits_is_told_apart(mask: str, may: bool) -> None:
    status = f"Name:\tpython3\nCapBnd:\t{mask}\n"
    assert machine.has_capability(status, machine.CAP_SYS_RESOURCE) is may


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("verifying module: checksum mismatch\nSECURITY ERROR", "damaged on the way"),
        ("E: Failed to fetch x  Hash Sum mismatch", "damaged on the way"),
        ("dial tcp: lookup proxy: no such host", "could not be reached"),
        ("E: Failed to fetch x  Temporary failure resolving", "could not be reached"),
        ("write /root: no space left on device", "The disk is full"),
    ],
)
def test_a_download_that_fails_says_what_to_do(output: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(StopError, match=remedy):
        steps.run(["sh", "-c", f"echo '{output}'; exit 1"], tmp_path / "log", cwd=tmp_path)


def test_a_broken_download_of_modules_leaves_nothing_that_is_used(
    bare: Path, tmp_path: Path
) -> None:
    for program in ("sh", "cp", "rm"):
        (bare / program).symlink_to(f"/bin/{program}")
    put(
        bare,
        "go",
        '[ "$1" = version ] && echo go1.26 && exit 0\n'
        "echo 'verifying module: checksum mismatch'; exit 1",
    )
    store = Store(tmp_path / "cache")
    with pytest.raises(StopError, match="damaged on the way"):
        programs.build_programs(store)
    assert not programs.kube_folder(store).exists()


def test_an_engine_that_is_not_there_leaves_nothing_and_is_stopped_as_nothing(
    tmp_path: Path,
) -> None:
    assert engine.stop_engine(Store(tmp_path)) == []


def test_what_an_engine_left_is_found(tmp_path: Path) -> None:
    store = Store(tmp_path)
    named = f"{engine.runtime_folder(store)}/docker.sock"
    with subprocess.Popen(
        [sys.executable, "-c", "input()", named], stdin=subprocess.PIPE
    ) as process:
        try:
            (left,) = wait_until(lambda: engine.leftovers(store), 10, "the process to be found")
        finally:
            process.kill()
    assert left.startswith(f"process {process.pid}: ")
