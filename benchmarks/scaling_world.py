"""The world in which autoscalers are compared: partitions fill, members empty them, in seconds.

Rules: virtual time, in steps of a second, and no dice of its own. Events are a fluid: of each
partition only how many have come by a second, how many are handled, and how many of these a
checkpoint covers. A member is one process that handles so many events a second, whatever
partitions they are of, and shares that out so that no partition starves. What it does is the same
for every autoscaler; who reads what is the fleet's business (scaling_fleet.py), how many there
shall be is the autoscaler's. An event waits until it was handled for the first time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

# The objectives that outcomes are counted for: no event waits longer.
LIMITS_S = (60.0, 30.0)
CHECKPOINT_EVERY_S = 5
HOUR_S = 3600


class Outage(StrEnum):
    """What an autoscaler cannot reach. Members can: they go on."""

    HUB = "hub"
    STORAGE = "storage"


@dataclass(frozen=True, slots=True)
class Span:
    """From a second on, up to another."""

    start: int
    end: int

    def __contains__(self, second: object) -> bool:
        return isinstance(second, int) and self.start <= second < self.end


@dataclass(frozen=True, slots=True)
class Slowness:
    """A downstream that members share gets in their way, by Gunther's universal scalability law.

    n members together do n / (1 + sigma (n - 1) + kappa n (n - 1)) times the work of one: `sigma`
    is what they wait for each other, `kappa` what they disturb each other. With a kappa there is
    a number from which on more members do less.
    """

    during: Span
    sigma: float
    kappa: float

    def share(self, members: int) -> float:
        """What is left of each member's rate."""
        others = members - 1
        return 1.0 / (1.0 + self.sigma * others + self.kappa * members * others)


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What comes, and what befalls the group meanwhile."""

    name: str
    # By partition: how many events have come by second 0, 1, …; the first is 0.
    arrived: tuple[array[float], ...]
    member_rate: float
    starts_with: int
    least: int = 1
    most: int = 16
    pod_start_s: float = 12.0
    slowness: tuple[Slowness, ...] = ()
    outages: tuple[tuple[Outage, Span], ...] = ()
    rollouts: tuple[int, ...] = ()

    @property
    def seconds(self) -> int:
        return len(self.arrived[0]) - 1

    def is_out(self, what: Outage, second: int) -> bool:
        return any(out is what and second in span for out, span in self.outages)

    def rate(self, second: int, members: int) -> float:
        """Events that each of so many members can handle in this second."""
        for slowness in self.slowness:
            if second in slowness.during:
                return self.member_rate * slowness.share(max(members, 1))
        return self.member_rate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an autoscaler made of a trace."""

    # By limit: the seconds in which an event had waited for longer.
    out_s: tuple[int, ...]
    pod_hours: float
    actions: int
    moves: int
    duplicates: float
    worst_s: float


class Crew(Protocol):
    """The fleet, as the world needs it: who reads what, and what that has cost so far."""

    moves: int
    wanted: int

    @property
    def pods(self) -> int:
        """How many exist, whatever their state."""

    def step(self, now: int) -> None:
        """Whatever happens by itself in this second."""

    def want(self, replicas: int, now: int) -> None:
        """The Deployment has another number."""

    def hands(self, now: int) -> Sequence[Sequence[int]]:
        """By member that has joined: the partitions that it reads in this second."""


class Scaler(Protocol):
    """Says in each second how many pods are wanted."""

    def wanted(self, now: int) -> int: ...


class World:
    """The partitions of a trace, from its first second to its last."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        count = len(trace.arrived)
        self.partitions = range(count)
        # Where each partition's reader is, what a checkpoint covers, and what was ever handled.
        self.positions = [0.0] * count
        self.stored = [0.0] * count
        self.done = [0.0] * count
        # By partition, seconds in which its handler worked, since the beginning.
        self.busy_s = [0.0] * count
        self.waits = [0.0] * count
        self.duplicates = 0.0
        self._oldest = [0] * count

    def live(self, crew: Crew, scaler: Scaler) -> Outcome:
        """Lives through the trace."""
        out_s = [0] * len(LIMITS_S)
        actions = pod_seconds = 0
        worst_s = 0.0
        for now in range(self.trace.seconds):
            wanted = scaler.wanted(now)
            if wanted != crew.wanted:
                actions += 1
                crew.want(wanted, now)
            crew.step(now)
            self._handle(now, crew.hands(now))
            self._store(now)
            wait_s = self._wait(now + 1)
            if wait_s > 0.0:
                for number, limit_s in enumerate(LIMITS_S):
                    out_s[number] += wait_s > limit_s
                worst_s = max(worst_s, wait_s)
            pod_seconds += crew.pods
        hours = pod_seconds / HOUR_S
        return Outcome(tuple(out_s), hours, actions, crew.moves, self.duplicates, worst_s)

    def read_again(self, partition: int) -> None:
        """A reader begins where the last checkpoint was, not where the one before it stopped."""
        self.duplicates += self.positions[partition] - self.stored[partition]
        self.positions[partition] = self.stored[partition]

    def lag(self, now: int) -> float:
        """Events that no checkpoint covers: what all see who have only the checkpoints."""
        return sum(
            came[now] - stored for came, stored in zip(self.trace.arrived, self.stored, strict=True)
        )

    def _handle(self, now: int, hands: Sequence[Sequence[int]]) -> None:
        arrived, positions, done, busy_s = (
            self.trace.arrived, self.positions, self.done, self.busy_s,
        )  # fmt: skip
        rate, end = self.trace.rate(now, len(hands)), now + 1
        for owned in hands:
            waiting = 0.0
            for p in owned:
                waiting += arrived[p][end] - positions[p]
            level = rate if waiting <= rate else self._level(owned, rate, end)
            for p in owned:
                taken = arrived[p][end] - positions[p]
                if taken > level:
                    taken = level
                    positions[p] += taken
                else:
                    positions[p] = arrived[p][end]
                busy_s[p] += taken / rate
                done[p] = max(done[p], positions[p])

    def _level(self, owned: Sequence[int], rate: float, end: int) -> float:
        """How many events at most of each partition, so that all together are what one can do."""
        left, most = rate, 0.0
        backlogs = sorted(self.trace.arrived[p][end] - self.positions[p] for p in owned)
        for number, backlog in enumerate(backlogs):
            most = left / (len(backlogs) - number)
            if backlog > most:
                return most
            left -= backlog
        return most

    def _store(self, now: int) -> None:
        for p in range(now % CHECKPOINT_EVERY_S, len(self.stored), CHECKPOINT_EVERY_S):
            self.stored[p] = self.positions[p]

    def _wait(self, now: int) -> float:
        """How long the oldest event that is not handled has waited, of all partitions."""
        longest = 0.0
        for p, came in enumerate(self.trace.arrived):
            done = self.done[p]
            if done >= came[now] - 1e-6:
                self.waits[p] = 0.0
                continue
            second = self._oldest[p]
            while came[second + 1] <= done + 1e-6:
                second += 1
            self._oldest[p] = second
            into = max(done - came[second], 0.0) / (came[second + 1] - came[second])
            wait = self.waits[p] = now - second - into
            longest = max(longest, wait)
        return longest
