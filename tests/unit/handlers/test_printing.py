"""The handler for a first try: it is found by its name, and prints a line for each batch."""

from __future__ import annotations

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
