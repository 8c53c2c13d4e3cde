"""What the environment says of the demo: what is wrong is one line that says what to write."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import demo_settings
from demo import Demo
from demo_programs import DemoError, Program, surroundings
from demo_settings import Settings
from homes.__main__ import main as homes

NAMES = ("HOMES", "SEED", "ENGINE", "PAGE_PORT", "CONSOLE_PORT", "DEMO_SECONDS", "DEMO_KILLS")


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("HOMES", "0"), ("HOMES", "inf"), ("HOMES", "nan"), ("HOMES", "-1"), ("HOMES", "1.5"),
        ("HOMES", "9" * 400), ("HOMES", "²"), ("SEED", "1e400"), ("SEED", "x"),
        ("PAGE_PORT", "0"), ("PAGE_PORT", "70000"), ("CONSOLE_PORT", "http"),
        ("DEMO_SECONDS", "inf"), ("DEMO_KILLS", "0"),
    ],
)  # fmt: skip
def test_what_is_no_whole_number_of_its_range_is_named_with_the_range(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(DemoError, match=rf"^{name}=.*: write a whole number from \d"):
        Settings.read()


def test_what_is_asked_for_is_what_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"HOMES": "300", "SEED": "0", "ENGINE": "python", "DEMO_SECONDS": "5"}
    for name, text in asked.items():
        monkeypatch.setenv(name, text)
    found = Settings.read()
    assert (found.homes, found.seed, found.engine) == (300, 0, "python")
    assert (found.seconds, found.kills_s) == (5, None)
    assert found.page_port != found.console_port


def test_one_port_for_both_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAGE_PORT", "CONSOLE_PORT"):
        monkeypatch.setenv(name, "18090")
    with pytest.raises(DemoError, match="PAGE_PORT=18090 and CONSOLE_PORT=18090 are the same"):
        Settings.read()


def test_the_port_that_one_page_asks_for_is_not_given_to_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The usual one of the console.
    monkeypatch.setenv("PAGE_PORT", "8081")
    try:
        found = Settings.read()
    except DemoError as problem:
        assert "PAGE_PORT=8081 is taken" in str(problem)  # by somebody else on this machine
    else:
        assert found.page_port == 8081
        assert found.console_port != 8081


def test_a_port_that_may_not_be_opened_is_not_called_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_held: object, _port: int) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setenv("PAGE_PORT", "80")
    monkeypatch.setattr(demo_settings, "_bound", refuse)
    with pytest.raises(DemoError, match="PAGE_PORT=80 may not be opened by this user"):
        Settings.read()


def test_without_spark_the_demo_wants_less_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE", "python")
    small = Settings.read().least_free_mb
    monkeypatch.setenv("ENGINE", "spark")
    assert small < Settings.read().least_free_mb


@pytest.mark.parametrize(
    ("says", "why"),
    [("input(); raise SystemExit(7)", "ended by itself with status 7"),
     ("while True: input()", "have not ended after")],
)  # fmt: skip
def test_homes_that_do_not_end_well_are_a_failure_and_are_not_waited_for_for_ever(
    says: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demo.WRITTEN_S", 0.5 if "not ended" in why else 30.0)
    demo = Demo(Settings.read(), tmp_path, is_on_cluster=False)
    command = (sys.executable, "-c", says)
    demo._homes = Program("homes", command, lambda _: None, surroundings())
    with pytest.raises(DemoError, match=why):
        demo._until_written(tmp_path / "truth.json")
    assert not demo._homes.is_running


def test_what_cannot_be_compared_is_not_called_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORAGE", "UseDevelopmentStorage=true")
    assert homes(["check", str(tmp_path / "no-truth.json")]) == 1
    assert "no-truth.json" in capsys.readouterr().err


def test_the_folder_of_a_demo_that_was_killed_goes_with_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_settings, "ROOT", tmp_path)
    monkeypatch.setenv("ENGINE", "python")
    killed = tmp_path / ".tools" / "demo" / "run-killed"
    (killed / "storage").mkdir(parents=True)
    with ExitStack() as one, ExitStack() as other:
        first = demo_settings.new_folder(one, Settings.read())
        second = demo_settings.new_folder(other, Settings.read())
        assert first.is_dir() and second.is_dir() and not killed.exists()
    assert not list(killed.parent.iterdir())
