"""Which partition an event goes to: by its partition key, or in turn.

Rules:

- A key is hashed by Jenkins lookup3 over its UTF-8 bytes with both seeds zero. The two halves are
  folded to 16 signed bits, and the magnitude of that number modulo the number of partitions is
  the partition. This is what the .NET client states to be the service's own code, and the Java
  and JavaScript clients have it too.
- The Python client's buffered producer has the same hash, but lets Python's modulo, which is
  never negative, act on it before taking the magnitude. So for half of the keys it prefers
  another partition than the service does. It names the partition when it sends, so nothing is
  lost by this; the hub follows the service.
- Hashing costs a few microseconds and looking up a tenth of one, so `KeyPlacement` remembers
  hashes. Its memory is bounded: two generations of keys, of which the older is forgotten whole.
- No key, or an empty one, hashes to zero.
"""

from __future__ import annotations

import struct
from typing import Final

# The service's clients refuse longer keys. A longer one is still placed, but not remembered.
KEY_LENGTH_MAX: Final = 128
REMEMBERED_KEYS: Final = 262_144

_MASK: Final = 0xFFFFFFFF
_START: Final = 0xDEADBEEF
_BLOCK: Final = 12
_words: Final = struct.Struct("<III").unpack_from


def hash_code(key: str) -> int:
    """The signed 16-bit number that the service makes of a partition key."""
    data = key.encode("utf-8", "surrogatepass")
    if not data:
        return 0
    a, b, c = _absorb(data)
    first, second = _finish(a, b, c)
    folded = (first ^ second) & 0xFFFF
    return folded - 0x10000 if folded & 0x8000 else folded


def partition_for_hash(code: int, partition_count: int) -> int:
    """The partition's number for a hash code, with the division that the service uses."""
    return abs(code) % partition_count


def partition_for_key(key: str, partition_count: int) -> int:
    """The partition's number for a key, hashed afresh."""
    return partition_for_hash(hash_code(key), partition_count)


def round_robin(counter: int, partition_count: int) -> int:
    """The partition's number for the next send without a key; the caller counts the sends."""
    return counter % partition_count


class KeyPlacement:
    """Places keys like `partition_for_key`, and remembers the hashes of recent ones."""

    __slots__ = ("_generation_size", "_older", "_recent")

    def __init__(self, remembered_keys: int = REMEMBERED_KEYS) -> None:
        self._generation_size = max(1, remembered_keys // 2)
        self._recent: dict[str, int] = {}
        self._older: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def partition_for(self, key: str, partition_count: int) -> int:
        """The partition's number for a key."""
        magnitude = self._recent.get(key)
        if magnitude is None:
            magnitude = self._recall(key)
        return magnitude % partition_count

    def _recall(self, key: str) -> int:
        magnitude = self._older.get(key)
        if magnitude is None:
            magnitude = abs(hash_code(key))
            if len(key) > KEY_LENGTH_MAX:
                return magnitude
        if len(self._recent) >= self._generation_size:
            self._older, self._recent = self._recent, {}
        self._recent[key] = magnitude
        return magnitude


def _absorb(data: bytes) -> tuple[int, int, int]:
    """Takes in all bytes: whole blocks but the last are mixed, the last is padded and added."""
    a = b = c = (_START + len(data)) & _MASK
    position = 0
    last_block = (len(data) - 1) // _BLOCK * _BLOCK
    while position < last_block:
        x, y, z = _words(data, position)
        a, b, c = _mix(a + x & _MASK, b + y & _MASK, c + z & _MASK)
        position += _BLOCK
    x, y, z = _words(data[position:].ljust(_BLOCK, b"\0"))
    return a + x & _MASK, b + y & _MASK, c + z & _MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a = (a - c & _MASK) ^ (c << 4 & _MASK | c >> 28)
    c = c + b & _MASK
    b = (b - a & _MASK) ^ (a << 6 & _MASK | a >> 26)
    a = a + c & _MASK
    c = (c - b & _MASK) ^ (b << 8 & _MASK | b >> 24)
    b = b + a & _MASK
    a = (a - c & _MASK) ^ (c << 16 & _MASK | c >> 16)
    c = c + b & _MASK
    b = (b - a & _MASK) ^ (a << 19 & _MASK | a >> 13)
    a = a + c & _MASK
    c = (c - b & _MASK) ^ (b << 4 & _MASK | b >> 28)
    b = b + a & _MASK
    return a, b, c


def _finish(a: int, b: int, c: int) -> tuple[int, int]:
    """Both results of the hash, the primary one first."""
    c = (c ^ b) - (b << 14 & _MASK | b >> 18) & _MASK
    a = (a ^ c) - (c << 11 & _MASK | c >> 21) & _MASK
    b = (b ^ a) - (a << 25 & _MASK | a >> 7) & _MASK
    c = (c ^ b) - (b << 16 & _MASK | b >> 16) & _MASK
    a = (a ^ c) - (c << 4 & _MASK | c >> 28) & _MASK
    b = (b ^ a) - (a << 14 & _MASK | a >> 18) & _MASK
    c = (c ^ b) - (b << 24 & _MASK | b >> 8) & _MASK
    return c, b
