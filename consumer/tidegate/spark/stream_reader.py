"""The stream as Spark sees it: offsets, limits and tasks. What they are is planning.py's.

Rules:
- Spark makes readers only to send them to executors: nothing is opened before the first question,
  and what is sent knows the columns and nothing else.
- Without a driver of ours the office is opened by the first question, as a process of its own.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from tidegate.delivery.policy import OnFailure
from tidegate.spark.columns import Columns
from tidegate.spark.desk_client import DeskClient
from tidegate.spark.options import StreamOptions, stream_options
from tidegate.spark.own_office import OwnOffice
from tidegate.spark.planning import Planning, Terms
from tidegate.spark.reading_tasks import read_task
from tidegate.spark.source_place import place_of
from tidegate.spark.tasks import ReadTask

Offset = dict[str, Any]


class TidegateStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """See the module. `terms` are those of a driver of ours."""

    def __init__(self, given: Mapping[str, str], columns: Columns, terms: Terms | None) -> None:
        self._given = dict(given)
        self._columns = columns
        self._terms = terms
        self._planning: Planning | None = None
        self._client: DeskClient | None = None
        self._office: OwnOffice | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_columns": self._columns}

    # --- what Spark asks

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name, as those below
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.max_events if self._terms is None else 0
        return ReadMaxRows(most) if most else ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        events = limit.max_rows if isinstance(limit, ReadMaxRows) else 0
        size = self._options.max_bytes if self._terms is None else 0
        if isinstance(limit, ReadMaxBytes):
            size = min(size or limit.max_bytes, limit.max_bytes)
        return self._plans().next(start, events, size)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._plans().end_here()

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """For the progress of the query: the last event of each partition, and the lag."""
        return self._plans().ends()

    def partitions(self, start: Offset, end: Offset) -> list[ReadTask]:  # type: ignore[override]  # noqa: ARG002
        return self._plans().tasks(end)

    def read(self, partition: ReadTask) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        return read_task(partition, self._columns)

    def commit(self, end: Offset) -> None:
        """Nothing: it was said when the next batch was asked for."""

    def stop(self) -> None:
        office, self._office = self._office, None
        if self._client is not None:
            self._client.close()
        if office is not None:
            office.close()

    # --- the office

    @property
    def _options(self) -> StreamOptions:
        return stream_options(self._given)

    def _plans(self) -> Planning:
        if self._planning is None:
            terms = self._terms or self._open_office()
            self._client = DeskClient(terms.desk.address, terms.desk.token)
            self._planning = Planning(self._client, terms, self.stop)
        return self._planning

    def _open_office(self) -> Terms:
        # Imported here: workers and a driver of ours do without.
        from tidegate.commands.wiring import set_up  # noqa: PLC0415

        options = self._options
        setup = set_up(Path(options.file), os.environ, runs_code=False)
        source = place_of(setup)
        # A name of its own for each life: a query that was killed leaves leases of its name.
        name = options.member or f"{socket.gethostname()}-spark-{os.getpid()}"
        self._office = OwnOffice.open(Path(options.file), name, options.members)
        puts_aside = setup.group.spec.delivery.on_failure is OnFailure.DEAD_LETTER
        per_member = options.tasks_per_member
        return Terms(source, self._office.desk, per_member, puts_aside, says_done=True)
