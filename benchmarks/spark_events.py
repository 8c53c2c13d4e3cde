"""Events for the benchmarks of Spark: JSON bodies of five small fields, and their schema.

Rules: bodies are made once and sent over and over, so that sending costs little beside reading.
"""

from __future__ import annotations

import asyncio
import json
import random

from amqp_load import MAX_BATCH_BYTES, send_batches
from tidegate_amqp.encode import encode_binary

HUB, GROUP, PARTITIONS = "load", "$Default", 16
SCHEMA = "home string, sensor string, value double, at timestamp, n bigint"
_DATA = b"\x00\x53\x75"
_HOMES, _SENSORS = 10_000, ("motion", "door", "smoke", "water", "temperature", "battery")


def _body(dice: random.Random, number: int) -> bytes:
    reading = {
        "home": f"home-{dice.randrange(_HOMES):06d}",
        "sensor": dice.choice(_SENSORS),
        "value": round(dice.uniform(-20, 40), 2),
        "at": f"2026-01-31T12:{number % 3:02d}:{dice.randrange(60):02d}Z",
        "n": number,
    }
    return json.dumps(reading, separators=(",", ":")).encode()


def json_batch(limit: int = MAX_BATCH_BYTES, most: int = 1_000_000) -> tuple[bytes, int]:
    """A batch of events that fits, and how many they are."""
    parts: list[bytes] = []
    dice, size = random.Random(7), 0
    while len(parts) < most:
        item = _DATA + encode_binary(_DATA + encode_binary(_body(dice, len(parts))))
        size += len(item)
        if size > limit:
            break
        parts.append(item)
    return b"".join(parts), len(parts)


def fill(port: int, events: int) -> int:
    """Stores about so many events, as many in each partition; gives how many."""
    batch, count = json_batch(100_000)
    times = -(-events // count // PARTITIONS) * PARTITIONS
    asyncio.run(send_batches(port, HUB, batch, times))
    return times * count


def connection_string(port: int) -> str:
    return (
        f"Endpoint=sb://localhost:{port};SharedAccessKeyName=k;SharedAccessKey=s;"
        f"EntityPath={HUB};UseDevelopmentEmulator=true"
    )
