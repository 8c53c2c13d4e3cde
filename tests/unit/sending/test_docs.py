"""docs/operations.md is true: its options exist, and its example lines are taken."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from support.tree import ROOT
from tidegate.cli import parser
from tidegate.sending.outgoing import from_json
from tidegate.sending.sensors import KINDS

TEXT = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (?:.*\| )?tidegate (send .*)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_is_understood(command: str) -> None:
    assert parser().parse_args(shlex.split(command)).hub == "telemetry"


def test_the_line_of_the_page_is_an_event() -> None:
    (line,) = re.findall(r"echo '(.*)' \|", TEXT)
    event = from_json(line.encode(), 1)
    assert json.loads(event.body) == {"t": 21.5}
    assert (event.key, event.properties) == ("home-7", {"n": 1})


def test_the_page_names_every_kind_of_sensor() -> None:
    names = [kind.name for kind in KINDS]
    assert f"{', '.join(names[:-1])} and {names[-1]}, keyed" in " ".join(TEXT.split())
