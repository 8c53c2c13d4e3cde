"""Numbered readings of a few homes for both engines; some of them cannot be used."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.sending.sensors import readings

PARTITIONS = ("0", "1")
BEGIN = 1_769_900_310.0
HOMES = 40
TURNS = 12
PERIOD_S = 17.0


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event of a partition, as a handler sees it."""

    partition: str
    sequence_number: int
    enqueued_at: float
    body: str

    def body_as_json(self) -> Any:
        return json.loads(self.body)


def numbered_readings(seed: int) -> list[Numbered]:
    """In the order of each partition. Numbers have gaps, and times are a little out of order."""
    dice = random.Random(seed)
    found, numbers = [], dict.fromkeys(PARTITIONS, -1)
    for turn in range(TURNS):
        for home in range(HOMES):
            partition = PARTITIONS[home % len(PARTITIONS)]
            enqueued_at = BEGIN + turn * PERIOD_S + home * PERIOD_S / HOMES
            at = enqueued_at - dice.random() * 8
            bodies = [one.body.decode() for one in readings(home, turn, at, dice.random)]
            for body in [*bodies, *_unusable(bodies[0], dice.random())]:
                numbers[partition] += 1 + (dice.random() < 0.1)
                found.append(Numbered(partition, numbers[partition], round(enqueued_at, 3), body))
    return found


def _unusable(body: str, drawn: float) -> Iterator[str]:
    reading = json.loads(body)
    if drawn < 0.02:
        yield json.dumps(reading | {"home": None})
    elif drawn < 0.04:
        yield json.dumps(reading | {"at": reading["at"] + 100_000})
    elif drawn < 0.06:
        yield json.dumps({key: reading[key] for key in reading if key != "value"})
    elif drawn < 0.08:
        yield json.dumps(reading | {"kind": "caf\u00e9"})
    elif drawn < 0.1:
        yield json.dumps(reading | {"value": -7, "alarm": None, "kind": "thermometer"})


def portions(events: Sequence[Numbered], size: int) -> Iterator[Sequence[Numbered]]:
    """The events as they are given, so many at a time."""
    return (events[at : at + size] for at in range(0, len(events), size))
