"""What a process leaves for its next life in the same place, and for nobody else."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tidegate.scratch import Scratch, ScratchTakenError

LEASES = (("", "presence"), ("0", "lease-0"))


def test_the_next_life_finds_the_leases_of_the_last(tmp_path: Path) -> None:
    first = Scratch(tmp_path / "pod" / "leases")
    assert first.read() == ()
    first.write(LEASES)
    first.close()
    second = Scratch(tmp_path / "pod" / "leases")
    assert second.read() == LEASES
    second.close()


def test_two_living_processes_never_have_one_file(tmp_path: Path) -> None:
    first = Scratch(tmp_path / "leases")
    with pytest.raises(ScratchTakenError, match="Give each process a file of its own"):
        Scratch(tmp_path / "leases")
    first.close()


@pytest.mark.parametrize(
    ("one", "other"), [("scratch.a", "scratch.b"), ("a", "a.b"), ("a.b", "a.c"), (".a", ".b")]
)
def test_files_whose_names_differ_share_nothing(tmp_path: Path, one: str, other: str) -> None:
    first, second = Scratch(tmp_path / one), Scratch(tmp_path / other)
    first.write(LEASES)
    second.write((("1", "another"),))
    assert first.read() == LEASES
    second.remove()
    first.close()
    assert {path.name for path in tmp_path.iterdir()} > {one, f"{one}.lock"}
    with pytest.raises(ScratchTakenError):
        Scratch(tmp_path / other)
    second.close()


def test_one_file_by_two_names_is_one_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "leases")
    first = Scratch(tmp_path / "leases")
    with pytest.raises(ScratchTakenError, match="belongs to a process that still runs"):
        Scratch(tmp_path / "link")
    first.close()


@pytest.mark.parametrize("name", ["a.lock", "a.new"])
def test_a_name_that_may_be_another_files_lock_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ScratchTakenError, match="Name it otherwise"):
        Scratch(tmp_path / name)


@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"'])
def test_a_file_that_cannot_be_read_is_one_with_nothing_in_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "leases").write_text(content, encoding="utf-8")
    scratch = Scratch(tmp_path / "leases")
    assert scratch.read() == ()
    assert "cannot be read" in scratch.trouble and "counts as empty" in scratch.trouble
    scratch.write(LEASES)
    assert scratch.trouble == ""
    scratch.close()


class Disk:
    """A disk that takes nothing, for as long as it is said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self._open, self._write = os.open, Path.write_text
        monkeypatch.setattr(os, "open", self.open)

        # A function, which becomes a method of the path.
        def write_text(path: Path, *rest: Any, **more: Any) -> int:
            return self.write(path, *rest, **more)

        monkeypatch.setattr(Path, "write_text", write_text)

    def _fail(self, path: object) -> None:
        if self.number:
            raise OSError(self.number, os.strerror(self.number), str(path))

    def open(self, path: Any, *rest: Any, **more: Any) -> int:
        if str(path).endswith(".lock"):
            self._fail(path)
        return self._open(path, *rest, **more)

    def write(self, path: Path, *rest: Any, **more: Any) -> int:
        self._fail(path)
        return self._write(path, *rest, **more)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_a_disk_that_is_full_is_told_and_keeps_what_stood_until_there_is_room(
    disk: Disk, tmp_path: Path
) -> None:
    scratch = Scratch(tmp_path / "leases")
    scratch.write(LEASES)
    disk.number = errno.ENOSPC
    scratch.write((*LEASES, ("1", "lease-1")))
    assert "cannot be written (No space left on device). Reading goes on" in scratch.trouble
    assert scratch.read() == LEASES
    disk.number = 0
    scratch.write(LEASES[:1])
    assert scratch.trouble == "" and scratch.read() == LEASES[:1]
    scratch.close()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_process_starts_although_its_disk_takes_nothing_and_has_the_file_to_itself_later(
    disk: Disk, tmp_path: Path, number: int
) -> None:
    disk.number = number
    scratch = Scratch(tmp_path / "leases")
    assert scratch.read() == () and os.strerror(number) in scratch.trouble
    scratch.write(LEASES)
    assert scratch.trouble
    disk.number = 0
    scratch.write(LEASES)
    assert scratch.trouble == ""
    with pytest.raises(ScratchTakenError):
        Scratch(tmp_path / "leases")
    scratch.close()


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOTDIR, errno.EROFS])
def test_a_path_that_can_never_be_used_is_an_error(disk: Disk, tmp_path: Path, number: int) -> None:
    disk.number = number
    with pytest.raises(OSError, match=os.strerror(number)):
        Scratch(tmp_path / "leases")


def test_a_name_that_will_not_come_again_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "member.leases")
    scratch.write(LEASES)
    scratch.write(())
    scratch.remove()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_leases_that_are_kept_are_not_removed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "member.leases")
    scratch.write(LEASES)
    scratch.remove()
    scratch.close()
    found = Scratch(tmp_path / "member.leases")
    assert found.read() == LEASES
    found.close()
