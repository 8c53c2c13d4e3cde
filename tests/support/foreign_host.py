"""A host of another change feed processor, as far as leases go: it writes what it knows."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from tidegate.ledger.cosmos.dialects import (
    Dialect,
    base_of,
    new_lease,
    read_lease,
    stamped,
    with_etag,
    with_owner,
)
from tidegate.ledger.cosmos.marks import MARK
from tidegate.ledger.cosmos.requests import LeaseContainer
from tidegate.ledger.cosmos.tokens import Monitored


class ForeignHost:
    """One host. `keeps_unknown`: it writes back what it does not know, as no host of today does.

    `gives_keys`: its leases have partition keys of their own, as .NET's in a container by such.
    """

    def __init__(
        self,
        items: LeaseContainer,
        of: Monitored,
        dialect: Dialect,
        prefix: str = "",
        name: str = "host-1",
        *,
        keeps_unknown: bool = False,
        gives_keys: bool = False,
    ) -> None:
        self._items = items
        self._of = of
        self._dialect = dialect
        self.base = base_of(of, prefix, dialect)
        self.name = name
        self._keeps_unknown = keeps_unknown
        self._gives_keys = gives_keys

    async def make(self, token: str, etag: str | None = None) -> None:
        """A lease, as at its first start or after a split."""
        made = new_lease(self.base, self._dialect, token, etag, self._of)
        if self._gives_keys:
            made = {**made, "partitionKey": str(uuid.uuid4())}
        assert await self._items.create(stamped(made, self._items.server_time)) is not None

    async def make_info(self) -> None:
        assert await self._items.create({"id": f"{self.base}.info"}) is not None

    async def lease(self, token: str) -> dict[str, Any]:
        found = await self._items.read(f"{self.base}..{token}")
        assert found is not None, f"there is no lease {token}"
        return found

    async def take(self, token: str) -> None:
        """Becomes its owner, whoever is."""
        await self._write(with_owner(await self.lease(token), self.name))

    async def renew(self, token: str) -> bool:
        """Whether it is still the owner."""
        lease = await self.lease(token)
        if lease["Owner"] != self.name:
            return False
        await self._write(lease)
        return True

    async def read_up_to(self, token: str, etag: str) -> None:
        lease = await self.lease(token)
        await self._write(with_etag(lease, self._dialect, etag, self._of))

    async def let_go(self, token: str) -> None:
        await self._write(with_owner(await self.lease(token), None))

    async def remove(self, token: str) -> None:
        assert await self._items.delete(await self.lease(token))

    async def etag(self, token: str) -> str | None:
        """Where it would go on, had it the lease now."""
        return read_lease(await self.lease(token), self._dialect, self._of).etag

    async def _write(self, lease: Mapping[str, Any]) -> None:
        written = dict(stamped(lease, self._items.server_time))
        if not self._keeps_unknown:
            written.pop(MARK, None)
        assert await self._items.replace(written) is not None
