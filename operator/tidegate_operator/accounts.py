"""Storage accounts, each with its connections: shared by all groups whose ledgers are there.

Rules: groups that are let in with the same credentials share the SDK's client, too, and have none
of their own. So many requests to an account at once, and the others wait their turn here, where no
time limit of theirs runs yet. The operator's own identity goes to no host that is not allowed. All
of it belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob.aio import BlobServiceClient

from tidegate.commands.ledgers import LedgerPlace
from tidegate.ledger.access import BlobSettings, open_account, open_transport
from tidegate.ledger.containers import SharedContainer
from tidegate_operator.identity import IdentityHosts, check

if TYPE_CHECKING:
    from tidegate.ledger.cosmos.access import CosmosSettings

_AT_ONCE = 16


@dataclass(slots=True)
class Account:
    """One place that is connected to."""

    transport: AioHttpTransport
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))


class Accounts:
    """See the module."""

    def __init__(self, identity_hosts: IdentityHosts) -> None:
        self._identity_hosts = identity_hosts
        self._accounts: dict[tuple[str, str], Account] = {}
        self._clients: weakref.WeakValueDictionary[BlobSettings, BlobServiceClient] = (
            weakref.WeakValueDictionary()
        )
        self._identity: Any = None
        self._rooms: dict[str, asyncio.Semaphore] = {}

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

    def room(self, place: LedgerPlace) -> asyncio.Semaphore:
        """For requests to one account at once."""
        if isinstance(place, BlobSettings):
            return self.account(place).room
        return self._rooms.setdefault(place.settings.host, asyncio.Semaphore(_AT_ONCE))

    def check_leases(self, settings: CosmosSettings) -> None:
        """Raises IdentityRefusedError."""
        if settings.uses_identity:
            check("spec.ledger.cosmos.endpoint", settings.endpoint, self._identity_hosts.cosmos)

    def client(self, blobs: BlobSettings) -> SharedContainer:
        """Raises IdentityRefusedError."""
        if blobs.uses_identity:
            check("spec.ledger.accountUrl", blobs.account_url, self._identity_hosts.storage)
            blobs = replace(blobs, token_source=self.identity)
        # All that it is let in with; which container it is for makes no difference.
        anywhere = replace(blobs, container="any-container", create=False)
        client = self._clients.get(anywhere)
        if client is None:
            client = open_account(anywhere, self.account(blobs).transport)
            self._clients[anywhere] = client
        # As long as one is used, so is what it shares with others.
        return SharedContainer(client, blobs.container)

    async def keep_only(self, used: Collection[tuple[str, str]]) -> None:
        """Closes the connections to hosts, each with its certificate, that no group needs."""
        for place in self._accounts.keys() - set(used):
            account = self._accounts.pop(place)
            # One that comes later must not find a client whose connections are closed.
            for blobs in list(self._clients.keys()):
                if (blobs.host, blobs.ca_file) == place:
                    self._clients.pop(blobs, None)
            await account.transport.close()

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
