"""Looks at a group's members alone, between two looks at its whole ledger.

A listing of a whole ledger is long, and most of it is checkpoints. On a group on which nothing goes
on, what its members say of themselves is enough: who lives, what each reads, how far it is.

Rules: what they say has to agree with what was listed before, member by member and partition by
partition. Where it does not, or where a member does not say it of all that it owns, the whole
ledger is looked at at once. So a partition that moves is seen as soon as by a whole look.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace

from azure.core.exceptions import AzureError
from azure.storage.blob.aio import ContainerClient

from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob_reads import list_blobs
from tidegate.ledger.layout import GroupNames, Kind, listing_of
from tidegate.ledger.refusals import Spot, refusal_of
from tidegate.ledger.relisting import Relisting
from tidegate.model import Listing, MemberName, PartitionId


class QuickLooks:
    """Of one group; see the module."""

    def __init__(self, client: ContainerClient, blobs: BlobSettings, names: GroupNames) -> None:
        self._client = client
        self._blobs = blobs
        self._prefix = f"{names.prefix}{Kind.MEMBER}/"
        self._relisting = Relisting(names)

    async def look(self, before: Listing) -> Listing | None:
        """What was listed before, with what the members say now; None where that does not agree.

        Raises LedgerError.
        """
        self._relisting.begin()
        try:
            async with asyncio.timeout(self._blobs.timeout_s):
                entries, server_time = await list_blobs(
                    self._client, self._prefix, self._blobs.page_size, self._relisting.page
                )
        except (AzureError, TimeoutError, ValueError, OSError) as problem:
            # None of the texts of these is safe to show, so none is kept as a cause.
            raise refusal_of(problem, Spot.of(self._blobs, self._prefix)) from None
        self._relisting.finish()
        said = listing_of(entries, server_time)
        if said.flaws or not agrees(said, before):
            return None
        return replace(before, members=said.members, server_time=server_time)


def agrees(said: Listing, before: Listing) -> bool:
    """Whether the members say that they own what they owned, and no other member lives."""
    owned: defaultdict[MemberName, set[PartitionId]] = defaultdict(set)
    for partition, row in before.ownerships.items():
        if row.owner is not None and row.lease.is_held:
            owned[row.owner.name].add(partition)
        else:
            return False
    alive = {name for name, member in said.members.items() if member.is_alive}
    if alive != {name for name, member in before.members.items() if member.is_alive}:
        return False
    if not alive or not owned.keys() <= alive:
        return False
    return all(said.members[name].figures.keys() == owned[name] for name in alive)
