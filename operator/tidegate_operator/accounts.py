"""Storage accounts, each with its connections: shared by all groups whose ledgers are there.

Rules: groups with the same settings share the SDK's client too. So many requests to an account at
once, and the others wait their turn here, where no time limit of theirs runs yet. All of it belongs
to one event loop.
"""

from __future__ import annotations

import asyncio
import weakref
from dataclasses import dataclass, field, replace
from typing import Any

from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob.aio import ContainerClient

from tidegate.ledger.access import BlobSettings, open_container, open_transport

_AT_ONCE = 16


@dataclass(slots=True)
class Account:
    """One place that is connected to."""

    transport: AioHttpTransport
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


class Accounts:
    """See the module."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[str, str], Account] = {}
        self._clients: weakref.WeakValueDictionary[BlobSettings, ContainerClient] = (
            weakref.WeakValueDictionary()
        )
        self._identity: Any = None

    def identity(self) -> Any:
        """The operator's own, for the accounts that are reached with one."""
        if self._identity is None:
            # Imported here: only who uses an identity pays the time that this import takes.
            from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

            self._identity = DefaultAzureCredential()
        return self._identity

    def account(self, blobs: BlobSettings) -> Account:
        place = (blobs.host, blobs.ca_file)
        if place not in self._accounts:
            self._accounts[place] = Account(open_transport(blobs))
        return self._accounts[place]

    def client(self, blobs: BlobSettings) -> ContainerClient:
        if blobs.uses_identity:
            blobs = replace(blobs, token_source=self.identity)
        client = self._clients.get(blobs)
        if client is None:
            client = open_container(blobs, self.account(blobs).transport)
            self._clients[blobs] = client
        return client

    @property
    def counts(self) -> tuple[int, int]:
        """Of accounts, and of clients."""
        return len(self._accounts), len(self._clients)

    async def close(self) -> None:
        for account in self._accounts.values():
            await account.transport.close()
        self._accounts.clear()
        if self._identity is not None:
            await self._identity.close()
