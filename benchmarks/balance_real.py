"""The second half of `make bench-balance`: separate processes on hub and Azurite.

Ours, and beside it the SDK's EventHubConsumerClient with its blob checkpoint store, unmodified and
with its defaults, through the same scenarios (real_scenarios.py).

Rules: members of one run share this machine's cores with the hub, Azurite and whoever sends. Where
members start, time counts from when the last process is up. What the peer has not done within
PEER_LIMIT_S stands as that limit, with a word that says so. A quick run has ours alone. The peer's
runs are nearly all waiting, for its ticks of 30 s: they go on while virtual time is computed, in
processes, hubs and Azurites of their own.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from aside import Aside
from harness import Line, make_line
from real_scenarios import Seen, eight, one_to_two, paused, restarted, stalled
from support.azurite import connection_string, running_azurite
from support.fault_proxy import fault_proxy
from support.group import Group, a_group
from tidegate.ledger.access import BlobSettings
from tidegate_hub.testing import RunningHub, running_hub

PARTITIONS = (16, 32)
OURS_LIMIT_S = 90.0
PEER_LIMIT_S = 300.0
# An event for each partition this often: idle times are no finer than that.
EVENTS_EVERY_S = 0.1
PEER = Path(__file__).with_name("sdk_member.py")

NOT_QUICK = "takes minutes: run without QUICK=1"
NO_PEER_WHEN_QUICK = "the peer balances every 30 s: run without QUICK=1"

T = TypeVar("T")
# What the peer does, by partitions and change.
Peers = Mapping[int, Aside[dict[str, Seen]]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where groups are made."""

    hub: RunningHub
    azurite: str
    directory: Path

    def run(self, name: str, partitions: int, scenario: Callable[[Group], T], **options: Any) -> T:
        """A scenario in a group of its own."""
        directory = self.directory / name.replace(" ", "-")
        directory.mkdir()
        with a_group(
            self.hub, self.azurite, directory, partitions, every_s=EVENTS_EVERY_S, **options
        ) as group:
            return scenario(group)


@contextlib.contextmanager
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="bench-balance-") as name:
        directory = Path(name)
        with running_azurite(directory) as azurite, running_hub() as hub:
            yield Place(hub, azurite, directory)


@dataclass(frozen=True, slots=True)
class Figures:
    """The lines of one change of members, and the targets that they have."""

    change: str
    over: str
    over_target_s: float | None
    idle_target_s: float | None


CHANGES = (
    Figures("1 to 2", "balanced", 15, 1),
    Figures("2 to 1", "re-owned", 2, 1),
    Figures("cold 0 to 8", "balanced", 10, None),
    Figures("one of eight killed", "re-owned", None, 17),
    Figures("8 to 4", "re-owned", None, 2),
)


