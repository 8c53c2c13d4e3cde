"""A slice from its blobs: exactly the version that belongs to the place where its reader stands.

Rules: nothing is removed here. What lies beyond that place, what was only half written and older
versions are remembered, to be removed when a checkpoint allows it: who reads may have lost the
partition without knowing, and then what lies beyond is its successor's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tidegate.slices.life import Files, Trail, choose
from tidegate.slices.naming import PARQUET, PROJECTION, Version

# The blobs of a version; a version counts by its projection.
SUFFIXES = (PROJECTION, PARQUET)


class Blobs(Protocol):
    """What is used of the container: see blobs.py."""

    prefix: str

    async def put(self, version: Version, suffix: str, data: bytes, known: str = "") -> str: ...

    async def get(self, version: Version, suffix: str) -> bytes: ...

    async def versions(self, slice_: Version) -> dict[Version, dict[str, str]]: ...

    async def remove(self, versions: Iterable[Version], suffixes: Iterable[str]) -> None: ...

    async def withdraw(self, beyond: Mapping[Version, Files]) -> None: ...

    async def close(self) -> None: ...


async def stored_slice(
    blobs: Blobs, slice_: Version, after: int, named: int | None, trail: Trail
) -> tuple[Version, bytes] | None:
    """The version that counts, and its projection. `slice_` says which slice. Raises SliceError."""
    found = await blobs.versions(slice_)
    whole = [
        version
        for version, files in found.items()
        if PROJECTION in files and version not in trail.beyond
    ]
    chosen = choose(whole, after, slice_, named)
    counting = (chosen.version, *chosen.older)
    beyond = {version: files for version, files in found.items() if version not in counting}
    trail.saw(slice_, beyond, after)
    for version in chosen.older:
        trail.has(version)
    if chosen.version is None:
        return None
    trail.has(chosen.version)
    return chosen.version, await blobs.get(chosen.version, PROJECTION)
