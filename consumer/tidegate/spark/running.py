"""Runs the user's pipeline on one batch after another, and keeps what it writes.

    run = PipelineRun(pipeline, office, setup)
    states = run.batch(frame, batch)         # then office.done(batch.number, states), or
    run.failed()
    run.tidy()                               # between batches

Rules: a batch that fails leaves nothing behind: `failed` is to be called wherever it does after
`batch` has returned. What is kept in memory is a shortcut: every batch says where it begins, and
what does not fit is read anew.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Protocol

from tidegate.commands.wiring import Setup
from tidegate.delivery.state import State
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.shape import Shape, SliceError, SliceStorageError
from tidegate.spark.arriving import arrived
from tidegate.spark.pipeline_context import About, PipelineContext, States
from tidegate.spark.pipelines import Pipeline
from tidegate.spark.positions import Batch, Turn
from tidegate.spark.slice_writer import SliceWriter

_TIDY_S = 3.0
NO_SLICES = (
    "write_slices: slices are of event hubs alone. A change of an item may come once for several "
    "versions of it, so that counts of changes are no truth, and partitions of a container split: "
    "write the items themselves, by their ids"
)

_log = logging.getLogger("tidegate.slices")


class OfficePort(Protocol):
    """What is used of the office."""

    def turns(self) -> dict[str, Turn]: ...

    def state_of(self, partition: str) -> bytes | None: ...

    def checkpointed(self, partition: str, epoch: int) -> int | None: ...

    def call(self, work: Coroutine[Any, Any, Any]) -> Any: ...


class PipelineRun:
    """See the module. All of it blocks; it is used by one thread."""

    def __init__(
        self, pipeline: Pipeline, office: OfficePort, setup: Setup, member: str = ""
    ) -> None:
        self._pipeline = pipeline
        self._office = office
        self._setup = setup
        self._about = About(setup.group.name, member, setup.group.spark.options)
        self._writers: dict[str, SliceWriter] = {}

    def batch(self, frame: Any, batch: Batch) -> dict[str, bytes | None]:
        """Handles a batch; the states of its partitions then. Raises whatever failed."""
        for writer in self._writers.values():
            writer.begin()
        try:
            return self._batch(frame, batch)
        except BaseException:
            self.failed()
            raise

    def failed(self) -> None:
        """The last batch does not count. Before its events are put aside, what was counted of them
        is gone, if storage lets it; else it goes later."""
        for writer in self._writers.values():
            writer.failed()
        self.tidy()

    def _batch(self, frame: Any, batch: Batch) -> dict[str, bytes | None]:
        policy = self._setup.group.spec.delivery

        def state(partition: str) -> State:
            stored = self._office.state_of(partition)
            return State(partition, stored, policy.max_state_bytes)

        states = States(tuple(batch.turns), state)

        def write(frame: Any, output: str, shape: Shape, slices: str, lateness_s: int) -> None:
            if self._setup.group.spec.source.cosmos is not None:
                raise SliceError(NO_SLICES)
            table = frame.toArrow()
            # What was read of each partition is known once the job has run.
            turns = self._office.turns()
            ranges = {name: (turn.after.sequence, turn.to) for name, turn in turns.items()}
            # A partition may have been taken from us when some of it was in the frame already.
            news = arrived(table, shape, slices, ranges, batch.turns.keys() - turns.keys())
            self._writer(output, shape, lateness_s).write(news, turns, states)

        context = PipelineContext(
            self._about, batch.number, batch.turns, states, time.time(), write
        )
        self._pipeline(frame, context)
        return states._encoded()

    def tidy(self) -> None:
        """Removes versions of slices that no checkpoint needs any more, if storage lets it. Who
        calls has other work: all of it together takes a few seconds at most."""
        until = time.monotonic() + _TIDY_S
        for output, writer in self._writers.items():
            try:
                writer.tidy(self._office.checkpointed, max(until - time.monotonic(), 0.1))
            except SliceStorageError as error:
                _log.warning("old slices of '%s' are still there: %s", output, error)

    def close(self) -> None:
        """Lets go of connections."""
        for writer in self._writers.values():
            self._office.call(writer.close())
        self._writers.clear()

    def _writer(self, output: str, shape: Shape, lateness_s: int) -> SliceWriter:
        writer = self._writers.get(output)
        if writer is None:
            where = self._setup.group.spark.output
            blobs = self._setup.blobs
            settings = replace(blobs, container=where.container or blobs.container)
            prefix = f"{where.prefix}/{output}"
            writer = self._writers[output] = SliceWriter(
                output, shape, lateness_s, SliceBlobs(settings, prefix), self._office.call
            )
        if writer.shape != shape:
            raise SliceError(
                f"write_slices: output '{output}' had other columns in the batch before: the "
                "columns of an output stay the same as long as the pipeline runs"
            )
        return writer
