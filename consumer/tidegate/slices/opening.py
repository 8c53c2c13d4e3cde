"""A slice from its blobs: exactly the version that belongs to the place where its reader stands.

Rules: what lies beyond that place is removed before anything is written, and so is what was only
half written. Older versions are remembered, to be removed when a checkpoint allows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from tidegate.slices.life import Trail, choose
from tidegate.slices.naming import PARQUET, PROJECTION, Version

# The blobs of a version; a version counts by its projection.
SUFFIXES = (PROJECTION, PARQUET)


class Blobs(Protocol):
    """What is used of the container: see blobs.py."""

    prefix: str

    async def put(self, version: Version, suffix: str, data: bytes) -> None: ...

    async def get(self, version: Version, suffix: str) -> bytes: ...

    async def versions(self, slice_: Version) -> dict[Version, set[str]]: ...

    async def remove(self, versions: Iterable[Version], suffixes: Iterable[str]) -> None: ...

    async def close(self) -> None: ...


async def stored_slice(
    blobs: Blobs, slice_: Version, after: int, named: int | None, trail: Trail
) -> tuple[Version, bytes] | None:
    """The version that counts, and its projection. `slice_` says which slice. Raises SliceError."""
    found = await blobs.versions(slice_)
    whole = [version for version, suffixes in found.items() if PROJECTION in suffixes]
    chosen = choose(whole, after, slice_, named)
    torn = [version for version in found if version not in whole]
    await blobs.remove([*chosen.beyond, *torn], SUFFIXES)
    for version in chosen.older:
        trail.has(version)
    if chosen.version is None:
        return None
    trail.has(chosen.version)
    return chosen.version, await blobs.get(chosen.version, PROJECTION)
