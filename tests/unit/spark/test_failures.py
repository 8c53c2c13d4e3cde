"""What is said of a failure: the line that says most, whose fault it is, and what to do."""

from __future__ import annotations

import importlib
import json
import pkgutil

import pytest

import tidegate.sources
from tidegate.ports import SourceError
from tidegate.slices.shape import SliceStorageError
from tidegate.spark.desk_client import RefusedError
from tidegate.spark.failures import (
    OF_NO_EVENT,
    Failure,
    end_of_driver,
    failure_of,
    failure_of_error,
    shortened,
)

WORKER = """\
An error occurred while calling o88.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 4.0 failed 4 \
times, most recent failure: Lost task 0.3 in stage 4.0 (TID 19) (127.0.0.1 executor 0): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/venv/pyspark/worker.py", line 1900, in main
    process()
  File "/code/pipeline.py", line 7, in floor
    return 1 / value
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:561)
Caused by: org.apache.spark.api.python.PythonException: see above
"""
LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 2.0 failed "
    "4 times, most recent failure: Lost task 1.3: ExecutorLostFailure (executor 3 exited caused by "
    "one of the running tasks) Reason: Command exited with code {code}\n\tat scala.Foo"
)


def test_of_a_workers_traceback_the_line_of_the_users_error_is_said() -> None:
    failure = failure_of(WORKER)
    assert (failure.reason, failure.message, failure.blames_events) == (
        "PipelineFailed",
        "ZeroDivisionError: division by zero",
        True,
    )


@pytest.mark.parametrize("code", [3, 52, 137])
def test_an_executor_without_memory_is_no_fault_of_the_events(code: int) -> None:
    failure = failure_of(LOST.format(code=code))
    assert (failure.reason, failure.blames_events) == ("OutOfMemory", False)
    assert "Raise spec.spark.executor.memory" in failure.message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LOST.format(code=1), "ExecutorLost"),
        ("java.lang.OutOfMemoryError: Java heap space", "OutOfMemory"),
        ("Python worker exited unexpectedly (crashed)", "ExecutorLost"),
        ("py4j.protocol.Py4JNetworkError: Answer from Java side is empty", "DriverLost"),
        ("Job 7 cancelled part of cancelled job group 5", "Cancelled"),
    ],
)
def test_what_is_spark_s_own_is_told_apart(text: str, reason: str) -> None:
    failure = failure_of(text)
    assert (failure.reason, failure.blames_events) == (reason, False)


def test_an_error_without_a_traceback_is_its_first_line() -> None:
    assert shortened("\n  partition 3: event 12\n\tat java") == "partition 3: event 12"
    assert failure_of("KeyError: 'home'").blames_events


def test_nothing_that_is_said_is_without_end() -> None:
    assert len(shortened("x" * 10_000)) < 1000


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        (3, "DriverOutOfMemory", "Raise spec.spark.driver.memory"),
        (-9, "DriverKilled", "memoryOverhead"),
        (1, "DriverLost", "ended with code 1"),
        (None, "DriverLost", "does not answer"),
    ],
)
def test_the_end_of_the_driver_says_what_to_do(code: int | None, reason: str, said: str) -> None:
    failure = end_of_driver(code)
    assert failure.reason == reason
    assert said in failure.message


# --- whose fault it is


class Py4JError(Exception):
    """As Spark's line to Java raises it."""

    __module__ = "py4j.protocol"


def in_a_worker(raised: str, before: str = "") -> str:
    """Spark's text of what a worker raised, and of what came before it."""
    first = f"{before}\n\nThe above exception was the direct cause of the following exception:\n\n"
    told = (first if before else "") + (
        "Traceback (most recent call last):\n"
        '  File "/venv/reading_tasks.py", line 9, in read_task\n    raise it\n'
        f"{raised}\n"
    )
    return WORKER[: WORKER.index("Traceback")] + told + WORKER[WORKER.index("\n\tat") :]


def raised(error: BaseException, cause: BaseException | None = None) -> Failure:
    """What is said of an error that was raised."""
    try:
        raise error from cause
    except BaseException as caught:
        return failure_of_error(caught)


