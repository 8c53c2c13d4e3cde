"""A group whose members handle events, measure what that costs, announce it, and carry out the
plan that follows: in steps of two seconds, without storage, hub or time.

Rules: what a partition brings and what an event costs is the test's; what becomes of it goes
through the code that members run. A move takes no time, so only the moves count here.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from tidegate.balance import Move, Snapshot, plan, snapshot_of
from tidegate.member.announced import Loads
from tidegate.model import Figures, LeaseState, Listing, Owner, Ownership, PartitionId, Presence
from tidegate.ops.costs import Costs, Work

STEP_S = 2.0
_FIGURES_OF = 5  # steps


@dataclass(slots=True)
class Stream:
    """A partition: events that come in a second at a moment, and seconds that one takes."""

    arriving: Callable[[float], float]
    event_s: float
    owner: str
    backlog: float = 0.0
    opened_at: float = 0.0
    events: float = 0.0
    busy_s: float = 0.0
    lately: deque[tuple[float, float, float]] = field(
        default_factory=lambda: deque(maxlen=_FIGURES_OF)
    )

    def belongs_to(self, owner: str, now: float) -> None:
        self.owner, self.opened_at, self.events, self.busy_s = owner, now, 0.0, 0.0
        self.lately.clear()

    def work(self, now: float, slowness: float) -> None:
        """Two seconds of it."""
        came = max(self.arriving(now), 0.0) * STEP_S
        event_s = self.event_s * slowness
        done = min(self.backlog + came, STEP_S / event_s)
        self.backlog += came - done
        self.events += done
        self.busy_s += done * event_s
        self.lately.append((came / STEP_S, done / STEP_S, done * event_s / STEP_S))

    def figures(self) -> Figures:
        rates = zip(*self.lately, strict=True)
        arriving, handling, busy = (sum(each) / len(self.lately) for each in rates)
        return Figures(1, 1, 0.0, arriving, handling, busy)

    def as_work(self) -> Work:
        arriving = self.figures().arriving
        return Work(self.opened_at, round(self.events), self.busy_s, arriving)


class MeasuredGroup:
    """`slowness` says by how much some members are slower than others."""

    def __init__(
        self, streams: Sequence[Stream], names: Sequence[str], slowness: dict[str, float]
    ) -> None:
        self.streams = {str(number): stream for number, stream in enumerate(streams)}
        self.now = 0.0
        self.moves: list[Move] = []
        self._slowness = slowness
        self._costs = {name: Costs(name) for name in names}
        self._loads = {name: Loads(name) for name in names}
        self._listing = self._listed()
        self._snapshot: Snapshot | None = None

    def run(self, seconds: float) -> list[Move]:
        """The moves of so long a time."""
        before = len(self.moves)
        end = self.now + seconds
        while self.now < end:
            self.now += STEP_S
            self._work()
            self._listing = self._listed()
            self._balance()
        return self.moves[before:]

    def owned_by(self, name: str) -> list[PartitionId]:
        return [id for id, stream in self.streams.items() if stream.owner == name]

    def counts(self) -> Counter[str]:
        return Counter(stream.owner for stream in self.streams.values())

    def announced(self) -> dict[PartitionId, float]:
        """The load of each partition, as its owner says."""
        return {
            id: self._loads[stream.owner].announced.get(id, 0.0)
            for id, stream in self.streams.items()
        }

    def _work(self) -> None:
        for stream in self.streams.values():
            stream.work(self.now, self._slowness.get(stream.owner, 1.0))
        for name, costs in self._costs.items():
            works = {id: self.streams[id].as_work() for id in self.owned_by(name)}
            self._loads[name].measured(costs.loads(works, self._listing, self.now))

    def _balance(self) -> None:
        snapshot = snapshot_of(self._listing, self.streams, roster_stale_s=1e9, foreign_alive_s=0.0)
        if snapshot == self._snapshot:
            return
        self._snapshot, made = snapshot, plan(snapshot)
        for move in made.moves:
            self.streams[move.partition].belongs_to(move.target, self.now)
        self.moves += made.moves
        if made.moves:
            self._listing = self._listed()
        for name, loads in self._loads.items():
            loads.begin(self.owned_by(name), snapshot)
            loads.see(self._listing, self.owned_by(name))

    def _listed(self) -> Listing:
        rows = {
            id: Ownership(id, "", LeaseState.LEASED, Owner(stream.owner, "1"), 1, "", self.now)
            for id, stream in self.streams.items()
        }
        present = {
            name: Presence(
                name,
                "",
                LeaseState.LEASED,
                "1",
                loads=MappingProxyType(dict(loads.announced)),
                figures=MappingProxyType(self._figures(name)),
            )
            for name, loads in self._loads.items()
        }
        return Listing(MappingProxyType(rows), MappingProxyType({}), present, None, self.now)

    def _figures(self, name: str) -> dict[PartitionId, Figures]:
        return {
            id: self.streams[id].figures() for id in self.owned_by(name) if self.streams[id].lately
        }


def noisy(rate: float, part: float, dice: Random) -> Callable[[float], float]:
    """Events that come at a rate that wavers by a part of it, anew every two seconds."""
    return lambda _: rate * (1 + dice.uniform(-part, part))


def in_bursts(rate: float, every_s: float, dice: Random) -> Callable[[float], float]:
    """All that comes in a while comes in a fifth of it, at a moment of its own."""
    shift = dice.uniform(0, every_s)
    return lambda now: rate * 5 if (now + shift) % every_s < every_s / 5 else 0.0
