"""What a process that cannot go on leaves in its container's own file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tidegate import cli
from tidegate.commands import last_words
from tidegate.commands.codes import Code
from tidegate.commands.last_words import leave
from unit.commands.one_group import GROUP


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a container; the command line's own function writes to it."""
    file = tmp_path / "termination-log"
    file.touch()
    monkeypatch.setattr(cli, "leave", lambda text: leave(text, file))
    # Handlers are looked for in folders that are added to it.
    monkeypatch.setattr(sys, "path", [*sys.path])
    return file


def ended(*arguments: str) -> int:
    """The exit code of a command, without the signals that the process itself listens to."""
    return cli._carry_out(cli.parser(arguments[:1]).parse_args(arguments))


def test_a_handler_that_says_a_secret_of_its_group_when_it_is_imported_is_not_repeated(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    key = "q8+vT1/x2LkYw3o9ZrS0mNcJ5uHfBdEaQpGiW7V6tXs="
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    says = f"raise ImportError('no module for {key}')\n"
    (tmp_path / "handler.py").write_text(says, encoding="utf-8")
    monkeypatch.setenv("HUB", f"Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey={key}")
    monkeypatch.setenv("STORE", "UseDevelopmentStorage=true")
    assert ended("run", str(tmp_path / "group.yaml"), "--check") == Code.CONFIGURATION
    last_words.hide(())
    for said in (place.read_text(encoding="utf-8"), capfd.readouterr().err):
        assert "no module for ***" in said and key[:16] not in said


def test_a_handler_that_does_not_import_is_named_in_the_containers_file(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "group.yaml").write_text(GROUP, encoding="utf-8")
    (tmp_path / "handler.py").write_text("import not_there_at_all\n", encoding="utf-8")
    for name, value in (
        ("HUB", "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey=v"),
        ("STORE", "UseDevelopmentStorage=true"),
    ):
        monkeypatch.setenv(name, value)
    assert ended("run", str(tmp_path / "group.yaml"), "--check") == Code.CONFIGURATION
    left = place.read_text(encoding="utf-8")
    assert left.startswith("HandlerNotImported: handler file 'handler.py':")
    assert "not_there_at_all" in left


def test_a_group_file_that_is_not_there_is_refused_configuration(
    place: Path, tmp_path: Path
) -> None:
    assert ended("run", str(tmp_path / "none.yaml")) == Code.CONFIGURATION
    assert place.read_text(encoding="utf-8").startswith("ConfigurationRefused: ")


def test_where_there_is_no_such_file_none_is_made(tmp_path: Path) -> None:
    leave("text", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_what_is_longer_than_kubernetes_takes_is_cut(tmp_path: Path) -> None:
    place = tmp_path / "termination-log"
    place.touch()
    leave("x" * 10_000, place)
    assert place.stat().st_size == 4096


def test_the_file_is_the_one_that_kubernetes_makes_by_default() -> None:
    assert Path("/dev/termination-log") == last_words.PLACE


def test_a_container_whose_disk_is_full_loses_its_last_words_and_not_its_exit_code(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert ended("run", str(tmp_path / "none.yaml")) == Code.CONFIGURATION
    told = capsys.readouterr().err
    assert "termination-log cannot be written" in told and "none.yaml" in told


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        ("tidegate", "run", "none.yaml"),
        ("tidegate-operator", "run", "--all-namespaces", "--image=x"),
    ],
    ids=["the consumer", "the operator"],
)
def test_where_standard_error_takes_nothing_the_exit_code_says_why_all_the_same(
    command: Sequence[str], unbuffered: str
) -> None:
    program = Path(sys.executable).with_name(command[0])
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [program, *command[1:]],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=full,
            check=False,
            timeout=60,
        )
    assert ended.returncode == Code.CONFIGURATION


def test_a_result_that_cannot_be_written_is_a_failure() -> None:
    """What other commands print is what they are for."""
    program = Path(sys.executable).with_name("tidegate")
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [program, "--help"],
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert ended.returncode not in (0, Code.CONFIGURATION)
