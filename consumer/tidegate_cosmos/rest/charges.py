"""What a request costs, in request units. Pure.

Rules: plausible, not exact: the published rules of thumb, in kilobytes begun. A read of 1 KB costs
one unit, a write five to ten, a query or a page of the feed something for itself and something for
what it gives.
"""

from __future__ import annotations

from collections.abc import Iterable

_KB = 1_024


def read(body: bytes) -> float:
    return float(_kilobytes(len(body)))


def created(body: bytes) -> float:
    return 5.3 + 1.4 * _kilobytes(len(body))


def replaced(body: bytes) -> float:
    return 9.3 + 1.4 * _kilobytes(len(body))


def deleted(body: bytes) -> float:
    return 4.8 + 1.4 * _kilobytes(len(body))


def queried(bodies: Iterable[bytes], items_seen: int) -> float:
    return 2.3 + 0.03 * items_seen + 0.4 * _kilobytes(sum(map(len, bodies)))


def fed(bodies: Iterable[bytes]) -> float:
    size = sum(map(len, bodies))
    return 1.0 + (0.5 * _kilobytes(size) if size else 0.0)


def _kilobytes(size: int) -> int:
    return max(1, -(-size // _KB))
