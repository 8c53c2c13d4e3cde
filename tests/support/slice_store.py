"""The blobs of slices in memory, and a writer that is killed after so many of its writes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from itertools import count
from typing import Any, TypeVar

from tidegate.slices.naming import PROJECTION, Version, version_of
from tidegate.slices.shape import SliceError, SliceGone, SliceStorageError

T = TypeVar("T")


class Killed(Exception):
    """The process that wrote has ended."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs to its end what waits for nothing but blobs in memory."""
    return asyncio.run(work)


class MemoryBlobs:
    """What SliceBlobs does. `writes_left`: it is killed at the write or removal after these."""

    def __init__(self, prefix: str = "out") -> None:
        self.prefix = prefix
        self.blobs: dict[str, bytes] = {}
        self.etags: dict[str, str] = {}
        self._numbers = count(1)
        self.writes_left: int | None = None
        self.reads = self.listings = 0
        self.is_silent = False
        # What is there is listed, and may not be read.
        self.refuses_reads = False

    async def put(self, version: Version, suffix: str, data: bytes, known: str = "") -> str:
        self._write()
        name = version.name(self.prefix, suffix)
        if self.etags.get(name, "") != known:
            raise SliceStorageError(f"{name} was written meanwhile")
        self.blobs[name], self.etags[name] = data, str(next(self._numbers))
        return self.etags[name]

    async def get(self, version: Version, suffix: str) -> bytes:
        self.reads += 1
        try:
            return self.blobs[version.name(self.prefix, suffix)]
        except KeyError:
            raise SliceError(f"{version} is not there") from None

    async def versions(self, slice_: Version) -> dict[Version, dict[str, str]]:
        self.reads += 1
        found: dict[Version, dict[str, str]] = {}
        for name in self.blobs:
            parsed = version_of(name)
            if parsed is not None and name.startswith(slice_.folder(self.prefix)):
                found.setdefault(parsed[0], {})[parsed[1]] = self.etags[name]
        return found

    async def range(self, version: Version, suffix: str, offset: int, length: int) -> bytes:
        self.reads += 1
        if self.refuses_reads:
            raise SliceStorageError("the storage account refuses this credential")
        try:
            return self.blobs[version.name(self.prefix, suffix)][offset : offset + length]
        except KeyError:
            raise SliceGone(f"{version} is not there") from None

    async def below(self, beginning: str) -> dict[Version, int]:
        self.listings += 1
        if self.is_silent:
            raise SliceStorageError("no reply in time from the storage account")
        front = f"{self.prefix}/{beginning}"
        parsed = {name: version_of(name) for name in self.blobs if name.startswith(front)}
        return {
            found[0]: len(self.blobs[name])
            for name, found in parsed.items()
            if found is not None and found[1] == PROJECTION
        }

    async def remove(self, versions: Iterable[Version], suffixes: Iterable[str]) -> None:
        endings = list(suffixes)
        for version in versions:
            for suffix in endings:
                self._write()
                self._take(version.name(self.prefix, suffix))

    async def withdraw(self, beyond: Mapping[Version, Mapping[str, str]]) -> None:
        for version, files in beyond.items():
            for suffix, etag in files.items():
                self._write()
                name = version.name(self.prefix, suffix)
                if self.etags.get(name) == etag:
                    self._take(name)

    def _take(self, name: str) -> None:
        self.blobs.pop(name, None)
        self.etags.pop(name, None)

    async def close(self) -> None:
        pass

    def _write(self) -> None:
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise Killed
            self.writes_left -= 1
