"""The ledger in memory, with a fault that Azurite has and Blob storage has not.

A renewal of a lease that has ended is done whatever its id is, and for the id that the lease had:
who renews is told that all is well, and the lease is a dead owner's again.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.ledger.layout import Kind
from tidegate.ledger.memory import MemoryLedger
from tidegate.model import LeaseState
from tidegate.ports import Renew


class AzuritesLedger(MemoryLedger):
    """See the module."""

    def _renew(self, operation: Renew, now: float) -> None:
        blob = self._blobs.get((Kind.OWNERSHIP, operation.partition))
        if blob is not None and blob.state(now) is LeaseState.EXPIRED:
            assert blob.lease_id is not None
            operation = replace(operation, lease_id=blob.lease_id)
        super()._renew(operation, now)
