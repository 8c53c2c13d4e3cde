"""A container in an account that many groups share, with nothing large of its own.

Rules: it stands in for the SDK's client of a container, for what a ledger asks of one. That client
has policies of its own, 28 KB of them, although it sends nothing by them; here all of that is the
account's. Clients of a blob are made for one request and let go, as the ledger makes them anyway.
"""

from __future__ import annotations

from typing import Any

from azure.storage.blob.aio import BlobClient, BlobServiceClient, ContainerClient


class SharedContainer:
    """See the module. It keeps the account's client, which belongs to the running event loop."""

    __slots__ = ("_account", "_name", "url")

    def __init__(self, account: BlobServiceClient, name: str) -> None:
        self._account = account
        self._name = name
        # With the SAS in it, where that is how one is let in.
        self.url: str = account.get_container_client(name).url

    @property
    def _pipeline(self) -> Any:
        """As the SDK calls it, and where blob_reads.py finds it."""
        return self._account._pipeline

    def get_blob_client(self, blob: str) -> BlobClient:
        return self._account.get_blob_client(self._name, blob)

    async def create_container(self) -> None:
        await self._account.get_container_client(self._name).create_container()

    async def close(self) -> None:
        """There is nothing to close: the connections are closed by whoever made them."""


Container = ContainerClient | SharedContainer
