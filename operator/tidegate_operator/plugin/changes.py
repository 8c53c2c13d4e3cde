"""What is written of a ConsumerGroup, as merge patches of its spec. Pure.

Rules: a patch touches nothing but what was asked for. One that depends on what stands there says
of which resourceVersion, so that two people do not undo each other's work. None is nothing to do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.model import MemberName, PartitionId
from tidegate.ops.board import by_number
from tidegate.ops.live import ranges

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A patch, and what it does, in words; an empty patch only says why there is none to do."""

    patch: Mapping[str, Any]
    said: str
    # Only if nobody wrote the group since it was read.
    is_fenced: bool = False


def pause(document: Document, partitions: Collection[PartitionId]) -> Change:
    """Nobody reads these partitions, or, without any, the whole group."""
    spec = document.get("spec") or {}
    if not partitions:
        if spec.get("paused"):
            return Change({}, "is paused already")
        return Change({"spec": {"paused": True}}, "paused")
    stood = _paused(document)
    wanted = stood | set(partitions)
    what = _partitions(partitions)
    if wanted == stood:
        return Change({}, f"{what} paused already")
    return _of_partitions(wanted, f"{what} paused")


def resume(document: Document, partitions: Collection[PartitionId]) -> Change:
    """These partitions are read again, or, without any, the whole group."""
    spec = document.get("spec") or {}
    stood = _paused(document)
    if not partitions:
        left = f"; {_partitions(stood)} still paused" if stood else ""
        if not spec.get("paused"):
            return Change({}, f"is not paused{left}")
        return Change({"spec": {"paused": False}}, f"resumed{left}")
    what = _partitions(partitions)
    if not stood & set(partitions):
        return Change({}, f"{what} not paused")
    whole = "; the whole group is still paused" if spec.get("paused") else ""
    return _of_partitions(stood - set(partitions), f"{what} resumed{whole}")


def pin(document: Document, partition: PartitionId, member: MemberName) -> Change:
    """The partition goes to this member, and stays there."""
    if _pins(document).get(partition) == member:
        return Change({}, f"partition {partition} is pinned to {member} already")
    return Change(
        {"spec": {"pins": {partition: member}}}, f"partition {partition} pinned to {member}"
    )


def unpin(document: Document, partition: PartitionId) -> Change:
    """The partition is balanced like all others."""
    if partition not in _pins(document):
        return Change({}, f"partition {partition} is not pinned")
    return Change({"spec": {"pins": {partition: None}}}, f"partition {partition} no longer pinned")


def scale(document: Document, replicas: int | None) -> Change:
    """A fixed number of consumers, or, with None, as many as the operator decides."""
    stands = (document.get("spec") or {}).get("replicas")
    if stands == replicas:
        return Change({}, "is so already")
    said = "is sized by the operator" if replicas is None else f"replicas: {replicas}"
    return Change({"spec": {"replicas": replicas}}, said)


def _of_partitions(wanted: Collection[PartitionId], said: str) -> Change:
    """A list is replaced as a whole, so it must be the one that was read."""
    listed: Sequence[PartitionId] = sorted(wanted, key=by_number)
    return Change({"spec": {"pausedPartitions": list(listed) or None}}, said, is_fenced=True)


def _paused(document: Document) -> set[PartitionId]:
    return set((document.get("spec") or {}).get("pausedPartitions") or ())


def _pins(document: Document) -> Mapping[PartitionId, MemberName]:
    return (document.get("spec") or {}).get("pins") or {}


def _partitions(partitions: Collection[PartitionId]) -> str:
    noun, verb = ("partition", "is") if len(partitions) == 1 else ("partitions", "are")
    return f"{noun} {listed(partitions)} {verb}"


def listed(partitions: Collection[PartitionId]) -> str:
    """The partitions in order, neighbours together."""
    return ranges(partitions)
