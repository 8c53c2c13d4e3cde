"""Ends of links, outcomes of deliveries, and errors: the composites that performatives carry."""

from __future__ import annotations

from typing import Any, NamedTuple

from .schema import ONLY, register


class Error(NamedTuple):
    condition: str
    description: str | None = None
    info: dict[Any, Any] | None = None


class Source(NamedTuple):
    address: Any = None
    durable: int = 0
    expiry_policy: str | None = None
    timeout: int = 0
    dynamic: bool = False
    dynamic_node_properties: dict[Any, Any] | None = None
    distribution_mode: str | None = None
    filter: dict[Any, Any] | None = None
    default_outcome: Any = None
    outcomes: list[str] | None = None
    capabilities: list[str] | None = None


class Target(NamedTuple):
    address: Any = None
    durable: int = 0
    expiry_policy: str | None = None
    timeout: int = 0
    dynamic: bool = False
    dynamic_node_properties: dict[Any, Any] | None = None
    capabilities: list[str] | None = None


class Accepted(NamedTuple):
    pass


class Rejected(NamedTuple):
    error: Any = None


class Released(NamedTuple):
    pass


class Modified(NamedTuple):
    delivery_failed: bool | None = None
    undeliverable_here: bool | None = None
    message_annotations: dict[Any, Any] | None = None


class Received(NamedTuple):
    section_number: int
    section_offset: int


ONLY.update(source=Source, target=Target)

TERMINUS_KINDS = ("any", "uint", "symbol", "uint", "boolean", "map")

register(0x1D, "amqp:error:list", Error, "symbol", "string", "map")
register(0x23, "amqp:received:list", Received, "uint", "ulong")
register(0x24, "amqp:accepted:list", Accepted)
register(0x25, "amqp:rejected:list", Rejected, "composite")
register(0x26, "amqp:released:list", Released)
register(0x27, "amqp:modified:list", Modified, "boolean", "boolean", "map")
register(
    0x28,
    "amqp:source:list",
    Source,
    *TERMINUS_KINDS,
    "symbol",
    "map",
    "composite",
    "symbols",
    "symbols",
)
register(0x29, "amqp:target:list", Target, *TERMINUS_KINDS, "symbols")


def error_of(value: Any) -> Error | None:
    """The error of a detach, end, close or rejection, whatever a peer put there."""
    if value is None or isinstance(value, Error):
        return value
    return Error("amqp:internal-error", f"an error of unknown form: {value!r:.200}")
