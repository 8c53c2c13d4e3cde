"""Drawing, seen by a terminal (pyte): what stands on the screen, how little is written for it."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import pty
import termios
import threading
from collections.abc import Iterator, Sequence

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.wait import wait_until, wait_until_async
from tidegate.ops.around import OpsSettings, around
from tidegate.ops.live import ShownLine, Style
from tidegate.ops.terminal import Picture, Terminal

COLUMNS, ROWS = 20, 5
SIZE = (COLUMNS, ROWS)


def lines_of(*texts: str) -> list[ShownLine]:
    return [ShownLine(text) for text in texts]


class Seen:
    """A terminal and the picture that is drawn on it."""

    def __init__(self, *, has_colours: bool = False) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self.screen)
        self.picture = Picture(has_colours=has_colours)

    def draw(self, lines: Sequence[ShownLine], size: tuple[int, int] = SIZE) -> str:
        written = self.picture.change(lines, size)
        self._stream.feed(written)
        return written

    @property
    def text(self) -> list[str]:
        rows: list[str] = self.screen.display
        return [row.rstrip() for row in rows]


pictures = st.lists(
    st.lists(st.text(alphabet="ab -", max_size=COLUMNS), max_size=ROWS).map(
        lambda texts: lines_of(*texts)
    ),
    max_size=6,
)


@given(pictures)
def test_the_screen_shows_the_last_picture_whatever_was_drawn_before(
    drawn: list[list[ShownLine]],
) -> None:
    seen = Seen()
    for lines in drawn:
        seen.draw(lines)
        texts = [line.text.rstrip() for line in lines]
        assert seen.text == texts + [""] * (ROWS - len(texts))


def test_only_rows_that_changed_are_written_and_nothing_is_cleared() -> None:
    seen = Seen()
    seen.draw(lines_of("one", "two", "three"))
    written = seen.draw(lines_of("one", "2", "three"))
    assert "one" not in written
    assert "three" not in written
    assert "\x1b[2J" not in written
    assert "\x1b[K" not in written
    assert seen.draw(lines_of("one", "2", "three")) == ""


def test_a_change_is_one_picture_for_terminals_that_can_wait_for_its_end() -> None:
    written = Seen().draw(lines_of("one"))
    assert written.startswith("\x1b[?2026h")
    assert written.endswith("\x1b[?2026l")


def test_a_new_size_draws_everything_anew() -> None:
    seen = Seen()
    seen.draw(lines_of("one", "two"))
    seen.screen.resize(4, 30)
    written = seen.draw(lines_of("one", "two"), (30, 4))
    assert "one" in written
    assert seen.text[:2] == ["one", "two"]


def test_a_full_row_at_the_edge_does_not_lose_its_last_letter() -> None:
    seen = Seen()
    seen.draw(lines_of("x" * COLUMNS, "y" * COLUMNS))
    assert seen.text[:2] == ["x" * COLUMNS, "y" * COLUMNS]


def test_colours_are_those_of_the_line_and_end_with_it() -> None:
    seen = Seen(has_colours=True)
    seen.draw([ShownLine("bad", Style.BAD), ShownLine("plain")])
    assert seen.screen.buffer[0][0].fg == "red"
    assert seen.screen.buffer[1][0].fg == "default"
    assert "\x1b[31m" not in Seen().draw([ShownLine("bad", Style.BAD)])


def test_the_terminal_is_given_back_as_it_was() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, has_colours=False)
    terminal.open()
    terminal.show(lines_of("one"), SIZE)
    wait_until(lambda: "one" in stream.getvalue(), 5, "the picture to be drawn")
    assert terminal.close()
    written = stream.getvalue()
    assert written.startswith("\x1b[?1049h\x1b[?25l")
    assert written.endswith("\x1b[?25h\x1b[?1049l")


class Stopped(io.StringIO):
    """A terminal that takes nothing until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.is_asked = threading.Event()

    def write(self, text: str) -> int:
        self.is_asked.set()
        assert self.go_on.wait(30)
        return super().write(text)


def test_a_terminal_that_takes_nothing_holds_up_nobody_and_shows_the_newest_later() -> None:
    stream = Stopped()
    terminal = Terminal(stream, has_colours=False)
    terminal.open()
    assert stream.is_asked.wait(30)
    for number in range(1_000):
        terminal.show(lines_of(f"picture {number}"), SIZE)
    assert not terminal.close()
    stream.go_on.set()
    wait_until(lambda: stream.getvalue().endswith("1049l"), 5, "the terminal to be given back")
    assert "picture 999" in stream.getvalue()
    assert "picture 998" not in stream.getvalue()


class Gone(io.StringIO):
    """A terminal whose other end was closed."""

    def write(self, text: str) -> int:
        raise OSError("Input/output error")


def test_a_terminal_that_has_gone_away_ends_the_drawing_and_nothing_else() -> None:
    terminal = Terminal(Gone(), has_colours=False)
    terminal.open()
    terminal.show(lines_of("one"), SIZE)
    assert not terminal.close(), "nobody is to print to it after that"
    assert not terminal._thread.is_alive()


@pytest.fixture
def logging_restored() -> Iterator[None]:
    top, ours = logging.getLogger(), logging.getLogger("tidegate")
    before = list(top.handlers), top.level, ours.level
    yield
    top.handlers[:] = before[0]
    top.setLevel(before[1])
    ours.setLevel(before[2])


@pytest.mark.usefixtures("logging_restored")
async def test_a_view_that_is_left_by_force_leaves_the_log_and_its_counts_on_the_terminal() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    os.set_blocking(master, False)
    errors, shown = io.StringIO(), bytearray()

    def is_shown() -> bool:
        with contextlib.suppress(BlockingIOError):
            shown.extend(os.read(master, 1 << 16))
        return shown.rpartition(b"\x1b[?1049l")[2].count(b"storage does not answer") == 5

    with os.fdopen(slave, "w") as output:
        async with around(
            OpsSettings(has_traces=False),
            member="a",
            group="home-activity",
            hub="telemetry",
            secrets=(),
            environment={"TERM": "xterm"},
            output=output,
            errors=errors,
        ) as ops:
            for _ in range(50):
                logging.getLogger("tidegate.x").warning("storage does not answer")
            await asyncio.to_thread(ops.leave_view)
            await wait_until_async(is_shown, 20, "the last lines of the log")
            assert "repeated 45 times" in errors.getvalue()
    os.close(master)
