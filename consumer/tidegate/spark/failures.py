"""What Spark says of a failure, in words for people: what happened and what to do. Pure.

Rules: the end of a Python traceback says more than the Java around it. A failure that is no fault
of the events (an executor was lost, memory ran out) is told apart, so that no event is put aside
for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_LONGEST = 700
_MEMORY = re.compile(
    r"OutOfMemoryError|OOMKilled|MemoryError|exit(?:ed)?(?: with)?(?: exit)? code:? (?:3|52|137)\b",
    re.IGNORECASE,
)
_LOST = re.compile(
    r"ExecutorLostFailure|ExecutorDeadException|worker lost|Python worker exited unexpectedly"
    r"|Could not find CoarseGrainedScheduler|FetchFailed|MetadataFetchFailed"
    r"|executor .{0,40}(?:heartbeat timed out|decommission)"
)
_GONE = re.compile(r"Py4JNetworkError|Answer from Java side is empty|Connection refused")
_CANCELLED = re.compile(r"cancelled|InterruptedException", re.IGNORECASE)
# The last line of a Python traceback, which has no blank at its beginning.
_RAISED = re.compile(
    r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Interrupt|Exit|Failure))(?:: (.*))?$", re.M
)
_TRACEBACK = "Traceback (most recent call last)"

MORE_MEMORY = (
    "Raise spec.spark.executor.memory (the heap) or memoryOverhead (its Python workers), or lower "
    "spec.spark.maxEvents"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a batch or a query failed."""

    # In one word: of a metric and of a condition.
    reason: str
    message: str
    # Whether what the events say may be the cause.
    blames_events: bool = True


def failure_of(text: str) -> Failure:
    """What a text of Spark's, or of the pipeline, means."""
    said = shortened(text)
    if _MEMORY.search(text):
        return Failure(
            "OutOfMemory",
            f"an executor had too little memory: {said} {MORE_MEMORY}.",
            blames_events=False,
        )
    if _GONE.search(text):
        return Failure("DriverLost", f"Spark's driver does not answer: {said}", blames_events=False)
    if _LOST.search(text):
        return Failure("ExecutorLost", f"executors were lost: {said}", blames_events=False)
    if _CANCELLED.search(said):
        return Failure("Cancelled", said, blames_events=False)
    return Failure("PipelineFailed", said)


def shortened(text: str) -> str:
    """The one line of it that says most."""
    begin = text.rfind(_TRACEBACK)
    raised = list(_RAISED.finditer(text, begin)) if begin >= 0 else []
    if raised:
        # Spark wraps what was raised first in errors of its own, which come later.
        kind, message = raised[0][1], raised[0][2] or ""
        line = f"{kind}: {message}" if message else kind
    else:
        line = next((each for each in text.splitlines() if each.strip()), "it says nothing")
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


def end_of_driver(code: int | None) -> Failure:
    """What the exit code of the driver's JVM means; None where it has not ended."""
    if code in (3, 52):
        return Failure(
            "DriverOutOfMemory",
            "the driver's JVM had too little memory and ended. Raise spec.spark.driver.memory, or "
            "have the pipeline bring less to the driver.",
            blames_events=False,
        )
    if code in (-9, 137):
        return Failure(
            "DriverKilled",
            "the driver's JVM was killed, probably because the machine or the pod has too little "
            "memory for it. Raise spec.spark.driver.memoryOverhead.",
            blames_events=False,
        )
    ended = "does not answer" if code is None else f"ended with code {code}"
    return Failure(
        "DriverLost", f"the driver's JVM {ended}; see its log above.", blames_events=False
    )