def change_lines(
    partitions: int, figures: Figures, ours: Seen | None, peer: Seen | None, reason: str
) -> list[Line]:
    """Time, idle, moves and duplicates of one change; without ours, the reason why."""
    what = f"real, {partitions} partitions, {figures.change}"

    def line(
        name: str, unit: str, get: Callable[[Seen], float | None], target: float | None
    ) -> Line:
        return make_line(
            f"{what}: {name}",
            unit,
            ours=_rounded(get(ours)) if ours else None,
            peer=_rounded(get(peer)) if peer else None,
            target=target,
            reason=_reason(name, ours, peer) if ours else reason,
        )

    moved: list[Line] = []
    if figures.change != "cold 0 to 8":
        moved = [
            line("idle p50", "s", lambda seen: seen.idle(0.5), None),
            line("idle p95", "s", lambda seen: seen.idle(0.95), figures.idle_target_s),
        ]
    return [
        line(figures.over, "s", lambda seen: seen.over_s or PEER_LIMIT_S, figures.over_target_s),
        *moved,
        line("moves", "moves", lambda seen: seen.moves, _fewest(partitions, figures.change)),
        line("duplicates", "events", lambda seen: seen.duplicates, None),
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _fewest(partitions: int, change: str) -> float:
    """The moves that a change of members needs."""
    if change == "cold 0 to 8":
        return 0
    return partitions / (8 if change == "one of eight killed" else 2)


def _reason(name: str, ours: Seen, peer: Seen | None) -> str | None:
    if ours.over_s is None:
        return f"ours was not done within {OURS_LIMIT_S:g} s"
    if name.startswith("idle") and ours.idle(0.5) is None:
        return "no reader changed"
    if peer is None:
        return NO_PEER_WHEN_QUICK
    if peer.over_s is None:
        return f"the peer was not done within {PEER_LIMIT_S:g} s; what it shows is up to then"
    return None


def measured_changes(
    where: Place, partitions: int, limit_s: float, name: str, **options: Any
) -> dict[str, Seen]:
    """All changes of members, in two groups."""
    pair = where.run(
        f"{name}-{partitions}-pair", partitions, lambda g: one_to_two(g, limit_s), **options
    )
    eights = where.run(
        f"{name}-{partitions}-eight", partitions, lambda g: eight(g, limit_s), **options
    )
    return {**pair, **eights}


def peer_changes(partitions: int) -> dict[str, Seen]:
    """The peer's, on a hub and an Azurite of its own."""
    with place() as where:
        return measured_changes(where, partitions, PEER_LIMIT_S, "peer", program=PEER)


@contextlib.contextmanager
def peers_beside() -> Iterator[Peers]:
    """The peer's runs, one beside another: it is its ticks that take the time."""
    with contextlib.ExitStack() as stack:
        yield {
            count: stack.enter_context(Aside(partial(peer_changes, count))) for count in PARTITIONS
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """A line about a fault that no peer is put through."""

    what: str
    unit: str
    target: float | None = None


RESTART = (
    Fault("restart in place: reads again", "s"),
    Fault("restart in place: of that the process's own start", "s"),
    Fault("restart in place: moves", "moves", 0),
)
PAUSE = (
    Fault("one of two paused 45 s: reads again after it", "s"),
    Fault("one of two paused 45 s: checkpoints that went back", "steps", 0),
    Fault("one of two paused 45 s: lost", "events", 0),
)
STALL = (
    Fault("storage stalls 20 s: all read again after it", "s"),
    Fault("storage stalls 20 s: checkpoints that went back", "steps", 0),
    Fault("storage stalls 20 s: lost", "events", 0),
    Fault("storage stalls 20 s: moves", "moves", 0),
    Fault("storage stalls 20 s: duplicates", "events", 0),
)


def fault_line(fault: Fault, ours: float | None) -> Line:
    return make_line(
        f"real, {fault.what}",
        fault.unit,
        ours=_rounded(ours),
        target=fault.target,
        reason=NOT_QUICK if ours is None else None,
    )


def fault_figures(where: Place) -> list[float]:
    """A restart in place, a pause of three leases, and a stall of storage: their figures."""
    back = where.run("restart", 16, restarted)
    pause = where.run("pause", 16, paused)
    port = int(BlobSettings("any", connection_string=where.azurite).host.rpartition(":")[2])
    with fault_proxy(port) as storage:
        way = connection_string(storage.port)
        stall = where.run("stall", 16, lambda group: stalled(group, storage, way))
    return [
        *(back.again_s, back.own_start_s, back.moves),
        *(pause.over_s, pause.steps_back, pause.missing),
        *(stall.over_s, stall.steps_back, stall.missing, stall.moves, stall.duplicates),
    ]


def fault_lines(figures: Sequence[float | None]) -> list[Line]:
    """Their lines; those without a figure are left out of a quick run."""
    return [
        fault_line(fault, figure)
        for fault, figure in zip((*RESTART, *PAUSE, *STALL), figures, strict=True)
    ]


def real_lines(where: Place, peers: Peers) -> Iterator[Line]:
    """Every line of this half as it comes, once the peers have done theirs."""
    theirs = {count: peer.result() for count, peer in peers.items()}
    for count in PARTITIONS:
        ours = measured_changes(where, count, OURS_LIMIT_S, "ours")
        for figures in CHANGES:
            seen = ours[figures.change], theirs[count][figures.change]
            yield from change_lines(count, figures, *seen, "")
    yield from fault_lines(fault_figures(where))


def quick_lines(where: Place) -> list[Line]:
    """One member, two, one: the rest takes too long."""
    return _lines_of_pair(where.run("quick", 16, lambda group: one_to_two(group, OURS_LIMIT_S)))


def empty_lines() -> list[Line]:
    """Every line of this half without a figure."""
    return _lines_of_pair({})


def _lines_of_pair(pair: Mapping[str, Seen]) -> list[Line]:
    lines = [
        line
        for count in PARTITIONS
        for figures in CHANGES
        for line in change_lines(
            count, figures, pair.get(figures.change) if count == 16 else None, None, NOT_QUICK
        )
    ]
    return lines + fault_lines([None] * len((*RESTART, *PAUSE, *STALL)))
