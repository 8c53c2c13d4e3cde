"""The handler for a first try: it is found by its name, and prints a line for each batch."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidegate.handlers.loading import load


def test_a_line_is_printed_for_each_batch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = load("tidegate.handlers.printing:handle", tmp_path)
    assert not code.takes_one
    events = [SimpleNamespace(sequence_number=number) for number in (7, 8)]
    code.handle(events, SimpleNamespace(partition="3"))
    assert capsys.readouterr().out == "partition 3: 2 events, up to 8\n"


def test_a_line_is_one_write_so_that_no_other_partitions_line_can_come_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Written(io.StringIO):
        def write(self, text: str) -> int:
            writes.append(text)
            return len(text)

    writes: list[str] = []
    code = load("tidegate.handlers.printing:handle", tmp_path)
    monkeypatch.setattr(sys, "stdout", Written())
    code.handle([SimpleNamespace(sequence_number=8)], SimpleNamespace(partition="3"))
    assert writes == ["partition 3: 1 events, up to 8\n"]