def test_an_error_that_has_no_text_and_a_chain_of_any_length_are_failures_of_the_pipeline() -> None:
    class BadText(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    assert raised(BadText()).message.startswith("BadText: (no text: its __str__ raised ValueError)")
    error: BaseException = ValueError("the first")
    for number in range(5_000):
        above = ValueError(str(number))
        above.__cause__, error = error, above
    assert raised(error, error.__cause__).message.startswith("ValueError: 4999")


@pytest.mark.parametrize("kind", OF_NO_EVENT)
def test_what_cannot_be_reached_is_no_fault_of_the_events(kind: str) -> None:
    module, _, name = kind.rpartition(".")
    if module.startswith("tidegate.spark."):
        pytest.importorskip("pyspark", reason="pyspark comes with the layer `spark`")
    found = getattr(importlib.import_module(module), name)
    # Tracebacks name it so: a class that moves must not be blamed on events.
    assert f"{found.__module__}.{found.__qualname__}" == kind
    text = in_a_worker(f"{kind}: the link is gone", "Traceback (most recent call last):\nOSError")
    failure = failure_of(text)
    assert (failure.reason, failure.blames_events) == (OF_NO_EVENT[kind], False)
    assert f"{name}: the link is gone" in failure.message


def test_every_error_of_a_source_is_known_to_be_no_fault_of_the_events() -> None:
    for module in pkgutil.walk_packages(tidegate.sources.__path__, "tidegate.sources."):
        importlib.import_module(module.name)
    found, new = {SourceError}, [SourceError]
    while new:
        below = [each for each in new.pop().__subclasses__() if each.__module__[:8] == "tidegate"]
        found.update(below)
        new += below
    names = {f"{each.__module__}.{each.__qualname__}" for each in found}
    assert names <= OF_NO_EVENT.keys(), names - OF_NO_EVENT.keys()


@pytest.mark.parametrize(
    "line",
    [
        "tidegate.spark.reading_tasks.UndecodableError: partition 0, event 2: no JSON",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "ValueError: order 17 was cancelled",
        "RuntimeError: ffmpeg ended with exit code 3",
        "homes.SourceError: of somebody else's",
        "homes.Broken",
        "AssertionError: OutOfMemoryError ExecutorLostFailure",
    ],
)
def test_what_the_users_code_raises_in_a_worker_is_decided_by_its_kind(line: str) -> None:
    failure = failure_of(in_a_worker(line))
    assert (failure.reason, failure.blames_events) == ("PipelineFailed", True)
    assert failure.message == line.replace("tidegate.spark.reading_tasks.", "").replace(
        "homes.", ""
    )


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        ValueError("order 17 was cancelled"),
        RuntimeError("ffmpeg ended with exit code 3"),
        RuntimeError("Python worker exited unexpectedly"),
        SystemExit("Traceback (most recent call last): of another one"),
    ],
)
def test_what_the_users_code_raises_in_the_driver_is_decided_by_its_kind(
    error: BaseException,
) -> None:
    failure = raised(error)
    assert (failure.reason, failure.blames_events) == ("PipelineFailed", True)
    assert failure.message.startswith(f"{type(error).__name__}: ")
    assert " (test_failures.py, line " in failure.message


def test_the_place_is_the_users_line_wherever_its_file_lies_and_not_that_of_a_library() -> None:
    code = compile("\nimport json\njson.loads('{')\n", "/etc/tidegate/handler/pipeline.py", "exec")
    with pytest.raises(json.JSONDecodeError) as caught:
        exec(code, {})
    assert " (pipeline.py, line 3)" in failure_of_error(caught.value).message


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Py4JError(LOST.format(code=1)), "ExecutorLost"),
        (Py4JError(in_a_worker("tidegate.ports.source.SourceError: gone")), "HubNotRead"),
        (SliceStorageError("no container"), "SlicesNotWritten"),
        (RefusedError("the batch was given up"), "OfficeRefused"),
        (MemoryError(), "OutOfMemory"),
    ],
)
def test_errors_that_are_no_fault_of_the_events_are_told_apart_by_their_kind(
    error: BaseException, reason: str
) -> None:
    failure = raised(error)
    assert (failure.reason, failure.blames_events) == (reason, False)


def test_a_pipeline_that_says_in_its_own_words_what_spark_told_it_blames_no_event() -> None:
    failure = raised(RuntimeError("no counts today"), Py4JError(LOST.format(code=1)))
    assert (failure.reason, failure.blames_events) == ("ExecutorLost", False)
    assert failure.message.startswith("RuntimeError: no counts today")
    assert raised(KeyError("home"), ValueError("no number")).blames_events
    assert not raised(KeyError("home"), SourceError("gone")).blames_events


def test_a_frame_that_one_job_reads_twice_says_what_to_do() -> None:
    said = "tidegate.spark.reading_tasks.ReadElsewhereError: partition 3: another attempt reads it"
    failure = failure_of(in_a_worker(said))
    assert (failure.reason, failure.blames_events) == ("ReadTwice", False)
    assert "df.persist(); df.count()" in failure.message


def test_memory_names_who_is_to_have_more() -> None:
    assert "spec.spark.executor.memory" in failure_of(in_a_worker("MemoryError")).message
    assert "spec.spark.driver.memoryOverhead" in raised(MemoryError()).message
