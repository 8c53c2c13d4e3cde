"""How a driver stands: what its metrics, its pod's annotation and its log say. No I/O.

Rules: written by the threads that know, read by those that show; every field is replaced whole, so
that a reader sees one or the other. What is told of a failure goes to the cluster: without secrets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from tidegate.spark.failures import Failure

# On the driver's pod: a contract with the operator.
ANNOTATION = "tidegate.dev/spark"
_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class LastBatch:
    """The last batch that ended well."""

    number: int
    at: float  # by the clock on the wall
    events: int
    seconds: float


class Standing:
    """See the module. Times are of the clock on the wall."""

    def __init__(
        self, started_at: float = 0.0, hide: Callable[[str], str] = lambda text: text
    ) -> None:
        """`hide` takes secrets out of what is told."""
        self._hide = hide
        # When the process began: an application is of that life of its container.
        self.started_at = started_at
        self.application = ""
        self.phase = "starting"
        self.executors: frozenset[str] = frozenset()
        self.last_batch: LastBatch | None = None
        self.batches = 0
        # What fails now: empty once a batch has ended well.
        self.failure: Failure | None = None
        self.failed: Counter[str] = Counter()
        self.restarts = 0
        # Counts what people wait for: who shows it compares.
        self.changes = 0

    def began(self, application: str) -> None:
        self.application = application
        self.entered("running")

    def entered(self, phase: str) -> None:
        self.phase = phase
        self.changes += 1

    def has(self, executors: Collection[str]) -> None:
        self.executors = frozenset(executors)

    def handled(self, batch: LastBatch) -> None:
        self.last_batch = batch
        self.batches += 1
        if self.failure is not None:
            self.failure = None
            self.changes += 1

    def hidden(self, failure: Failure) -> Failure:
        """A failure as it may be shown: without secrets, which a pipeline's own text may hold."""
        return replace(failure, message=self._hide(failure.message))

    def has_failed(self, failure: Failure) -> None:
        failure = self.hidden(failure)
        self.failed[failure.reason] += 1
        if self.failure != failure:
            self.failure = failure
            self.changes += 1

    def restarted(self) -> None:
        self.restarts += 1

    def as_json(self) -> dict[str, Any]:
        """What the annotation says."""
        batch, failure = self.last_batch, self.failure
        said = "" if failure is None else f"{failure.reason}: {failure.message}"
        found: dict[str, Any] = {
            "applicationId": self.application,
            "startedAt": round(self.started_at, 3),
            "phase": self.phase,
            "executors": len(self.executors),
            "restarts": self.restarts,
            "failure": said[:_LONGEST],
        }
        if batch is not None:
            found["batch"] = {
                "number": batch.number,
                "at": round(batch.at, 3),
                "events": batch.events,
                "seconds": round(batch.seconds, 3),
            }
        return found
