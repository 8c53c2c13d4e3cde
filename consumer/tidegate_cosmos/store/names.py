"""The names that the service gives by itself: resource ids (`_rid`) and ETags. Pure.

Rules: a resource id is the bytes of its parents' and its own, in base64 with "-" for "/": four
bytes for a database, eight for a container, sixteen for an item or a range. Numbers are never given
twice, and the salt of a server differs from start to start, so that what a client remembers
of a container that is gone is not taken for the new one of its name.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode

_CONTAINER_MARK = 0x80000000
_RANGE_MARK = b"\0\0\0\x50"


def database_bytes(number: int, salt: int) -> bytes:
    return struct.pack(">HH", salt & 0xFFFF, number & 0xFFFF)


def container_bytes(database: bytes, number: int) -> bytes:
    return database + struct.pack(">I", _CONTAINER_MARK | number)


def item_bytes(container: bytes, number: int) -> bytes:
    return container + struct.pack("<Q", number)


def item_number(rid: str, container: bytes) -> int | None:
    """The number of an item of a container by the item's resource id; None where it is none."""
    try:
        raw = b64decode(rid.replace("-", "/"), validate=True)
    except ValueError:
        return None
    if len(raw) != len(container) + 8 or not raw.startswith(container):
        return None
    return int(struct.unpack("<Q", raw[len(container) :])[0])


def range_bytes(container: bytes, number: int) -> bytes:
    return container + struct.pack("<I", number) + _RANGE_MARK


def rid(raw: bytes) -> str:
    """A resource id as clients see it."""
    return b64encode(raw).decode("ascii").replace("/", "-")


def etag(number: int, salt: int, seconds: int) -> str:
    """The ETag of the write of this number; the quotes belong to it."""
    return f'"{number & 0xFFFFFFFF:08x}-{salt & 0xFFFF:04x}-0000-0000-{seconds:08x}0000"'
