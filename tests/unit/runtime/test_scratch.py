"""What a process leaves for its next life in the same place, and for nobody else."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.parametrize("content", ["", "{", "[1]", '"text"'])
def test_a_file_that_cannot_be_read_is_one_with_nothing_in_it(tmp_path: Path, content: str) -> None:
    (tmp_path / "leases").write_text(content, encoding="utf-8")
    scratch = Scratch(tmp_path / "leases")
    assert scratch.read() == ()
    scratch.close()
