"""The log: one record a line, readable for whoever reads it, at levels that let people sleep."""

from __future__ import annotations

import errno
import io
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.ops_facts import NOW, handled
from tidegate.member.messages import Report
from tidegate.ops import logs
from tidegate.ops import observer as facts
from tidegate.ops.secrets import Secrets


@pytest.fixture
def top() -> Iterator[logging.Logger]:
    """The root logger, given back as it was."""
    top = logging.getLogger()
    before, level = list(top.handlers), top.level
    yield top
    top.handlers[:] = before
    top.setLevel(level)
    logging.getLogger("tidegate").setLevel(logging.NOTSET)


def said(*told: facts.Fact, level: str = "INFO") -> list[dict[str, Any]]:
    """What these facts become in JSON."""
    stream = io.StringIO()
    logs.set_up(Secrets(), level=level, as_json=True, stream=stream)
    listener = logs.Logged("home-activity", "pod-1")
    for fact in told:
        listener.hear(fact)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_is_one_line_of_json_with_its_place(top: logging.Logger) -> None:
    (line,) = said(facts.ReaderOpened(NOW, "3", 7))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "logger": "tidegate.group",
        "group": "home-activity",
        "member": "pod-1",
        "partition": "3",
        "epoch": 7,
        "message": "reading",
    }


def test_a_message_of_many_lines_stays_one_record(top: logging.Logger) -> None:
    (line,) = said(facts.BatchFailed(NOW, "3", 10, 2, "ValueError: bad\n  in handler.py:12"))
    assert line["message"].endswith("attempt 2: ValueError: bad\n  in handler.py:12")


@pytest.mark.parametrize(
    ("fact", "level"),
    [
        (facts.ReaderClosed(NOW, "3", "closed"), "info"),
        (facts.ReaderClosed(NOW, "3", "stolen"), "warning"),
        (facts.BatchFailed(NOW, "3", 10, 1, "x"), "warning"),
        (facts.BatchFailed(NOW, "3", 10, 9, "x", is_stuck=True), "error"),
        (facts.BatchFailed(NOW, "3", 10, 1, "x", is_hung=True), "error"),
        (facts.Reported(NOW, Report("dead-letter", "3", "is at blob dead/3")), "error"),
        (facts.Reported(NOW, Report("stuck", "3", "the handler fails")), "error"),
        (facts.Reported(NOW, Report("unstuck", "3", "it goes on")), "info"),
        (facts.Reported(NOW, Report("rewound", "3", "to 7")), "info"),
        (facts.Reported(NOW, Report("lapsed", "3", "late")), "warning"),
        (facts.Reported(NOW, Report("halted", "3", "corrupt")), "error"),
    ],
)
def test_the_level_says_whether_anybody_must_look(
    top: logging.Logger, fact: facts.Fact, level: str
) -> None:
    (line,) = said(fact)
    assert line["level"] == level


def test_who_loses_a_reader_to_another_group_is_told_what_to_do(top: logging.Logger) -> None:
    (line,) = said(facts.ReaderClosed(NOW, "3", "stolen"))
    assert line["message"].startswith("reader stolen: the source gave the partition to a reader")
    assert line["message"].endswith("give each a consumer group of its own")


def test_batches_and_renewals_are_no_lines_and_checkpoints_only_for_debugging(
    top: logging.Logger,
) -> None:
    checkpoint = facts.CheckpointWritten(NOW, "3", handled("3", 9).position, None, 0.01, 0)
    told = (handled("3", 9), facts.LeaseRenewed(NOW, "3", 0.01), checkpoint)
    assert said(*told) == []
    assert [line["message"] for line in said(*told, level="DEBUG")] == ["checkpoint"]


def test_a_reader_that_fails_is_one_line_and_not_two(top: logging.Logger) -> None:
    report = Report("reader-failed", "3", "the hub is not there")
    lines = said(facts.ReaderClosed(NOW, "3", "failed"), facts.Reported(NOW, report))
    assert [line["message"] for line in lines] == ["the hub is not there"]


