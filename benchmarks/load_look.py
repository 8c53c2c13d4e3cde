"""What one look at a ledger costs whoever looks: a part of `make bench-load`.

Rules: the blobs are written by the product's own words for them, on Azurite; a look is the listing
as every member asks for it, read into facts. Between looks a fifth of the checkpoints has moved on,
as in 1 s of a busy group.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from azure.storage.blob.aio import ContainerClient

from harness import Line, make_line
from support.azurite import running_azurite
from tidegate.ledger import layout
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.blob_reads import list_blobs
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import Owner, Position
from tidegate.ports import List

SIZES = (32, 256, 1_024, 2_048)
LOOKS = 10
_AT_ONCE = 16


class Measured:
    """CPU of this process for a look, and the bytes of an answer."""

    def __init__(self, cpu_us: float, wall_ms: float, size: int) -> None:
        self.cpu_us, self.wall_ms, self.size = cpu_us, wall_ms, size


async def measure(azurite: str, partitions: int, looks: int) -> Measured:
    settings = BlobSettings(f"look-{partitions}", connection_string=azurite, timeout_s=60.0)
    names = GroupNames("host", "hub", f"g{partitions}")
    async with ContainerClient.from_connection_string(azurite, settings.container) as container:
        await container.create_container()
        gate = asyncio.Semaphore(_AT_ONCE)

        async def write(place: Place, metadata: dict[str, str]) -> None:
            async with gate:
                blob = container.get_blob_client(names.of(place))
                await blob.upload_blob(b"", overwrite=True, metadata=metadata)

        def checkpoint(turn: int) -> dict[str, str]:
            at = 1_000_000 + turn
            return layout.checkpoint_metadata(Position(str(at), at), 3, f"a:{turn}", 1.7e9, "")

        owner = Owner("home-activity-6d9f8c7b5-x2k4j", "0123456789abcdef")
        ownership = layout.ownership_metadata(owner, 3, "a:1")
        await asyncio.gather(
            *(write(Place(Kind.OWNERSHIP, str(n)), ownership) for n in range(partitions)),
            *(write(Place(Kind.CHECKPOINT, str(n)), checkpoint(0)) for n in range(partitions)),
        )
        size = await _bytes_of(container, names.prefix)
        ledger, cpu, wall = BlobLedger(settings, names), 0.0, 0.0
        try:
            await ledger.perform(List())
            for turn in range(1, looks + 1):
                moved = range(turn % 5, partitions, 5)
                await asyncio.gather(
                    *(write(Place(Kind.CHECKPOINT, str(n)), checkpoint(turn)) for n in moved)
                )
                before, begun = time.process_time(), time.perf_counter()
                await ledger.perform(List())
                cpu, wall = cpu + time.process_time() - before, wall + time.perf_counter() - begun
        finally:
            await ledger.close()
    return Measured(cpu / looks * 1e6, wall / looks * 1e3, size)


async def _bytes_of(container: ContainerClient, prefix: str) -> int:
    """Of the whole answer, all its pages."""
    sizes: list[int] = []

    def read(body: bytes) -> tuple[list[None], str]:
        sizes.append(len(body))
        _, begun, rest = body.partition(b"<NextMarker>")
        return [], rest.partition(b"</NextMarker>")[0].decode() if begun else ""

    await list_blobs(container, prefix, 5_000, read)
    return sum(sizes)


def lines(quick: bool) -> Iterator[Line]:
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-load-"))
        azurite = stack.enter_context(running_azurite(Path(folder)))
        for partitions in SIZES[:2] if quick else SIZES:
            found = asyncio.run(measure(azurite, partitions, 3 if quick else LOOKS))
            what = f"a look at {partitions:,} partitions"
            yield make_line(f"{what}: CPU", "us", ours=round(found.cpu_us))
            yield make_line(f"{what}: bytes", "bytes", ours=found.size)
            yield make_line(f"{what}: until it is answered", "ms", ours=round(found.wall_ms, 1))
