"""The peer: a source of Spark's that calls the official SDK in `read`, as one would write it.

Rules: it plans by the SDK's partition properties and shares a batch's limit out evenly; a task
reads one partition with a client of its own, because the SDK's `receive_batch` ends with its
client; rows are tuples, decoded by `json.loads`.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from azure.eventhub import EventHubConsumerClient
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark_events import GROUP, SCHEMA

_SDK_BATCH = 300
Offset = dict[str, int]


class SdkRange(InputPartition):
    def __init__(self, partition: str, after: int, to: int) -> None:
        self.partition = partition
        self.after = after
        self.to = to


class SdkSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "sdk"

    def schema(self) -> str:
        return f"partition string, sequence bigint, enqueued timestamp, {SCHEMA}"

    def streamReader(self, schema: StructType) -> SdkReader:  # noqa: N802, ARG002 - Spark's name
        return SdkReader(self.options["connection"], int(self.options.get("maxEvents", "50000")))


def client_of(connection: str) -> EventHubConsumerClient:
    return EventHubConsumerClient.from_connection_string(connection, consumer_group=GROUP)


class SdkReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, connection: str, most: int) -> None:
        self._connection = connection
        self._most = most
        self._client: EventHubConsumerClient | None = None
        self._until: Offset | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_client": None}

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name, as those below
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = self._ends()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        ends = self._until or self._ends()
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._most
        share = max(most // max(len(ends), 1), 1)
        return {
            partition: min(end, start.get(partition, -1) + share) for partition, end in ends.items()
        }

    def _ends(self) -> Offset:
        if self._client is None:
            self._client = client_of(self._connection)
        return {
            partition: int(
                self._client.get_partition_properties(partition)["last_enqueued_sequence_number"]
            )
            for partition in self._client.get_partition_ids()
        }

    def partitions(self, start: Offset, end: Offset) -> list[Any]:
        return [
            SdkRange(partition, start.get(partition, -1), to)
            for partition, to in end.items()
            if to > start.get(partition, -1)
        ]

    def read(self, partition: Any) -> Iterator[Any]:
        client = client_of(self._connection)
        arrived: queue.Queue[list[Any]] = queue.Queue(maxsize=4)
        is_over = threading.Event()

        def take(_context: Any, events: list[Any]) -> None:
            if not is_over.is_set():
                arrived.put(events)

        reading = threading.Thread(
            target=client.receive_batch,
            kwargs={
                "on_event_batch": take,
                "partition_id": partition.partition,
                "starting_position": partition.after if partition.after >= 0 else "-1",
                "max_batch_size": _SDK_BATCH,
            },
            daemon=True,
        )
        reading.start()
        try:
            while True:
                for event in arrived.get():
                    if event.sequence_number > partition.to:
                        return
                    yield _row(partition.partition, event)
                    if event.sequence_number == partition.to:
                        return
        finally:
            is_over.set()
            while not arrived.empty():
                arrived.get_nowait()
            client.close()
            reading.join()


def _row(partition: str, event: Any) -> tuple[Any, ...]:
    body = json.loads(event.body_as_str())
    return (
        partition,
        event.sequence_number,
        event.enqueued_time,
        body["home"],
        body["sensor"],
        body["value"],
        datetime.fromisoformat(body["at"]),
        body["n"],
    )
