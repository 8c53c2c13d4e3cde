"""Looks at a group's members alone, between two looks at its whole ledger.

A listing of a whole ledger is long, and most of it is checkpoints. On a group on which nothing goes
on, what its members say of themselves is enough: who lives, what each reads, how far it is.

Rules: what they say has to agree with what was listed before, member by member and partition by
partition. Where it does not, where a member does not say it of all that it owns, or where one wants
a partition or leaves, the whole ledger is looked at at once. So a partition that moves is seen by
the next look, and one that moved wholly between two looks with the members' next figures, 2 s
later. What nobody tells of is as old as the last look at the whole: checkpoints, and a roster that
somebody else wrote.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace

from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob_reads import list_blobs
from tidegate.ledger.containers import Container
from tidegate.ledger.layout import GroupNames, Kind, listing_of
from tidegate.ledger.refusals import Spot, refusal_of
from tidegate.ledger.relisting import Relisting
from tidegate.model import Listing, Owner, PartitionId, Presence


class QuickLooks:
    """Of one group; see the module."""

    def __init__(
        self,
        client: Container,
        blobs: BlobSettings,
        names: GroupNames,
        whole: Relisting | None = None,
    ) -> None:
        """`whole` reads the whole ledger."""
        self._client = client
        self._blobs = blobs
        self._prefix = f"{names.prefix}{Kind.MEMBER}/"
        self._relisting = Relisting(names, whole)

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
        except Exception as problem:
            # Whatever an answer was, it ends this look and nothing else. None of the texts of
            # these is safe to show, so none is kept as a cause.
            spot = Spot.of(self._blobs, self._prefix)
            raise refusal_of(problem, spot, is_read=True) from None
        self._relisting.finish()
        said = listing_of(entries, server_time)
        if said.flaws or not agrees(said, before):
            return None
        return replace(before, members=said.members, server_time=server_time)


def agrees(said: Listing, before: Listing) -> bool:
    """Whether the members say that they own what they owned, and no other member lives."""
    owned: defaultdict[Owner, set[PartitionId]] = defaultdict(set)
    for partition, row in before.ownerships.items():
        if row.owner is None or not row.lease.is_held:
            return False
        owned[row.owner].add(partition)
    alive = _alive(said)
    if not alive or alive.keys() != _alive(before).keys() or not owned.keys() <= alive.keys():
        return False
    return all(
        not member.wants and not member.is_leaving and member.figures.keys() == owned[owner]
        for owner, member in alive.items()
    )


def _alive(listing: Listing) -> dict[Owner, Presence]:
    """Those who live. One that began anew under its name is another one."""
    members = listing.members.items()
    return {Owner(name, each.incarnation): each for name, each in members if each.is_alive}
