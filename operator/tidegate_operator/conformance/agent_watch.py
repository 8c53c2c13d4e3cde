"""Looks at the ledger and at what handlers have written down, by the storage SDK alone.

Rules: each look adds rows for what has changed since the look before, with the time at which all of
it had been read: nothing is told of a time at which it was not yet so. It reads, but for
`break_lease` and `tidy`. A look that fails says so once, and the next one is taken as if nothing
had been.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import defaultdict
from typing import Any

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob.aio import BlobLeaseClient, ContainerClient

from tidegate_operator.conformance.agent_place import AgentPlace
from tidegate_operator.conformance.agent_rows import Rows
from tidegate_operator.conformance.written import Written

_SILENT_S, _AGAIN_S = 10.0, 0.3


class Watch:
    """See the module."""

    def __init__(self, place: AgentPlace, storage: str) -> None:
        self._place = place
        # The next look is the other try: the SDK's own first pause is 15 s.
        self._ledger, self._seen = (
            ContainerClient.from_connection_string(storage, name, retry_total=0)
            for name in (place.ledger, place.seen)
        )
        self._is_seen_made = not place.creates_seen
        self.rows = Rows()
        self._owners: dict[str, tuple[str, int]] = {}
        self._checkpoints: dict[str, tuple[int, int]] = {}
        self._written: defaultdict[str, Written] = defaultdict(Written)
        self._ownership: dict[str, str] = {}
        self._failing_since: float | None = None

    async def close(self) -> None:
        await self._ledger.close()
        await self._seen.close()

    async def check(self) -> str:
        """What keeps the agent out of the storage; '' where nothing does."""
        try:
            await self._ledger.exists()
        except AzureError as problem:
            said = str(problem).splitlines()[0][:300]
            return (
                f"the agent cannot read container {self._place.ledger} of the ledger's storage; "
                f"its connection string needs the key of the account: {said}"
            )
        return ""

    async def until_made(self, seconds: float) -> None:
        """Handlers write into a container that is there before they are; what keeps it from being
        made for so long the looks will tell."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._is_seen_made:
                    with contextlib.suppress(AzureError):
                        await self._make_seen()
                    await asyncio.sleep(0 if self._is_seen_made else _AGAIN_S)

    async def look(self) -> None:
        try:
            if not self._is_seen_made:
                await self._make_seen()
            await self._look_at_ledger()
            await self._look_at_seen()
        except AzureError as problem:
            now = time.monotonic()
            if self._failing_since is None:
                self._failing_since = now
            elif now - self._failing_since > _SILENT_S:
                self._failing_since = float("inf")
                said = str(problem).splitlines()[0][:300]
                self.rows.add("trouble", f"storage does not answer the agent: {said}")
        else:
            self._failing_since = None

    async def _make_seen(self) -> None:
        with contextlib.suppress(ResourceExistsError):
            await self._seen.create_container()
        self._is_seen_made = True

    async def _look_at_ledger(self) -> None:
        try:
            rows = [row async for row in self._ledger.list_blobs(include=["metadata"])]
        except ResourceNotFoundError:
            return  # the group makes it
        at = time.time()
        for row in rows:
            self._take(at, row)
        there = {row.name for row in rows}
        for partition, name in list(self._ownership.items()):
            if name not in there:
                # Of a range that was split or merged.
                del self._ownership[partition], self._owners[partition]
                self.rows.add("owned", at, partition, "", 0)

    def _take(self, at: float, row: Any) -> None:
        parts = row.name.split("/")
        if len(parts) != 5 or not f"{parts[1]}/{parts[2]}/".startswith(self._place.within):
            return
        kind, partition = parts[3:]
        metadata = row.metadata or {}
        if kind == "ownership":
            self._ownership[partition] = row.name
            owner = (metadata.get("ownerid") or "").partition("/")[0]
            found = (owner, int(metadata.get("epoch") or 0))
            if self._owners.get(partition) != found:
                self._owners[partition] = found
                self.rows.add("owned", at, partition, *found)
        elif kind == "checkpoint" and "epoch" in metadata and "sequencenumber" in metadata:
            stored = (int(metadata["sequencenumber"]), int(metadata["epoch"]))
            if self._checkpoints.get(partition) != stored:
                self._checkpoints[partition] = stored
                self.rows.add("stored", at, partition, *stored)

    async def _look_at_seen(self) -> None:
        with contextlib.suppress(ResourceNotFoundError):  # the group makes it
            await self._read_seen()

    async def _read_seen(self) -> None:
        async for blob in self._seen.list_blobs(name_starts_with=f"{self._place.folder}/"):
            written = self._written[blob.name]
            if blob.size <= written.through:
                continue
            stream = await self._seen.download_blob(blob.name, offset=written.through)
            self.rows.extend(written.take(await stream.readall()))

    async def break_lease(self, partition: str) -> bool:
        """Whether there was one to break."""
        name = self._ownership.get(partition)
        if name is None:
            return False
        lease = BlobLeaseClient(self._ledger.get_blob_client(name))
        try:
            await lease.break_lease(lease_break_period=0)
        except ResourceExistsError:
            return False
        return True

    async def tidy(self) -> int:
        """Removes what handlers have written down; how many blobs that was."""
        names = [
            blob.name
            async for blob in self._seen.list_blobs(name_starts_with=f"{self._place.folder}/")
        ]
        for name in names:
            await self._seen.delete_blob(name)
        return len(names)
