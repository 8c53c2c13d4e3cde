"""What a member gives away, and what it lets go. Pure.

Rule 7: the living give. A partition goes to the member that the plan names once that member has
announced a lease id for it; what nobody shall read is released, and so is everything where nobody
else is there. Who stops waits for others to want what it has for as long as the calmest of them
takes to look at the ledger: then it releases it, and whoever is planned for it claims it. It does
not wait at all for one who declines a partition.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tidegate.member.messages import Command
from tidegate.member.tenures import Tenures
from tidegate.model import Listing, MemberName, PartitionId, Rewind


def give(
    tenures: Tenures,
    listing: Listing,
    assignment: Mapping[PartitionId, MemberName],
    rewinds: Collection[Rewind],
    others: Collection[MemberName],
    name: MemberName,
    now: float,
    *,
    is_stopping: bool,
    is_patient: bool,
) -> list[Command]:
    """Acts on the part of the plan that concerns what this member owns."""
    commands: list[Command] = []
    # A roster has one rewind a partition; where it has more, the last one counts.
    rewound = {rewind.partition: rewind for rewind in rewinds}
    for partition in list(tenures.live):
        target = assignment.get(partition)
        # A stopping member is planned for what it has only where all others stop as well: nobody
        # will want it, so it is released.
        if target == name and not is_stopping:
            tenures.touch(partition).stay()
            if partition in rewound:
                commands += tenures.touch(partition).rewind(now, rewound[partition])
        elif target in (None, name) or not others:
            commands += tenures.touch(partition).leave(now)
        else:
            presence = listing.members.get(target)
            lease_id = presence.wants.get(partition) if presence is not None else None
            declines = presence is not None and partition in presence.declines
            if lease_id is not None:
                commands += tenures.touch(partition).leave(now, target, lease_id)
            elif is_stopping and (declines or not is_patient):
                commands += tenures.touch(partition).leave(now)
    return commands
