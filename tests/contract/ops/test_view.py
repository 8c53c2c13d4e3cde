"""The live view on a real terminal: what a person sees, and what is left when it ends."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import support.view_program
from support.terminal_person import Person, a_person
from support.view_program import SECRET

_PROGRAM = Path(support.view_program.__file__)

pytestmark = pytest.mark.slow


def looking(columns: int, rows: int, **environment: str) -> AbstractContextManager[Person]:
    path = os.pathsep.join([str(_PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(_PROGRAM)]
    return a_person(command, columns, rows, PYTHONPATH=path, **environment)


def end(person: Person) -> int:
    """Lets the program end as it does by itself."""
    os.write(person.terminal, b"\n")
    return person.ended()


def test_a_person_sees_the_group_and_what_handlers_say_and_no_secret() -> None:
    with looking(100, 24) as person:
        # Rows of one picture come one after the other: all are waited for.
        rows = person.wait_to_see(
            "1,234", "4 of 4 partitions owned", "3  ", "a handler prints ***", "a handler warns of"
        )
        assert rows[0].startswith("home-activity · pod-1 · 2 members · 4 of 4 partitions owned")
        (ours,) = (row for row in rows if row.startswith("0 "))
        assert ours.split()[:2] == ["0", "pod-1"]
        (theirs,) = (row for row in rows if row.startswith("3 "))
        assert theirs.split()[:2] == ["3", "pod-2"]
        assert "a handler prints ***" in rows
        assert end(person) == 0
        assert SECRET not in person.written


def test_the_last_lines_stay_where_they_can_be_scrolled_to() -> None:
    with looking(80, 24) as person:
        person.wait_to_see("a handler warns of")
        assert end(person) == 0
        after = person.written.rpartition("\x1b[?1049l")[2]
        assert "a handler prints ***" in after
        assert after.rstrip().endswith("it has ended")


def test_a_narrow_terminal_is_not_broken() -> None:
    with looking(30, 12) as person:
        rows = person.wait_to_see("home-activity · pod-1", "pod-1 ")
        assert rows[0] == "home-activity · pod-1"
        assert ["partition", "owner", "lag"] in [row.split() for row in rows]
        assert end(person) == 0


def test_a_terminal_of_another_size_is_drawn_anew() -> None:
    with looking(100, 24) as person:
        person.wait_to_see("1,234")
        person.resize(40, 12)
        person.wait_to_see("home-activity · pod-1 · 2 members")
        assert end(person) == 0


def test_a_terminal_that_can_do_nothing_gets_plain_lines() -> None:
    with looking(100, 24, TERM="dumb") as person:
        person.wait_to_see("a handler warns of ***")
        assert end(person) == 0
        assert "\x1b" not in person.written
