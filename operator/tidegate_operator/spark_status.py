"""What the status says of a group on Spark, beside what it says of every group. Pure.

Rules: what the driver says counts while it runs; of one that does not run its pod says why.
"""

from __future__ import annotations

from typing import Any

from tidegate_operator.model import PodFacts, SparkFacts
from tidegate_operator.pod_nouns import DriverNote
from tidegate_operator.rollout import is_live
from tidegate_operator.single_words import FAILURES
from tidegate_operator.view import GroupView
from tidegate_operator.wording import time_text

STOPPED, STARTING, RETRYING = "stopped", "starting", "retrying"


def remedy_of(failure: str) -> str | None:
    """What to do about a failure of which a driver told; None where events may be to blame."""
    word = failure.partition(": ")[0]
    return None if word == "PipelineFailed" or word not in FAILURES else FAILURES[word][1]


def phase_of(spark: SparkFacts) -> str:
    """How the newest driver stands, in one word."""
    driver = next(filter(is_live, spark.drivers), None)
    if driver is None:
        return STOPPED
    if driver.container.running is not None:
        return spark.note.phase or STARTING
    return driver.container.waiting or STARTING


def document_of(view: GroupView, spark: SparkFacts) -> dict[str, Any]:
    """`status.spark`."""
    note, driver = spark.note, next(filter(is_live, spark.drivers), None)
    found: dict[str, Any] = {
        "driver": driver.name if driver is not None else None,
        "phase": phase_of(spark),
        "applicationId": note.application or None,
        "executorsWanted": view.wanted,
        "executorsReady": view.ready,
        "lastBatch": _batch(note),
        "failure": _failure(driver, note) or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _batch(note: DriverNote) -> dict[str, Any] | None:
    if note.batch_at is None:
        return None
    return {
        "time": time_text(note.batch_at),
        "events": note.batch_events,
        "tookSeconds": round(note.batch_s, 3),
    }


def _failure(driver: PodFacts | None, note: DriverNote) -> str:
    """Of what fails now: the last words of a driver that has ended come first."""
    if driver is not None and driver.container.running is None:
        end = driver.container.last_end
        if end is not None and end.exit_code:
            return end.message.strip() or end.reason
    return note.failure
