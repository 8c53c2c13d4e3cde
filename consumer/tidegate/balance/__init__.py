"""Who owns what: `plan(snapshot) -> Plan`, pure, and the same in every member.

The parts, in the order in which a plan is made: `facts` (the nouns), `group` (the snapshot made
ready), `hot` (partitions that want a member for themselves), `shares` (how many each owns),
`dealing` (which ones), `levels` and `evening` (loads), `planning` (the plan). `listed` makes
snapshots from a listing of the ledger, and `loads` the figures that members announce.
"""

from __future__ import annotations

from tidegate.balance.facts import MemberFacts, Move, PartitionFacts, Plan, Snapshot
from tidegate.balance.listed import snapshot_of
from tidegate.balance.loads import load_to_announce
from tidegate.balance.planning import plan

__all__ = [
    "MemberFacts",
    "Move",
    "PartitionFacts",
    "Plan",
    "Snapshot",
    "load_to_announce",
    "plan",
    "snapshot_of",
]
