"""The folder of temporary files: on a disk, and never left behind for good."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate_hub
from tidegate_hub.storage import Store
from tidegate_hub.storage.errors import WriteFailed
from tidegate_hub.storage.spill import SpillFolder

SPILL = """
import signal
from tidegate_hub.storage import Store

store = Store(None, memory_budget_bytes=100_000)
log = store.open_log("telemetry", "0")
for _ in range(10):
    log.append([bytes(50_000)], 0)
print("spilled", flush=True)
signal.pause()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def spilling_process() -> subprocess.Popen[str]:
    """A process that has spilled and waits to be killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPILL],
        cwd=Path(tidegate_hub.__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "spilled\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)


def test_bodies_are_spilled_to_a_disk_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    folder = SpillFolder()
    path = folder.new_path()
    try:
        assert path.parent.parent == Path("/var/tmp")
        assert path.parent.stat().st_mode & 0o077 == 0, "others may not read the events"
    finally:
        folder.remove()
    assert not path.parent.exists()


def test_a_folder_that_cannot_be_made_is_told_at_the_start_and_tried_again_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "later"
    monkeypatch.setenv("TMPDIR", str(base))
    store = Store(None, memory_budget_bytes=100_000)
    assert "cannot write the directory for temporary files" in str(store.no_spill)
    log = store.open_log("telemetry", "0")
    with pytest.raises(WriteFailed, match="No such file or directory"):
        for _ in range(10):
            log.append([bytes(50_000)], 0)
    base.mkdir()
    for _ in range(10):
        log.append([bytes(50_000)], 0)
    assert list(base.rglob("*.seg"))
    store.close()


def test_a_folder_that_was_half_made_does_not_stay(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each send of a hub on a full disk would leave one more."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    store = Store(None)
    monkeypatch.undo()
    assert store.no_spill is not None
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(temporary: Path) -> None:
    process = spilling_process()
    (left,) = temporary.iterdir()
    end(process)
    assert list(left.glob("*.seg"))
    Store(None).close()
    assert list(temporary.iterdir()) == []


def test_the_files_of_a_process_that_lives_are_not_removed(temporary: Path) -> None:
    process = spilling_process()
    try:
        before = sorted(temporary.rglob("*"))
        Store(None).close()
        assert sorted(temporary.rglob("*")) == before
    finally:
        end(process)


def test_only_folders_that_a_store_has_made_are_removed(temporary: Path) -> None:
    (temporary / "tidegate-hub-mine").mkdir()
    (temporary / "tidegate-hub-mine" / "notes").write_text("keep", encoding="utf-8")
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (temporary / "tidegate-hub-link").symlink_to(elsewhere)
    before = sorted(temporary.rglob("*"))
    Store(None).close()
    assert sorted(temporary.rglob("*")) == before
