"""The streaming query: each micro-batch goes to the pipeline, and what came of it to the office.

Rules:
- An error of the pipeline, or of a task, ends the batch and not the query: the office plans the
  same ranges again, after a pause that is its to choose.
- A query that ends by itself is begun anew in this process, after 1 s and then twice as long each
  time up to 30 s; the first batch that ends well makes it 1 s again. Members stay meanwhile.
- Spark's own checkpoint is a folder of one life: how far the group is stands in the ledger.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from tidegate.model import PartitionId
from tidegate.spark.failures import Failure, failure_of, failure_of_error, shortened
from tidegate.spark.office import Office
from tidegate.spark.positions import Batch
from tidegate.spark.standing import LastBatch, Standing
from tidegate.spark.turns import BatchError

_FIRST_PAUSE_S = 1.0
_MOST_PAUSE_S = 30.0
_TIDY_EVERY_S = 10.0

_log = logging.getLogger("tidegate.spark")


class Run(Protocol):
    """The pipeline at work."""

    def batch(self, frame: Any, batch: Batch) -> Mapping[PartitionId, bytes | None]:
        """Handles a batch; gives the states then."""

    def failed(self) -> None:
        """The batch that was handled does not count."""

    def tidy(self) -> None:
        """Between batches."""


class Query:
    """See the module. `begin` starts a query of Spark's with this function and this folder."""

    def __init__(
        self,
        begin: Callable[[Callable[[Any, int], None], Path], Any],
        run: Run,
        office: Office,
        standing: Standing,
        folder: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._begin = begin
        self._run = run
        self._office = office
        self._standing = standing
        self._folder = folder
        self._clock, self._wall = clock, wall
        self._query: Any = None
        self._life: Path | None = None
        self._pause_s = 0.0
        self._begin_at = 0.0
        self._tidied_at = clock()
        # Held while a batch runs.
        self._busy = threading.Lock()

    def look(self) -> None:
        """To be called about once a second: begins the query, or begins it anew."""
        if self._query is not None and self._query.isActive:
            self._tidy()
            return
        if self._query is not None:
            self._on_ended(self._query.exception())
        if self._clock() >= self._begin_at:
            self._new_life()

    def stop(self) -> None:
        """Ends the query; the batch under way is not waited for."""
        query, self._query = self._query, None
        if query is not None:
            try:
                query.stop()
            # Whatever Java raises, or the line to it: a JVM that is gone has no query any more.
            except Exception as error:
                _log.warning("the query could not be stopped: %s", shortened(str(error)))
        self._forget_life()

    # --- lives

    def _new_life(self) -> None:
        self._life = Path(tempfile.mkdtemp(prefix="query-", dir=self._folder))
        self._query = self._begin(self._on_batch, self._life)
        self._standing.entered("running")

    def _on_ended(self, error: Any) -> None:
        failure = failure_of(str(error) if error is not None else "the query ended by itself")
        self._query = None
        self._forget_life()
        self._pause_s = min(max(self._pause_s * 2, _FIRST_PAUSE_S), _MOST_PAUSE_S)
        self._begin_at = self._clock() + self._pause_s
        self._standing.restarted()
        self._standing.has_failed(failure)
        self._standing.entered("retrying")
        _log.error("the query failed and is begun anew in %g s: %s", self._pause_s, failure.message)

    def _forget_life(self) -> None:
        if self._life is not None:
            shutil.rmtree(self._life, ignore_errors=True)
        self._life = None

    def _tidy(self) -> None:
        if self._clock() - self._tidied_at < _TIDY_EVERY_S:
            return
        if self._busy.acquire(blocking=False):
            try:
                self._tidied_at = self._clock()
                self._run.tidy()
            finally:
                self._busy.release()

    # --- batches, on a thread of Spark's

    def _on_batch(self, frame: Any, _number: int) -> None:
        with self._busy:
            batch = self._office.batch_under_way()
            # What was planned may have been given away before it was begun.
            if batch is not None and batch.turns:
                self._handle(frame, batch)

    def _handle(self, frame: Any, batch: Batch) -> None:
        began_at = self._clock()
        try:
            states = self._run.batch(frame, batch)
        # A pipeline may raise anything, and may even ask the process to end.
        except BaseException as error:
            failure = self._standing.hidden(failure_of_error(error))
            self._failed(failure)
            # It may have been given up already: the members have left, or another one began.
            with contextlib.suppress(BatchError):
                self._office.failed(
                    batch.number, failure.message, blames_events=failure.blames_events
                )
            return
        try:
            self._office.done(batch.number, states)
        except BatchError as error:
            self._run.failed()
            self._failed(Failure("BatchRefused", str(error)))
            return
        seconds = self._clock() - began_at
        events = self._office.figures().counted.last_events
        self._pause_s = 0.0
        self._standing.handled(LastBatch(batch.number, self._wall(), events, seconds))

    def _failed(self, failure: Failure) -> None:
        _log.error("the batch failed: %s", failure.message, extra={"tidegate": {
            "reason": failure.reason}})  # fmt: skip
        self._standing.has_failed(failure)
