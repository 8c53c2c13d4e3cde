"""An official event processor as a process of its own: `python official_member.py CONFIG.json`.

It is the unmodified azure-eventhub processor of asyncio with the unmodified BlobCheckpointStore of
checkpointstoreblobaio. It takes the configuration of member_process.py and logs as that does, so
that both are read together.

Rules: it checkpoints each batch that it has handled. SIGTERM is a clean stop: no batch begins any
more, those that have begun end with their checkpoint, and only then it closes. Its own `close` does
not wait for that, which is how a user loses or repeats events.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from azure.eventhub.aio import EventHubConsumerClient
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.member_process import Log


class Processor:
    """The user's side of it: handles, checkpoints, and stops cleanly."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._stopping = asyncio.Event()
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def handle(self, context: Any, events: list[Any]) -> None:
        if not events or self._stopping.is_set():
            return
        self._at_work += 1
        self._idle.clear()
        try:
            first, last = events[0].sequence_number, events[-1].sequence_number
            self._log.line("h", context.partition_id, first, last, len(events))
            await context.update_checkpoint(events[-1])
        finally:
            self._at_work -= 1
            if not self._at_work:
                self._idle.set()

    async def report(self, context: Any, error: Exception) -> None:
        where = context.partition_id if context is not None else "-"
        self._log.line("r", "Error", where or "-", str(error).replace("\n", " "))

    def stop(self) -> None:
        self._stopping.set()

    async def until_stopped(self) -> None:
        """Until it was asked to, and nothing is at work any more."""
        await self._stopping.wait()
        await self._idle.wait()


async def run(config: dict[str, Any]) -> None:
    log = Log(Path(config["log"]))
    store = BlobCheckpointStore.from_connection_string(config["blobs"], config["container"])
    client = EventHubConsumerClient.from_connection_string(
        config["events"],
        config["group"],
        eventhub_name=config["hub"],
        checkpoint_store=store,
        load_balancing_interval=1,
        load_balancing_strategy="greedy",
    )
    processor = Processor(log)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, processor.stop)
    log.line("s")
    async with client:
        receiving = asyncio.create_task(
            client.receive_batch(
                processor.handle, on_error=processor.report, starting_position="-1"
            )
        )
        await processor.until_stopped()
        await client.close()
        await receiving
    log.line("e")


if __name__ == "__main__":
    asyncio.run(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
