"""Lines of the log that repeat each other: few are written, and every one is counted."""

from __future__ import annotations

import gc
import io
import json
import logging
import re
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.member.messages import Report
from tidegate.ops import logs
from tidegate.ops import observer as facts
from tidegate.ops.repeats import MOST, MOST_KEYS, PERIOD_S, Repeats
from tidegate.ops.secrets import Secrets
from tidegate_http.shutdown import CUT


@given(st.lists(st.tuples(st.floats(0, 40), st.integers(0, 3)), max_size=300))
def test_every_line_is_written_or_counted_and_the_first_of_a_period_is_written(
    steps: list[tuple[float, int]],
) -> None:
    repeats: Repeats[int] = Repeats()
    now, written, counted = 0.0, 0, 0
    began: dict[int, float] = {}
    for pause, key in steps:
        now += pause
        for left in repeats.due(now):
            counted += left.count
            assert left.seconds >= PERIOD_S
        is_first = key not in began or now - began[key] >= PERIOD_S
        is_written = repeats.take(key, key, now)
        if is_first:
            assert is_written
            began[key] = now
        written += is_written
    counted += sum(left.count for left in repeats.rest(now))
    assert written + counted == len(steps)


def test_of_one_key_at_most_so_many_are_written_in_a_period() -> None:
    repeats: Repeats[str] = Repeats()
    taken = [repeats.take("k", str(number), 0.1 * number) for number in range(500)]
    assert sum(taken) == MOST and all(taken[:MOST])
    (left,) = repeats.due(60.0)
    assert (left.count, left.line, left.seconds) == (495, "499", 60.0)
    assert repeats.take("k", "again", 60.0)


def test_its_memory_is_bounded_and_what_is_forgotten_is_counted_first() -> None:
    repeats: Repeats[int] = Repeats()
    counted = 0
    for number in range(3 * MOST_KEYS):
        counted += sum(left.count for left in repeats.due(0.0))
        for _ in range(MOST + 2):
            repeats.take(number, number, 0.0)
        assert len(repeats._runs) <= MOST_KEYS + 1
    counted += sum(left.count for left in repeats.rest(0.0))
    assert counted == 2 * 3 * MOST_KEYS


class Log:
    """All logging of the process, to a stream, with its own clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stream = io.StringIO()
        self.handler = logs.Output(self.stream, Secrets(), lambda: self.now)
        self.handler.setFormatter(logs.Lines(Secrets(), as_json=True))
        top = logging.getLogger()
        top.addHandler(self.handler)
        logging.getLogger("tidegate").setLevel("INFO")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def messages(self) -> list[str]:
        return [line["message"] for line in self.lines()]


@pytest.fixture
def log() -> Iterator[Log]:
    top = logging.getLogger()
    before, level = list(top.handlers), top.level
    made = Log()
    yield made
    made.handler.close()
    top.handlers[:] = before
    top.setLevel(level)
    logging.getLogger("tidegate").setLevel(logging.NOTSET)


def fails(listener: logs.Logged, first: int, end: int, partition: str = "3") -> None:
    """What a handler that always fails makes members report."""
    for number in range(first, end):
        listener.hear(facts.BatchFailed(0.0, partition, 1, number % 2 + 1, "TypeError: a bug"))
        text = (
            f"{partition}/{number}: TypeError: a bug: is at deadletters/{partition}/{number}.json"
        )
        listener.hear(facts.Reported(0.0, Report("dead-letter", partition, text)))


def test_lines_of_a_partition_that_differ_in_numbers_are_limited_and_counted(log: Log) -> None:
    listener = logs.Logged("home-activity", "pod-1")
    fails(listener, 0, 400)
    fails(listener, 0, 3, partition="4")
    assert len(log.lines()) == 2 * MOST + 6, "for each partition"
    log.now = PERIOD_S
    fails(listener, 400, 401)
    counts = log.lines()[2 * MOST + 6 :]
    assert [(line["message"][:23], line.get("kind"), line["partition"]) for line in counts] == [
        ("repeated 395 times in 6", None, "3"),
        ("repeated 395 times in 6", "dead-letter", "3"),
        ("the handler failed with", None, "3"),
        ("3/400: TypeError: a bug", "dead-letter", "3"),
    ]
    assert re.fullmatch(
        r"repeated 395 times in 60 s: 3/399: TypeError: a bug: is at \S+", counts[1]["message"]
    )
    assert counts[1]["level"] == "error" and counts[1]["repeated"] == 395


def test_another_cause_is_written_at_once(log: Log) -> None:
    listener = logs.Logged("home-activity", "pod-1")
    for _ in range(100):
        listener.hear(facts.BatchFailed(0.0, "3", 1, 1, "TypeError: a bug"))
    listener.hear(facts.BatchFailed(0.0, "3", 1, 1, "ValueError: another"))
    assert len(log.lines()) == MOST + 1
    assert "another" in log.messages()[-1]


def test_so_is_another_error_of_the_same_class_under_the_same_words(log: Log) -> None:
    console = logging.getLogger("tidegate_operator.page")
    for words in (*["a bug"] * 100, "another"):
        try:
            raise ValueError(words)
        except ValueError:
            console.exception("what is new could not be shown")
    assert len(log.lines()) == MOST + 1
    assert "ValueError: another" in log.lines()[-1]["error"]


def test_lines_without_a_partition_repeat_only_where_they_are_the_same(log: Log) -> None:
    operator = logging.getLogger("tidegate.operator")
    for number in range(20):
        operator.warning("group home-%d cannot be read", number)
        operator.warning("the API server does not answer")
    assert len(log.lines()) == 20 + MOST


def test_lines_of_other_code_are_left_alone(log: Log) -> None:
    for _ in range(100):
        logging.getLogger("my.handler").warning("an event")
    assert len(log.lines()) == 100


def test_what_a_handler_that_changes_counted_is_written_by_the_next(log: Log) -> None:
    for _ in range(50):
        logging.getLogger("tidegate.x").warning("the same")
    stream = io.StringIO()
    logs.set_up(Secrets(), as_json=True, stream=stream)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["message"] == "repeated 45 times in 0 s: the same"


def test_nothing_is_lost_at_the_end_of_the_process() -> None:
    program = (
        "import logging, sys\n"
        "from tidegate.ops import logs\n"
        "from tidegate.ops.secrets import Secrets\n"
        "logs.set_up(Secrets(), as_json=False, stream=sys.stderr)\n"
        "for number in range(812):\n"
        "    logging.getLogger('tidegate.x').warning('the same')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    lines = ended.stderr.splitlines()
    assert len(lines) == MOST + 1
    assert re.search(r"warning: repeated 807 times in \d+ s: the same\b", lines[-1])


def test_nothing_is_lost_where_the_process_is_ended_by_force() -> None:
    program = """