def test_a_terminal_gets_words_and_everything_else_json(top: logging.Logger) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, is_json in ((Screen(), False), (io.StringIO(), True)):
        logs.set_up(Secrets(), stream=stream)
        logging.getLogger("tidegate.x").warning("late")
        line = stream.getvalue().rstrip("\n")
        assert line.startswith("{") is is_json
        assert "late" in line


def test_libraries_below_us_speak_from_warnings_on(top: logging.Logger) -> None:
    stream = io.StringIO()
    logs.set_up(Secrets(), as_json=True, stream=stream)
    logging.getLogger("azure.core").info("every header of every request")
    logging.getLogger("azure.core").warning("a retry")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["a retry"]


@pytest.mark.parametrize("as_json", [False, True])
def test_what_is_said_while_python_ends_is_a_line_as_well(as_json: bool) -> None:
    """Nothing can be imported by then, not even by the standard library."""
    program = (
        "import logging, sys\n"
        "from tidegate.ops import logs\n"
        "from tidegate.ops.secrets import Secrets\n"
        f"logs.set_up(Secrets(), as_json={as_json}, stream=sys.stderr)\n"
        "class Late:\n"
        "    log = logging.getLogger('tidegate.late')\n"
        "    def __del__(self):\n"
        "        self.log.warning('said late')\n"
        "late = Late()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    (line,) = ended.stderr.splitlines()
    assert "said late" in line


class Disk(io.StringIO):
    """The log's file, on a disk that can be full."""

    is_full = False

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_a_log_whose_disk_is_full_stops_nothing_and_tells_later_what_was_lost(
    top: logging.Logger,
) -> None:
    stream = Disk()
    logs.set_up(Secrets(), as_json=True, stream=stream)
    log = logging.getLogger("tidegate.x")
    log.warning("before")
    stream.is_full = True
    for _ in range(3):
        log.warning("lost")
    stream.is_full = False
    log.warning("after")
    log.warning("later")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == [
        "before", "after", "3 lines of the log are lost: it could not be written", "later",
    ]  # fmt: skip


def test_a_line_that_cannot_be_made_names_its_place_and_shows_no_argument(
    top: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    logs.set_up(Secrets(["hunter2-hunter2"]), as_json=True, stream=stream)
    logging.getLogger("tidegate.x").warning("%d", "hunter2-hunter2")
    assert "test_logs.py" in stream.getvalue() and "cannot be made" in stream.getvalue()
    assert "hunter2" not in stream.getvalue() + "".join(capsys.readouterr())


LONG = "eyJ-" * 250_000


def log_long_arguments(log: logging.Logger) -> None:
    log.warning("%s and %s", LONG, LONG)
    log.warning("%(text)s", {"text": LONG})
    log.warning("%r", LONG.encode())
    log.warning(LONG)
    log.warning("in a field", extra={"tidegate": {"deep": [{"text": LONG}]}})


def log_long_errors(log: logging.Logger) -> None:
    many = ExceptionGroup("many", [ValueError(LONG) for _ in range(10_000)])
    error: BaseException = many
    for _ in range(10_000):
        above = ValueError("above")
        above.__context__ = error
        error = above
    log.warning("failed: %s", ValueError(LONG), exc_info=error)
    log.warning("failed", exc_info=many)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("say", [log_long_arguments, log_long_errors])
def test_a_line_costs_little_whatever_is_logged(
    top: logging.Logger, say: Callable[[logging.Logger], None], as_json: bool
) -> None:
    stream = io.StringIO()
    logs.set_up(Secrets(["hunter2-hunter2"]), as_json=as_json, stream=stream)
    began = time.thread_time()
    say(logging.getLogger("tidegate.x"))
    assert time.thread_time() - began < 0.5
    written = stream.getvalue()
    assert "left out" in written and "cannot be made" not in written
    assert len(written) < 200_000


def test_a_line_that_cannot_be_made_for_an_error_that_cannot_be_said_is_one_line(
    top: logging.Logger,
) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise self

    class Mute:
        def __str__(self) -> str:
            raise MuteError

    stream = io.StringIO()
    logs.set_up(Secrets(), as_json=True, stream=stream)
    logging.getLogger("tidegate.x").warning("%s", Mute())
    assert "cannot be made: MuteError: (no text: its __str__ raised MuteError)" in stream.getvalue()
