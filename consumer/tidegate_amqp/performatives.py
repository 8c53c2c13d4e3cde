"""The nine performatives of AMQP 1.0 as frozen tuples, with the kinds of their fields below.

Field names are those of the specification with underscores. What a peer left out has the default
of the specification. See schema.py for how the kinds are used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .decode import Buffer, decode_value
from .errors import DecodeError, FramingError
from .schema import build, encode_composite, register
from .types import Described

ROLE_SENDER = False
ROLE_RECEIVER = True

MAX_UINT = 0xFFFFFFFF
MAX_ULONG = 0xFFFFFFFFFFFFFFFF

TRANSFER_CODE = 0x14


class Open(NamedTuple):
    container_id: str
    hostname: str | None = None
    max_frame_size: int = MAX_UINT
    channel_max: int = 65_535
    idle_time_out: int | None = None
    outgoing_locales: list[str] | None = None
    incoming_locales: list[str] | None = None
    offered_capabilities: list[str] | None = None
    desired_capabilities: list[str] | None = None
    properties: dict[Any, Any] | None = None


class Begin(NamedTuple):
    remote_channel: int | None
    next_outgoing_id: int
    incoming_window: int
    outgoing_window: int
    handle_max: int = MAX_UINT
    offered_capabilities: list[str] | None = None
    desired_capabilities: list[str] | None = None
    properties: dict[Any, Any] | None = None


class Attach(NamedTuple):
    name: str
    handle: int
    role: bool
    snd_settle_mode: int | None = 2
    rcv_settle_mode: int | None = 0
    source: Any = None
    target: Any = None
    unsettled: dict[Any, Any] | None = None
    incomplete_unsettled: bool = False
    initial_delivery_count: int | None = None
    max_message_size: int | None = None
    offered_capabilities: list[str] | None = None
    desired_capabilities: list[str] | None = None
    properties: dict[Any, Any] | None = None


class Flow(NamedTuple):
    next_incoming_id: int | None
    incoming_window: int
    next_outgoing_id: int
    outgoing_window: int
    handle: int | None = None
    delivery_count: int | None = None
    link_credit: int | None = None
    available: int | None = None
    drain: bool = False
    echo: bool = False
    properties: dict[Any, Any] | None = None


class Transfer(NamedTuple):
    handle: int
    delivery_id: int | None = None
    delivery_tag: bytes | None = None
    message_format: int | None = None
    settled: bool | None = None
    more: bool = False
    rcv_settle_mode: int | None = None
    state: Any = None
    resume: bool = False
    aborted: bool = False
    batchable: bool = False


class Disposition(NamedTuple):
    role: bool
    first: int
    last: int | None = None
    settled: bool = False
    state: Any = None
    batchable: bool = False


class Detach(NamedTuple):
    handle: int
    closed: bool = False
    error: Any = None


class End(NamedTuple):
    error: Any = None


class Close(NamedTuple):
    error: Any = None


# A kind with a question mark may be null although the tuple has no default for it.
_CAPABILITIES = ("symbols", "symbols")
_UINTS = ("uint", "uint", "uint")

register(
    0x10,
    "amqp:open:list",
    Open,
    *("string", "string", "uint", "ushort", "uint", "symbols", "symbols", *_CAPABILITIES, "map"),
)
register(0x11, "amqp:begin:list", Begin, "ushort?", *_UINTS, "uint", *_CAPABILITIES, "map")
register(
    0x12,
    "amqp:attach:list",
    Attach,
    *("string", "uint", "boolean", "ubyte", "ubyte", "source", "target", "map", "boolean"),
    *("uint", "ulong", *_CAPABILITIES, "map"),
)
register(
    0x13,
    "amqp:flow:list",
    Flow,
    *("uint?", *_UINTS, *_UINTS, "uint", "boolean", "boolean", "map"),
)
register(
    TRANSFER_CODE,
    "amqp:transfer:list",
    Transfer,
    *("uint", "uint", "binary", "uint", "boolean", "boolean", "ubyte", "composite"),
    *("boolean", "boolean", "boolean"),
)
register(
    0x15,
    "amqp:disposition:list",
    Disposition,
    *("boolean", "uint", "uint", "boolean", "composite", "boolean"),
)
register(0x16, "amqp:detach:list", Detach, "uint", "boolean", "composite")
register(0x17, "amqp:end:list", End, "composite")
register(0x18, "amqp:close:list", Close, "composite")

encode_performative = encode_composite


def decode_performative(buffer: Buffer, index: int, end: int) -> tuple[Any, int]:
    """The composite at `index` of a frame that ends at `end`, and where its payload starts."""
    value, index = decode_value(buffer, index)
    if index > end:
        raise FramingError("a performative runs past the end of its frame")
    if not isinstance(value, Described):
        raise DecodeError("a frame does not start with a performative")
    return build(value.descriptor, value.value), index
