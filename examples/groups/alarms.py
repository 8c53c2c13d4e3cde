"""A handler that says each alarm once: the sink is asked by the event's own place."""

from __future__ import annotations

from typing import Any


def handle_event(event: Any, context: Any) -> None:
    """Handles one reading."""
    reading = event.body_as_json()
    if reading.get("alarm"):
        raise_alarm(f"{context.partition}-{event.sequence_number}", reading)


def raise_alarm(id: str, reading: dict[str, Any]) -> None:
    """Where you would call what has to know; an id that was seen before is no new alarm."""
    print(f"{id}: {reading['home']} {reading.get('kind', '')}", flush=True)


def on_error(error: Exception, context: Any) -> None:
    """Hears of each attempt that failed."""
    print(f"partition {context.partition}, attempt {context.attempt}: {error}", flush=True)
