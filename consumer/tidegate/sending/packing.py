"""Events packed into batches as Event Hubs takes them, byte by byte. Pure.

Rules:
- A batch is one AMQP message of format 0x80013700 whose data sections are whole messages. All its
  events have one key or one partition; the service places a batch as a whole.
- Events of one key (or partition) stay in the order in which they came.
- A batch never exceeds the limit; an event that does so alone is an error that names its size.
- The plain event, without key and properties, is three pieces of bytes and no object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tidegate.sending.outgoing import Outgoing
from tidegate_amqp.encode import (
    encode_binary,
    encode_described,
    encode_map,
    encode_pairs,
    encode_string,
    encode_symbol,
)
from tidegate_amqp.sections import APPLICATION_PROPERTIES, MESSAGE_ANNOTATIONS

# What the service takes in one message, envelope and all.
MAX_BATCH_BYTES = 1_048_576
_KEY_NAME = encode_symbol("x-opt-partition-key")
_DATA = b"\x00\x53\x75"
# The service's clients refuse longer keys.
MAX_KEY_LETTERS = 128
_LONGEST_HEAD = 1_024  # the annotations of a batch with the longest key, and a frame's own bytes


class PackingError(ValueError):
    """An event that no batch can carry; the message says why."""


class Batch(NamedTuple):
    """A batch that is ready to send: to a partition, or where the service places it."""

    partition: str
    payload: bytes
    events: int


def packed(events: Iterable[Outgoing], limit: int = MAX_BATCH_BYTES) -> Iterator[Batch]:
    """The events in as few batches as there are keys, and more only where one is full."""
    groups: dict[tuple[str, str], list[Outgoing]] = {}
    for event in events:
        groups.setdefault((event.partition, event.key), []).append(event)
    for (partition, key), members in groups.items():
        yield from _batches(partition, key, members, limit)


def _batches(partition: str, key: str, events: Iterable[Outgoing], limit: int) -> Iterator[Batch]:
    head = _key_section(key)
    room = limit - len(head) - _LONGEST_HEAD
    parts: list[bytes] = []
    size = 0
    for event in events:
        item = _item(event, head)
        if len(item) > room:
            raise PackingError(
                f"an event of {len(event.body):,} bytes is too large: a message of the service "
                f"takes {limit:,} bytes, its key and properties included"
            )
        if size + len(item) > room:
            yield Batch(partition, head + b"".join(parts), len(parts))
            parts, size = [], 0
        parts.append(item)
        size += len(item)
    if parts:
        yield Batch(partition, head + b"".join(parts), len(parts))


def _key_section(key: str) -> bytes:
    if not key:
        return b""
    if len(key) > MAX_KEY_LETTERS:
        raise PackingError(f"the key {key[:40]!r}... has more than {MAX_KEY_LETTERS} letters")
    pairs = encode_pairs([(_KEY_NAME, encode_string(key))])
    return encode_described(MESSAGE_ANNOTATIONS, pairs)


def _item(event: Outgoing, head: bytes) -> bytes:
    """One event inside a batch: its message, as binary data."""
    message = _DATA + encode_binary(event.body)
    if event.properties:
        named = encode_described(APPLICATION_PROPERTIES, encode_map(event.properties))
        message = named + message
    return _DATA + encode_binary(head + message)
