"""The filters by which a receiver says where it begins. Pure."""

from __future__ import annotations

from typing import Any

from tidegate.model import NO_OFFSET, NO_SEQUENCE, Position
from tidegate.sources.start import From
from tidegate_amqp import Described, Symbol

_KIND = Symbol("apache.org:selector-filter:string")


def after(position: Position) -> str:
    """What comes after a position. Where it has no offset, its sequence number says it."""
    if position.offset == NO_OFFSET and position.sequence != NO_SEQUENCE:
        return f"amqp.annotation.x-opt-sequence-number > '{position.sequence}'"
    return f"amqp.annotation.x-opt-offset > '{position.offset}'"


def from_on(place: From) -> str:
    """Everything from a place on."""
    if place.sequence is not None:
        return f"amqp.annotation.x-opt-sequence-number >= '{place.sequence}'"
    assert place.at is not None
    return f"amqp.annotation.x-opt-enqueued-time >= '{int(place.at * 1000)}'"


def as_filter(text: str) -> dict[Symbol, Any]:
    return {_KIND: Described(_KIND, text)}
