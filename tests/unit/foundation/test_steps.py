"""Set-up steps: what they say, and that nothing half-made is ever taken for finished."""

from __future__ import annotations

import re
import shutil
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

import steps
from steps import Size, StopError

SMALL = Size(fetch_mb=1, disk_mb=1)


def test_a_step_says_its_size_before_and_its_cost_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with steps.step("Azurite from npm", Size(fetch_mb=37, disk_mb=61), [tmp_path]):
        said_before = capsys.readouterr().out
        (tmp_path / "package").write_bytes(b"x" * 2_000_000)
    assert said_before == "-> Azurite from npm: 37 MB to fetch, 61 MB on disk\n"
    assert capsys.readouterr().out.startswith("   done: 2 MB on disk, ")


def test_a_step_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "REPORT_EVERY_S", 0.01)
    reported = threading.Event()

    def overheard(text: str) -> None:
        print(text)
        if "so far" in text:
            reported.set()

    monkeypatch.setattr(steps, "say", overheard)
    with steps.step("packages", SMALL, [tmp_path]):
        assert reported.wait(30), "no progress was said"
    said = capsys.readouterr().out
    assert re.search(r"^   so far: 0 MB on disk, \d+\.\d s$", said, re.MULTILINE), said


def test_a_step_that_fails_does_not_say_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StopError), steps.step("packages", SMALL, [tmp_path]):
        raise StopError("no")
    assert "done" not in capsys.readouterr().out


def test_a_failed_command_shows_its_last_lines_its_log_and_a_remedy(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "pip.log"
    program = "for n in range(40): print('line', n)\nraise SystemExit('No space left on device')"
    with pytest.raises(StopError) as stopped:
        steps.run([sys.executable, "-c", program], log, cwd=tmp_path)
    said = str(stopped.value)
    assert "| line 39" in said
    assert "| line 20" not in said
    assert str(log) in said
    assert said.endswith("The disk is full. Free some space, then run the same command again.")
    assert "line 20" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("output", "remedy"),
    [
        ("OSError: [Errno 28] No space left on device", "The disk is full."),
        ("npm error code ENOSPC", "The disk is full."),
        ("NewConnectionError: Temporary failure in name resolution", "could not be reached"),
        ("npm error code ENOTFOUND", "could not be reached"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "damaged on the way"),
        ("npm error code EINTEGRITY", "damaged on the way"),
        ("ERROR: No matching distribution found for x==1", "try another Python"),
        ("PermissionError: [Errno 13] Permission denied", "could not be written"),
        ("ModuleNotFoundError: No module named 'x'", "nothing half-made is kept"),
        ("something new", "nothing half-made is kept"),
    ],
)
def test_each_kind_of_failure_has_a_remedy(output: str, remedy: str) -> None:
    assert remedy in steps.remedy_for(output)


def test_a_disk_that_is_too_small_stops_a_step_before_it_fetches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=90 * steps.MB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    steps.require_space(tmp_path, Size(fetch_mb=30, disk_mb=60))
    with pytest.raises(StopError, match="has 90 MB free, and this step needs about 91 MB"):
        steps.require_space(tmp_path, Size(fetch_mb=30, disk_mb=61))


def test_a_stamp_holds_for_its_key_only(tmp_path: Path) -> None:
    stamp = tmp_path / "complete"
    assert not steps.is_complete(stamp, "key")
    steps.write_stamp(stamp, "key")
    assert steps.is_complete(stamp, "key")
    assert not steps.is_complete(stamp, "another key")
    assert [path.name for path in tmp_path.iterdir()] == ["complete"]


def test_two_set_ups_of_one_folder_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[str] = []
    # What another thread prints is not read with capsys: it loses what comes while it reads.
    said: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr(steps, "say", said.put)

    def second() -> None:
        with steps.one_at_a_time(tmp_path / "lock"):
            inside.append("second")

    thread = threading.Thread(target=second)
    with steps.one_at_a_time(tmp_path / "lock"):
        thread.start()
        assert "waiting for another set-up" in said.get(timeout=30)
        inside.append("first")
    thread.join(30)
    assert inside == ["first", "second"]


def stop() -> None:
    raise StopError("Do this.")


def fill_the_disk() -> None:
    raise OSError(28, "No space left on device")


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("work", "code", "said"),
    [
        (stop, 1, "Do this.\n"),
        (fill_the_disk, 1, "The disk is full."),
        (interrupt, 130, "Stopped. What was broken off is made anew"),
    ],
)
def test_a_failure_is_one_message_and_an_exit_code(
    work: steps.Work, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert steps.exit_code_of(work) == code
    assert said in capsys.readouterr().err


def test_finished_work_is_exit_code_0() -> None:
    assert steps.exit_code_of(lambda: None) == 0
