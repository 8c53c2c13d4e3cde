"""What a pod is to its group, and what Spark says of those that are its own. Pure and frozen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a pod is to its group."""

    CONSUMER = "consumer"
    # Of the engine `spark`: it holds the members, each of which is one executor.
    DRIVER = "driver"
    EXECUTOR = "executor"


@dataclass(frozen=True, slots=True)
class SparkMarks:
    """What Spark says of a pod: by labels of an executor, by a note of its driver."""

    # Which application it is of, and its number in it; '' until the driver has given it one.
    application: str = ""
    number: str = ""
    # The StatefulSet that made it.
    made_in: str = ""
    # What the driver says of itself, as it wrote it.
    note: str = ""


@dataclass(frozen=True, slots=True)
class DriverNote:
    """What a driver says of itself: the annotation that it keeps on its pod."""

    application: str = ""
    # When its process began, by its node's clock.
    started_at: float = 0.0
    phase: str = ""
    executors: int = 0
    # What fails now, in words; '' where nothing does.
    failure: str = ""
    batch_at: float | None = None
    batch_events: int = 0
    batch_s: float = 0.0
