"""MurmurHash3, the hash that spreads partition keys: 32 bits, and 128 bits for x64. Pure.

Rule: it gives exactly what the published algorithm gives for the seed 0, because clients work the
same hashes out by themselves.
"""

from __future__ import annotations

_M32 = 0xFFFFFFFF
_M64 = 0xFFFFFFFFFFFFFFFF
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def murmur3_32(data: bytes) -> int:
    """The hash of 32 bits."""
    hashed = 0
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        hashed ^= _mixed_32(int.from_bytes(data[at : at + 4], "little"))
        hashed = (_rotated_32(hashed, 13) * 5 + 0xE6546B64) & _M32
    if whole < len(data):
        hashed ^= _mixed_32(int.from_bytes(data[whole:], "little"))
    hashed ^= len(data)
    hashed = ((hashed ^ (hashed >> 16)) * 0x85EBCA6B) & _M32
    hashed = ((hashed ^ (hashed >> 13)) * 0xC2B2AE35) & _M32
    return hashed ^ (hashed >> 16)


def murmur3_128(data: bytes) -> tuple[int, int]:
    """The two halves, of 64 bits each, of the hash of 128 bits."""
    first = second = 0
    whole = len(data) & ~15
    for at in range(0, whole, 16):
        first ^= _mixed_first(int.from_bytes(data[at : at + 8], "little"))
        first = ((_rotated_64(first, 27) + second) * 5 + 0x52DCE729) & _M64
        second ^= _mixed_second(int.from_bytes(data[at + 8 : at + 16], "little"))
        second = ((_rotated_64(second, 31) + first) * 5 + 0x38495AB5) & _M64
    rest = data[whole:]
    if len(rest) > 8:
        second ^= _mixed_second(int.from_bytes(rest[8:], "little"))
    if rest:
        first ^= _mixed_first(int.from_bytes(rest[:8], "little"))
    first ^= len(data)
    second ^= len(data)
    first = (first + second) & _M64
    second = (second + first) & _M64
    first, second = _ended(first), _ended(second)
    first = (first + second) & _M64
    return first, (second + first) & _M64


def _mixed_32(block: int) -> int:
    return (_rotated_32((block * 0xCC9E2D51) & _M32, 15) * 0x1B873593) & _M32


def _mixed_first(block: int) -> int:
    return (_rotated_64((block * _C1) & _M64, 31) * _C2) & _M64


def _mixed_second(block: int) -> int:
    return (_rotated_64((block * _C2) & _M64, 33) * _C1) & _M64


def _rotated_32(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _M32


def _rotated_64(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _M64


def _ended(value: int) -> int:
    value = ((value ^ (value >> 33)) * 0xFF51AFD7ED558CCD) & _M64
    value = ((value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53) & _M64
    return value ^ (value >> 33)
