"""The official SDK's sync processor as a process: `python sdk_sync_member.py CONFIG.json`.

Rules: as sdk_member.py, which is that of asyncio: the client and its store are unmodified, with
their defaults; the same configuration, the same lines; SIGTERM closes the client.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from azure.eventhub import EventData, EventHubConsumerClient, PartitionContext
from azure.eventhub.extensions.checkpointstoreblob import BlobCheckpointStore


def run(config: dict[str, Any]) -> None:
    store = BlobCheckpointStore.from_connection_string(config["blobs"], config["container"])
    client = EventHubConsumerClient.from_connection_string(
        config["events"],
        consumer_group=config["group"],
        eventhub_name=config["hub"],
        checkpoint_store=store,
    )
    with Path(config["log"]).open("a", encoding="utf-8", buffering=1) as log:

        def on_batch(context: PartitionContext, events: list[EventData]) -> None:
            if events:
                first, last = events[0].sequence_number, events[-1].sequence_number
                log.write(f"h {time.time():.6f} {context.partition_id} {first} {last} 1\n")
                context.update_checkpoint(events[-1])

        def stop(*_: object) -> None:
            threading.Thread(target=client.close).start()

        signal.signal(signal.SIGTERM, stop)
        log.write(f"s {time.time():.6f}\n")
        client.receive_batch(on_batch, max_wait_time=1.0, starting_position="-1")
        log.write(f"e {time.time():.6f}\n")


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
