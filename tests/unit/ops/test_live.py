"""The live view as text: what it says, on wide and narrow terminals, with few and many rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.ops_facts import NOW, WALL, board_of, listing
from tidegate.ops import observer as facts
from tidegate.ops.board import Board
from tidegate.ops.live import (
    ShownLine,
    Style,
    clip,
    ranges,
    screen,
    seconds_text,
    text_width,
)


def shown(board: Board, *log: str, columns: int = 100, rows: int = 30) -> list[ShownLine]:
    return screen(board, log, group="home-activity", columns=columns, rows=rows, now=NOW, wall=WALL)


def texts(board: Board, *log: str, columns: int = 100, rows: int = 30) -> list[str]:
    return [line.text.rstrip() for line in shown(board, *log, columns=columns, rows=rows)]


def test_a_wide_terminal_shows_who_owns_what_how_fast_and_how_far_behind() -> None:
    assert texts(board_of(4, 2), "12:00:00 reading", columns=90) == [
        "home-activity · pod-1 · 2 members · 4 of 4 partitions owned, 2 here · 200 events/s",
        "lag 200 · behind 2.0 s",
        "",
        "partition  owner  events/s  lag  behind  position  epoch",
        "0          pod-1       100  100   2.0 s       999      7",
        "1          pod-1       100  100   2.0 s       999      7",
        "2          pod-2         ·    ·       ·         ·      ·",
        "3          pod-2         ·    ·       ·         ·      ·",
        "",
        "12:00:00 reading",
    ]


def test_a_narrow_terminal_keeps_owner_and_lag() -> None:
    assert texts(board_of(2, 1), columns=32)[-3:] == [
        "partition  owner  lag",
        "0          pod-1  100",
        "1          pod-2    ·",
    ]


def test_trouble_is_said_in_its_row_and_stands_out_also_where_it_is_narrow() -> None:
    board = board_of(2, 2)
    board.hear(facts.BatchFailed(NOW, "1", 10, 4, "ValueError: bad reading", is_stuck=True))
    for columns in (100, 40):
        (line,) = (line for line in shown(board, columns=columns) if "Stuck: " in line.text)
        assert line.text.startswith("1 ")
        assert line.style is Style.BAD


def test_a_partition_that_nobody_owns_says_so() -> None:
    board = board_of(2, 1)
    board.hear(facts.Listed(NOW, listing({"0": "pod-1", "1": None}, ("pod-1",))))
    lines = shown(board)
    assert "1 member · 1 of 2 partitions owned, 1 here" in lines[0].text
    (line,) = (line for line in lines if "nobody" in line.text)
    assert line.style is Style.WARNING


def test_where_rows_are_short_ours_in_trouble_are_shown_and_the_rest_is_counted() -> None:
    board = board_of(64, 32)
    board.hear(facts.BatchFailed(NOW, "31", 10, 4, "ValueError", is_stuck=True))
    lines = texts(board, *["12:00:00 a line"] * 50, rows=16)
    assert len(lines) <= 16
    body = [line for line in lines if line.startswith(tuple("0123456789")) and "pod-1" in line]
    assert any(line.startswith("31 ") for line in body)
    assert f"and {32 - len(body)} more here" in lines
    assert "pod-2: 32-63" in lines
    assert lines.count("12:00:00 a line") >= 1


def test_before_anything_is_known_it_says_so() -> None:
    assert texts(Board("pod-1")) == [
        "home-activity · pod-1 · the ledger has not been read yet",
        "",
        "no partitions are known yet",
    ]


def test_a_listing_that_is_old_is_said_to_be_old() -> None:
    board = board_of(2, 1)
    board.hear(facts.Listed(NOW - 45, listing({"0": "pod-1"}, ("pod-1",))))
    assert any("the ledger was last read 45 s ago" in line for line in texts(board))


def test_stopping_and_joining_are_said() -> None:
    board = board_of(2, 1)
    board.hear(facts.Listed(NOW, listing({"0": "pod-1"}, ())))
    assert "joining" in texts(board)[0]
    board.hear(facts.Stopping(NOW))
    assert "stopping" in texts(board)[0]
    assert "joining" not in texts(board)[0]


names = st.text(min_size=1, max_size=40)


@given(
    st.integers(1, 200), st.integers(1, 60), st.integers(0, 70), st.integers(0, 70), names,
    st.lists(names, max_size=30),
)  # fmt: skip
def test_it_is_never_wider_or_higher_than_the_terminal(
    columns: int, rows: int, partitions: int, ours: int, name: str, log: list[str]
) -> None:
    board = board_of(partitions, min(ours, partitions), name=name)
    lines = shown(board, *log, columns=columns, rows=rows)
    assert len(lines) <= rows
    for line in lines:
        assert text_width(line.text) <= columns
        assert line.text.isprintable()


@given(st.text(max_size=60), st.integers(1, 40))
def test_nothing_that_a_text_carries_steers_the_terminal(text: str, columns: int) -> None:
    kept = clip(f"{text}\x1b[2J\x07", columns)
    assert "\x1b" not in kept
    assert "\x07" not in kept
    assert text_width(kept) <= columns


def test_wide_letters_take_two_columns() -> None:
    assert clip("警報警報", 5) == "警報…"
    assert text_width("警報") == 4


@pytest.mark.parametrize(
    ("partitions", "text"),
    [(["0", "1", "2", "9"], "0-2 9"), (["10", "9", "a-b"], "9-10 a-b"), ([], "")],
)
def test_neighbours_are_written_together(partitions: list[str], text: str) -> None:
    assert ranges(partitions) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (1.24, "1.2 s"), (45, "45 s"), (600, "10 min"), (9_000, "2.5 h")],
)
def test_a_time_is_said_in_the_unit_that_says_most(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
