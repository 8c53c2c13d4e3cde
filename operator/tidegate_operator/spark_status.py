"""What the status says of a group on Spark, beside what it says of every group. Pure.

Rules: what the driver says counts while it runs; of one that does not run its pod says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tidegate.spark.failures import OF_NO_EVENT
from tidegate_operator.model import PodFacts, SparkFacts
from tidegate_operator.pod_nouns import DriverNote
from tidegate_operator.rollout import is_live
from tidegate_operator.view import GroupView
from tidegate_operator.wording import time_text

STOPPED, STARTING, RETRYING = "stopped", "starting", "retrying"

_STORAGE = "Look at the storage account that it names, and at who may write there."
_ITSELF = "Its own words say what to do."
# What a driver says first of a failure that no event is to blame for, and what to do about it.
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(OF_NO_EVENT.values(), "See the log of the driver and of its executors."),
        "Cancelled": "See the log of the driver.",
        "DriverKilled": _ITSELF,
        "DriverLost": "See the log of the driver.",
        "DriverOutOfMemory": _ITSELF,
        "ExecutorLost": "Look at the executors' pods: why have they ended?",
        "HubNotRead": "Executors read the hub themselves: do they reach it, and may they?",
        "LedgerNotReached": _STORAGE,
        "LetterNotWritten": _STORAGE,
        "OutOfMemory": _ITSELF,
        "ReadTwice": _ITSELF,
        "SlicesNotWritten": _STORAGE,
    }
)


def remedy_of(failure: str) -> str | None:
    """What to do about a failure of which a driver told; None where events may be to blame."""
    return _REMEDIES.get(failure.partition(": ")[0])


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
