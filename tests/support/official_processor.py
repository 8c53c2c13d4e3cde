"""An official event processor on a thread: EventHubConsumerClient with the official blob store.

    with OfficialProcessor(hub, azurite, container, "telemetry") as processor:
        processor.wait_until_handled(partitions=4, each=10, seconds=30)
        processor.stop()

Rules: it checkpoints each event after it has handled it. A clean stop lets no new event in, and so
leaves nothing handled that is not in the checkpoint: its own `close` does not wait for that.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from azure.eventhub import EventData, EventHubConsumerClient
from azure.eventhub.extensions.checkpointstoreblob import BlobCheckpointStore

from support.wait import wait_until
from tidegate_hub.testing import RunningHub


class OfficialProcessor:
    """See the module."""

    def __init__(self, hub: RunningHub, azurite: str, container: str, name: str) -> None:
        store = BlobCheckpointStore.from_connection_string(azurite, container)
        self._client = EventHubConsumerClient.from_connection_string(
            hub.connection_string,
            "$Default",
            eventhub_name=name,
            checkpoint_store=store,
            load_balancing_interval=1,
            load_balancing_strategy="greedy",
        )
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.errors: list[str] = []
        self._gate = threading.Lock()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        self._client.receive(
            on_event=self._handle, on_error=self._note, starting_position="-1", max_wait_time=0.2
        )

    def _handle(self, context: Any, event: EventData | None) -> None:
        with self._gate:
            if event is not None and not self._is_stopping:
                assert event.sequence_number is not None
                self.handled[context.partition_id].append(event.sequence_number)
                context.update_checkpoint(event)

    def _note(self, context: Any, error: Exception) -> None:
        where = context.partition_id if context is not None else "-"
        self.errors.append(f"{where}: {error}")

    def counts(self) -> Mapping[str, int]:
        # A copy first: the thread adds partitions meanwhile.
        return {partition: len(seen) for partition, seen in dict(self.handled).items()}

    def wait_until_handled(self, partitions: int, each: int, seconds: float) -> None:
        """Waits until it has handled so many more of every partition."""
        before = self.counts()

        def has_gone_on() -> bool:
            now = self.counts()
            return len(now) == partitions and all(
                count >= before.get(partition, 0) + each for partition, count in now.items()
            )

        what = f"the official processor to handle {each} of each partition"
        wait_until(has_gone_on, seconds, what, lambda: (self.counts(), self.errors[-3:]))

    def stop(self) -> None:
        """A clean stop."""
        with self._gate:
            self._is_stopping = True
        self._client.close()
        self._thread.join(30)

    def __enter__(self) -> OfficialProcessor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
