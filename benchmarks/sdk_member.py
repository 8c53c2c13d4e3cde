"""The peer: the official SDK's own processor as a process, `python sdk_member.py CONFIG.json`.

It takes the configuration of tests/support/member_process.py and writes the same lines, so that
the same scenarios and the same arithmetic serve both.

Rules: the client and its checkpoint store are unmodified and have their defaults; it checkpoints a
partition as often as ours does; SIGTERM closes the client.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient, PartitionContext
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

CHECKPOINT_EVERY_S = 5.0
# How long the SDK waits for events before it calls back without any.
QUIET_S = 1.0


async def run(config: dict[str, Any]) -> None:
    store = BlobCheckpointStore.from_connection_string(config["blobs"], config["container"])
    client = EventHubConsumerClient.from_connection_string(
        config["events"],
        consumer_group=config["group"],
        eventhub_name=config["hub"],
        checkpoint_store=store,
    )
    due: dict[str, float] = {}
    stop = asyncio.Event()
    with Path(config["log"]).open("a", encoding="utf-8", buffering=1) as log:

        async def on_batch(context: PartitionContext, events: list[EventData]) -> None:
            if not events:
                return
            partition, now = context.partition_id, time.time()
            first, last = events[0].sequence_number, events[-1].sequence_number
            log.write(f"h {now:.6f} {partition} {first} {last} {len(events)}\n")
            if now >= due.setdefault(partition, now + CHECKPOINT_EVERY_S):
                due[partition] = now + CHECKPOINT_EVERY_S
                await context.update_checkpoint(events[-1])

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        log.write(f"s {time.time():.6f}\n")
        reading = asyncio.create_task(
            client.receive_batch(on_batch, max_wait_time=QUIET_S, starting_position="-1")
        )
        await stop.wait()
        await client.close()
        await asyncio.gather(reading, return_exceptions=True)
        await store.close()
        log.write(f"e {time.time():.6f}\n")


if __name__ == "__main__":
    asyncio.run(run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
