"""Slices in a real container: written, listed, read by ranges, taken over, removed."""

from __future__ import annotations

import base64
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.slice_members import PARTITION, SHAPE
from tidegate.ledger.access import BlobSettings
from tidegate.slices.blobs import SliceBlobs
from tidegate.slices.life import Trail
from tidegate.slices.naming import PARQUET, PROJECTION, Version
from tidegate.slices.opening import SUFFIXES, stored_slice
from tidegate.slices.plain import PlainContents, plain_from
from tidegate.slices.reading import home_in
from tidegate.slices.shape import SliceError, SliceGone, SliceStorageError

START = 1_769_900_340


@pytest.fixture
async def blobs(azurite: str) -> AsyncIterator[SliceBlobs]:
    container = f"slices-{uuid.uuid4().hex[:12]}"
    opened = SliceBlobs(BlobSettings(container, connection_string=azurite, create=True), "a/b")
    yield opened
    await opened.close()


def contents(homes: int) -> PlainContents:
    found = PlainContents(SHAPE)
    for home in range(homes):
        found.add((f"home-{home:06}", "smoke"), (1, home % 7 == 0, home, home, home))
    return found


async def test_a_slice_is_written_found_and_read_by_ranges(blobs: SliceBlobs) -> None:
    version = Version(PARTITION, START, 4711)
    assert await blobs.versions(version) == {}  # not even a container
    data = contents(3000).encoded(version)
    await blobs.put(version, PROJECTION, data)
    await blobs.put(version, PARQUET, b"x")
    await blobs.put(Version("30", START, 1), PROJECTION, data)
    listed = await blobs.versions(version)
    assert {one: set(files) for one, files in listed.items()} == {version: {PROJECTION, PARQUET}}
    assert await blobs.get(version, PROJECTION) == data

    async def read(offset: int, length: int) -> bytes:
        return await blobs.range(version, PROJECTION, offset, length)

    found = await home_in(read, "home-002107")
    assert found is not None
    assert found.flagged == found.rows
    assert found.rows[0]["last"] == 2107


async def test_who_takes_over_goes_on_with_the_version_of_the_checkpoint(blobs: SliceBlobs) -> None:
    for end in (5, 9, 14):
        version = Version(PARTITION, START, end)
        for suffix in SUFFIXES:
            await blobs.put(version, suffix, contents(end).encoded(version))
    await blobs.put(Version(PARTITION, START, 12), PARQUET, b"half of a version")
    trail = Trail()
    stored = await stored_slice(blobs, Version(PARTITION, START, 0), 10, 9, trail)
    assert stored is not None
    assert stored[0].end == 9
    assert len(plain_from(stored[1])) == 9
    assert await ends(blobs) == {5, 9, 12, 14}, "a later owner may have written what lies beyond"
    assert trail.removable(9) == [(START, 5)]
    assert not trail.withdrawable(10)
    beyond = trail.withdrawable(11)
    assert {version.end for version in beyond} == {12, 14}
    again = Version(PARTITION, START, 14)
    await blobs.put(again, PROJECTION, b"of the next owner", beyond[again][PROJECTION])
    await blobs.withdraw(beyond)
    assert await ends(blobs) == {5, 9, 14}
    assert await blobs.get(again, PROJECTION) == b"of the next owner"
    with pytest.raises(SliceError, match="belongs to the checkpoint and is not there"):
        await stored_slice(blobs, Version(PARTITION, START, 0), 10, 8, trail)


async def test_nobody_writes_over_what_another_has_written_since_he_looked(
    blobs: SliceBlobs,
) -> None:
    version = Version(PARTITION, START, 1)
    etag = await blobs.put(version, PROJECTION, b"first")
    with pytest.raises(SliceStorageError, match="written meanwhile"):
        await blobs.put(version, PROJECTION, b"by one who thinks that there is nothing")
    assert (await blobs.versions(version))[version] == {PROJECTION: etag}
    assert await blobs.put(version, PROJECTION, b"second", etag) != etag
    with pytest.raises(SliceStorageError, match="written meanwhile"):
        await blobs.put(version, PROJECTION, b"late", etag)
    assert await blobs.get(version, PROJECTION) == b"second"


async def ends(blobs: SliceBlobs) -> set[int]:
    return {version.end for version in await blobs.versions(Version(PARTITION, START, 0))}


async def test_what_is_removed_twice_is_no_matter(blobs: SliceBlobs) -> None:
    version = Version(PARTITION, START, 1)
    await blobs.put(version, PROJECTION, b"x")
    for _ in range(2):
        await blobs.remove([version], SUFFIXES)
    assert await blobs.versions(version) == {}


async def test_a_storage_that_refuses_is_told_in_words_without_a_secret() -> None:
    lost = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=c2VjcmV0;" + (
        "BlobEndpoint=http://127.0.0.1:9/a;"
    )
    blobs = SliceBlobs(BlobSettings("slices", connection_string=lost), "a")
    try:
        with pytest.raises(SliceError) as error:
            await blobs.put(Version(PARTITION, START, 1), PROJECTION, b"x")
        assert "127.0.0.1:9" in str(error.value)
        assert "c2VjcmV0" not in str(error.value)
    finally:
        await blobs.close()


async def test_what_is_gone_is_told_apart_from_what_may_not_be_read(
    blobs: SliceBlobs, azurite: str
) -> None:
    version = Version(PARTITION, START, 1)
    await blobs.put(version, PROJECTION, b"x")
    with pytest.raises(SliceGone):
        await blobs.range(Version(PARTITION, START, 2), PROJECTION, 0, 1)
    said = dict(part.split("=", 1) for part in azurite.split(";") if part)
    said["AccountKey"] = base64.b64encode(b"another key of this account").decode()
    wrong = ";".join(f"{name}={value}" for name, value in said.items())
    refused = SliceBlobs(replace(blobs._settings, connection_string=wrong), "a/b")
    try:
        with pytest.raises(SliceStorageError) as problem:
            await refused.range(version, PROJECTION, 0, 1)
    finally:
        await refused.close()
    assert not isinstance(problem.value, SliceGone)
