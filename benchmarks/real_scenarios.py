"""What a group of real processes is put through, and what is counted meanwhile.

Rules: the same for ours and for the peer, each on a hub and with events of its own; a phase that
is not over within its limit is told as not over, never as a time.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from support.fault_proxy import FaultProxy, Hold
from support.group import Group
from support.ledger_watch import ledger_watch
from support.wait import WaitedTooLong

EIGHT = tuple(f"m{number}" for number in range(8))
LEASE_S = 15.0
STALL_S = 20.0
CHECKPOINT_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one change of members brought. `over_s` is None where it was not over in time."""

    over_s: float | None
    idle_s: tuple[float, ...]
    moves: int
    duplicates: int

    def idle(self, share: float) -> float | None:
        """The idle time that so large a share of the partitions that moved did not exceed."""
        if not self.idle_s:
            return None
        ordered = sorted(self.idle_s)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def watched(
    group: Group,
    act: Callable[[], object],
    readers: set[str],
    limit_s: float,
    newcomers: Collection[str] = (),
) -> Seen:
    """Does something to a group, and waits until these members read everything evenly.

    Where processes start, the time counts from when the last of them is up: on a machine with few
    cores they wait for one another's imports, and that is not what is measured.
    """
    before, began = group.duplicates(), time.time()
    act()
    over_s: float | None
    try:
        over = group.wait_until_read_by(readers, limit_s, since=began)
        over_s = over - max([began, *(group.started_at(name) for name in newcomers)])
    except WaitedTooLong:
        over_s = None
    idle = group.idle(began, time.time())
    return Seen(over_s, tuple(idle.values()), group.moves(began), group.duplicates() - before)


def one_to_two(group: Group, limit_s: float) -> dict[str, Seen]:
    """One member, then two, then one again."""
    alone = watched(group, lambda: group.start("a"), {"a"}, limit_s, "a")
    if alone.over_s is None:
        group.stop("a")
        return {"1 to 2": alone, "2 to 1": alone}
    joined = watched(group, lambda: group.start("b"), {"a", "b"}, limit_s, "b")
    left = watched(group, lambda: group.stop("b"), {"a"}, limit_s)
    group.stop("a")
    return {"1 to 2": joined, "2 to 1": left}


def eight(group: Group, limit_s: float) -> dict[str, Seen]:
    """A cold start of eight, one of them killed and replaced, and four that leave."""
    cold = watched(group, lambda: group.start(*EIGHT), set(EIGHT), limit_s, EIGHT)
    # So that a kill repeats what a member has handled since its last checkpoint, and not all that
    # waited for it when it began.
    time.sleep(CHECKPOINT_EVERY_S + 1)
    killed = watched(group, lambda: group.kill("m7"), set(EIGHT[:7]), limit_s)
    watched(group, lambda: group.start("m8"), {*EIGHT[:7], "m8"}, limit_s)
    leaving = (*EIGHT[4:7], "m8")
    halved = watched(group, lambda: group.stop(*leaving), set(EIGHT[:4]), limit_s)
    group.stop(*EIGHT[:4])
    return {"cold 0 to 8": cold, "one of eight killed": killed, "8 to 4": halved}


@dataclass(frozen=True, slots=True)
class Restarted:
    """A member killed and started again in its place."""

    again_s: float
    own_start_s: float
    moves: int


def restarted(group: Group) -> Restarted:
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 60)
    killed = group.kill("b")
    group.start("b")
    again = group.wait_until_read_by({"a", "b"}, 60, since=killed)
    own_start_s = group.started_at("b") - killed
    group.stop("a", "b")
    return Restarted(again - killed, own_start_s, group.moves(killed))


@dataclass(frozen=True, slots=True)
class Harm:
    """What a pause or a stall did. `over_s` counts from its end until all read again."""

    over_s: float
    steps_back: int
    moves: int
    duplicates: int
    missing: int


def paused(group: Group) -> Harm:
    """One of two stands still for three leases."""
    group.start("a", "b")
    group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        began = group.signal("b", signal.SIGSTOP)
        group.wait_until_read_by({"a"}, 60, since=began)
        time.sleep(max(began + 3 * LEASE_S - time.time(), 0))
        resumed = group.signal("b", signal.SIGCONT)
        over = group.wait_until_read_by({"a", "b"}, 60, since=resumed + 1) - resumed
        group.stop("a", "b")
    return _harm(group, over, len(ledger.steps_back()), began)


def stalled(group: Group, storage: FaultProxy, way_to_it: str) -> Harm:
    """Storage answers nobody for longer than a lease."""
    group.start("a", "b", blobs=way_to_it)
    group.wait_until_read_by({"a", "b"}, 60)
    with ledger_watch(group.storage, group.container) as ledger:
        began = time.time()
        storage.add(Hold(for_s=STALL_S))
        ended = began + STALL_S
        over = group.wait_until_read_by({"a", "b"}, STALL_S + 60, since=ended) - ended
        group.stop("a", "b")
    return _harm(group, over, len(ledger.steps_back()), began)


def _harm(group: Group, over_s: float, steps_back: int, began: float) -> Harm:
    return Harm(over_s, steps_back, group.moves(began), group.duplicates(), len(group.missing()))
