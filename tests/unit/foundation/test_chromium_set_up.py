"""Chromium for the tests of the pages: taken where it is, else fetched, else the line is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import chromium_env
from chromium_env import APT_PACKAGES, PROGRAMS, ensure_chromium
from steps import StopError


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What was run; nothing is."""
    commands: list[list[str]] = []

    def record(command: Sequence[str], *_: object, **__: object) -> None:
        commands.append(list(command))

    monkeypatch.setattr(chromium_env, "run", record)
    return commands


def there(monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name in programs or None)


def test_where_both_programs_are_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]], tmp_path: Path
) -> None:
    there(monkeypatch, *PROGRAMS)
    ensure_chromium(tmp_path)
    assert ran == []


def test_root_gets_both_from_debian_and_is_told_their_size(
    monkeypatch: pytest.MonkeyPatch,
    ran: list[list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    there(monkeypatch, "chromium", "apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    ensure_chromium(tmp_path)
    assert set(APT_PACKAGES) <= set(ran[-1])
    assert "MB to fetch" in capsys.readouterr().out


def test_who_may_not_install_is_told_the_line_that_does(
    monkeypatch: pytest.MonkeyPatch, ran: list[list[str]], tmp_path: Path
) -> None:
    there(monkeypatch, "apt-get")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(StopError, match="sudo apt-get install -y chromium chromium-driver"):
        ensure_chromium(tmp_path)
    assert ran == []