import logging, os, signal, sys, time
from tidegate.commands.last_words import say_and_leave
from tidegate.ops import logs
from tidegate.ops.secrets import Secrets
from tidegate_http.shutdown import SHUTDOWN, Listener

logs.set_up(Secrets(), as_json=False, stream=sys.stderr)
SHUTDOWN.begin(say_and_leave)
with SHUTDOWN.listening(Listener(lambda _: None), 60.0):
    for number in range(812):
        logging.getLogger("tidegate.x").warning("the same")
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        time.sleep(60)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == CUT
    assert "ended by force: asked a second time" in ended.stderr
    assert re.search(r"warning: repeated 807 times in \d+ s: the same\b", ended.stderr)


def test_the_count_does_not_wait_for_the_next_line(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Timer:
        def __init__(self, seconds: float, act: Any) -> None:
            self.act, self.daemon = act, False

        def start(self) -> None:
            assert self.daemon, "it holds up no end"
            started.append(self)

        def cancel(self) -> None:
            pass

    monkeypatch.setattr("tidegate.ops.logs.threading.Timer", Timer)
    for _ in range(50):
        logging.getLogger("tidegate.x").warning("the same")
    assert len(started) == 1
    log.now = 59.0
    started[0].act()
    assert len(log.lines()) == MOST and len(started) == 2
    log.now = 61.0
    started[1].act()
    assert log.messages()[-1] == "repeated 45 times in 61 s: the same"
    assert len(started) == 2


def test_a_process_that_may_start_no_more_threads_logs_all_the_same(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    for _ in range(50):
        logging.getLogger("tidegate.x").warning("the same")
    log.now = PERIOD_S
    logging.getLogger("tidegate.x").warning("the same")
    assert log.messages()[MOST] == "repeated 45 times in 60 s: the same"


def test_a_count_shows_no_half_of_a_secret(log: Log) -> None:
    secret = "c2VjcmV0LWtleS0xMjM0NTY3ODk="
    hiding = logs.Output(log.stream, Secrets([secret]), lambda: log.now)
    hiding.setFormatter(logs.Lines(Secrets([secret]), as_json=True))
    logging.getLogger().handlers[:] = [hiding]
    for _ in range(50):
        logging.getLogger("tidegate.x").warning("%s key %s", "x" * 385, secret)
    hiding.close()
    assert "repeated 45 times" in log.messages()[-1]
    assert "c2Vj" not in log.stream.getvalue()


def test_a_long_line_is_cut_before_it_is_put_together_compared_and_kept(log: Log) -> None:
    logging.getLogger().handlers[:] = [log.handler]
    tracemalloc.start()
    try:
        for number in range(20):
            logging.getLogger("azure.x").warning("%s", f"{number} " + "x" * 8_000_000)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(log.lines()) == 20
    assert most < 20_000_000, "the line itself, and no copy of it"
    assert kept < 4_000_000, "what is kept of a line to count others is short"


def test_what_is_counted_keeps_no_frames_alive(log: Log) -> None:
    class Large:
        pass

    def raises() -> weakref.ref[Large]:
        large = Large()
        try:
            raise ValueError
        except ValueError:
            logging.getLogger("tidegate.x").exception("the same")
        return weakref.ref(large)

    logging.getLogger().handlers[:] = [log.handler]
    kept = [raises() for _ in range(20)]
    gc.collect()
    assert [each() for each in kept] == [None] * 20
