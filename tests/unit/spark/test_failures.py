"""What is said of a failure: the line that says most, whose fault it is, and what to do."""

from __future__ import annotations

import pytest

from tidegate.spark.failures import end_of_driver, failure_of, shortened

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
