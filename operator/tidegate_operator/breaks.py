"""Leases of the dead, ended early: rule 9. Pure.

Rules:
- A death is confirmed where the kubelet has reported that the very container ended in which the
  member's process began, none runs in its place, and none will before the lease would have run
  out by itself: the pod is being deleted, has ended, or backs off for longer than a lease.
- A pod that has vanished, or whose node says nothing, confirms nothing. What was confirmed before
  the pod vanished, or by how it was when it did, stays so for as long as a lease can last.
- Clocks are not compared with the operator's: the beginning of the process and of the container are
  told by one node, and the back-off and the lease both count from the container's end.
- Each break names the ETag of the tenure that was seen. It is asked for once for each listing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.model import Listing, MemberName, Presence
from tidegate_operator.model import BreakLease, Ended, PodFacts

# No lease is longer.
_KEPT_S = 60.0
# The kubelet's times are whole seconds, cut off.
_SECOND = 1.0
_BACK_OFF = re.compile(r"back-off (?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)? ")


@dataclass(frozen=True, slots=True)
class Death:
    """A process that has ended and does not come back in time."""

    pod_uid: str
    life: Ended
    why: str
    # By the operator's clock: when a pod last showed it.
    seen_at: float


def deaths(
    pods: Collection[PodFacts],
    gone: Collection[PodFacts],
    before: Mapping[str, Death],
    lease_s: float,
    now: float,
) -> dict[str, Death]:
    """By pod, whose end is confirmed, with those that were confirmed before their pod vanished.

    `gone` are those that have vanished since the last look, as they were then.
    """
    names = {pod.name for pod in pods}
    found = {
        name: death
        for name, death in before.items()
        if name not in names and now - death.seen_at < _KEPT_S
    }
    for pod in (*gone, *pods):
        life, why = pod.container.last_end, _why_for_good(pod, lease_s)
        if life is not None and why:
            found[pod.name] = Death(pod.uid, life, why, now)
    return found


def _why_for_good(pod: PodFacts, lease_s: float) -> str:
    """Why no container of this pod begins before a lease has run out; '' where one may."""
    if pod.container.running is not None:
        return ""
    if pod.is_deleting:
        return "its container has ended and its pod is being deleted"
    if pod.phase in ("Failed", "Succeeded"):
        return f"its pod has ended ({pod.phase})"
    back_off = back_off_s(pod)
    if back_off > lease_s:
        return f"its container has ended and is started again only after {back_off:g} s"
    return ""


def back_off_s(pod: PodFacts) -> float:
    """How long after its end the kubelet starts a container again; 0 where it does not say."""
    if pod.container.waiting != "CrashLoopBackOff":
        return 0.0
    said = _BACK_OFF.search(f"{pod.container.waiting_message} ")
    if said is None:
        return 0.0
    hours, minutes, seconds = (float(part or 0) for part in said.groups())
    return hours * 3600 + minutes * 60 + seconds


def dead_members(listing: Listing, found: Mapping[str, Death]) -> dict[MemberName, Death]:
    """The members whose process is one of those that ended: one, or all of a driver's."""
    by_pod = {death.pod_uid: death for death in found.values()}
    return {
        name: death
        for name, presence in listing.members.items()
        if (death := by_pod.get(presence.pod_uid)) is not None and _is_life_of(presence, death)
    }


def breaks(listing: Listing, found: Mapping[str, Death]) -> tuple[BreakLease, ...]:
    """The leases that only the dead hold."""
    dead = dead_members(listing, found)
    return tuple(
        BreakLease(row.partition, row.etag, row.owner.name, dead[row.owner.name].why)
        for row in listing.ownerships.values()
        if row.lease.is_held
        and not row.is_foreign
        and row.owner is not None
        and row.owner.name in dead
        and row.owner.incarnation == listing.members[row.owner.name].incarnation
    )


def is_of(life: Ended, started_at: float) -> bool:
    """Whether a process that began then, by its node's clock, was of this life of a container."""
    return life.began <= started_at < life.ended + _SECOND


def _is_life_of(presence: Presence, death: Death) -> bool:
    return presence.pod_uid == death.pod_uid and is_of(death.life, presence.started_at)
