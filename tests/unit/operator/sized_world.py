"""A little world with events in it, whose operator decides how many pods there are by the lag.

Rules:
- Events are counted in fractions. A member handles what it owns, the partitions with less first,
  at `rate` events a second in all, by how many live. It says of itself what a real one says: rates
  of the last ten seconds, and of arrival as these tell it, every second.
- While nobody lives the operator knows what the source says, asked every `ASKS_S`.
- The status keeps what the operator says of the size; an operator that starts anew reads it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.model import (
    NO_SEQUENCE,
    Checkpoint,
    Figures,
    Listing,
    PartitionEnd,
    Position,
    Presence,
)
from tidegate.ops.arriving import End, arriving
from tidegate.sources.start import Start
from tidegate_operator.lag import GroupLag, lag_of_group
from tidegate_operator.model import Ends, Observation, Steps, Wish
from tidegate_operator.scaling import Policy
from tidegate_operator.scaling.report import document_of
from unit.operator.scaling.backlog import Backlog
from unit.operator.small_group import Member
from unit.operator.small_world import START_S, STEP_S, SmallOperator, SmallWorld

ASKS_S, TELLS_S = 3.0, 2.0
_WINDOW, _ENDS = int(10.0 / STEP_S), int(15.0 / STEP_S) + 1


@dataclass
class Queue(Backlog):
    """One partition."""

    has_checkpoint: bool = False
    # Of the last steps: handled, the share of the time that it took, and how much of that was its
    # own.
    lately: deque[tuple[float, float, float]] = field(
        default_factory=lambda: deque([(0.0, 0.0, 0.0)], maxlen=_WINDOW)
    )
    ends: deque[End] = field(default_factory=lambda: deque(maxlen=_ENDS))
    owner: str = ""

    @property
    def end(self) -> int:
        """The sequence number of the last event."""
        return int(self.came) + NO_SEQUENCE


class SizedWorld(SmallWorld):
    """See the module. `arriving(partition, seconds)` is in events a second, from the beginning."""

    def __init__(
        self,
        arriving: Callable[[int, float], float],
        policy: Policy | None = None,
        *,
        partitions: int = 8,
        pods: int = 1,
        rate: Callable[[int], float] = lambda _: 100.0,
        seed: int = 0,
        start: Start | None = None,
        start_s: float = START_S,
        holds_up: bool = False,
    ) -> None:
        super().__init__(partitions, pods, seed, start_s)
        self.policy = policy or Policy()
        self.wish = Wish(
            min_replicas=self.policy.min, max_replicas=self.policy.max, scaling=self.policy
        )
        self.arriving, self.rate, self.holds_up = arriving, rate, holds_up
        self.start_at = start or Start()
        self.queues = {partition: Queue() for partition in self.tenures}
        # The status of the resource, and what the source said last.
        self.said: Mapping[str, Any] | None = None
        self.ends: Ends | None = None
        self.is_hub_down = False
        # What a look's lag may be made into by whoever lies.
        self.seen_as: Callable[[Figures], Figures] = lambda figures: figures
        self.sizes: list[tuple[float, int, Steps]] = []
        self.late_s = 0.0
        self.wanted: list[int] = []
        self._told: dict[str, tuple[float, dict[str, Figures]]] = {}
        self._begun = self.now

    # --- what is counted

    @property
    def seconds(self) -> float:
        return self.now - self._begun

    @property
    def replicas(self) -> int:
        return self.cluster.replicas

    @property
    def counts(self) -> list[int]:
        """The sizes that were asked for, one after the other."""
        return [count for _, count, _ in self.sizes]

    @property
    def lag(self) -> float:
        return sum(queue.lag for queue in self.queues.values())

    # --- events

    def step(self) -> None:
        for place, queue in enumerate(self.queues.values()):
            queue.arrive(self.now, self.arriving(place, self.seconds) * STEP_S)
            queue.ends.append(End(self.now, queue.end))
        owners = self.owners()
        alive = [name for name in sorted(self.members) if self.is_alive(name)]
        for name in alive:
            mine = [self.queues[p] for p, owner in owners.items() if owner == name]
            self._handle(mine, self.rate(len(alive)))
        for partition, queue in self.queues.items():
            if owners.get(partition, "") != queue.owner:
                queue.owner = owners.get(partition, "")
                queue.lately = deque([(0.0, 0.0, 0.0)], maxlen=_WINDOW)
                queue.ends.clear()
            queue.has_checkpoint |= bool(queue.owner)
        oldest = max(queue.behind_s(self.now) for queue in self.queues.values())
        self.late_s += STEP_S * (oldest > (self.policy.within_s or 60.0))
        super().step()

    def _handle(self, queues: list[Queue], rate: float) -> None:
        left, rest = rate * STEP_S, len(queues)
        dones: list[tuple[Queue, float]] = []
        for queue in sorted(queues, key=lambda each: each.lag):
            before = queue.handled
            queue.handle(min(left / rest, queue.lag))
            done = queue.handled - before
            dones.append((queue, done))
            left, rest = left - done, rest - 1
        calls = sum(done > 0 for _, done in dones)
        for queue, done in dones:
            own = done / (rate * STEP_S)
            # Calls that begin together and hold each other up all last about as long as all do.
            busy = min(own * calls, 1.0) if self.holds_up else own
            queue.lately.append((done / STEP_S, busy, own))

    # --- what is told of them

    def listing(self) -> Listing:
        made = super().listing()
        checkpoints = {
            partition: Checkpoint(
                partition,
                f"{queue.handled}",
                Position(f"{int(queue.handled)}", int(queue.handled) + NO_SEQUENCE),
                1,
                "nonce",
            )
            for partition, queue in self.queues.items()
            if queue.has_checkpoint
        }
        return replace(made, checkpoints=checkpoints)

    def _presence(self, member: Member) -> Presence:
        made = super()._presence(member)
        told_at, figures = self._told.get(member.name, (float("-inf"), {}))
        mine = {p for p, owner in self.owners().items() if owner == member.name}
        if self.now - told_at >= TELLS_S or figures.keys() != mine:
            told_at, figures = self.now, {p: self._figures(p) for p in mine}
            self._told[member.name] = told_at, figures
        said = {partition: self.seen_as(each) for partition, each in figures.items()}
        return replace(made, figures=said, figures_at=told_at)

    def _figures(self, partition: str) -> Figures:
        queue = self.queues[partition]
        handled, busy, utilization = (
            sum(each[part] for each in queue.lately) / len(queue.lately) for part in range(3)
        )
        return Figures(
            end=queue.end,
            handled=int(queue.handled) + NO_SEQUENCE,
            behind_s=queue.behind_s(self.now),
            arriving=round(arriving(queue.ends) or 0.0, 1),
            handling=round(handled, 1),
            busy=round(busy, 3),
            utilization=round(utilization, 3),
        )

    def lag_of(self, operator: SmallOperator, observed: Observation) -> GroupLag | None:
        return lag_of_group(observed, self.start_at, operator.lag)

    def _ask(self) -> None:
        """What the source says, while nobody else does."""
        asked_at = max((e.known_at for e in self._said_ends()), default=float("-inf"))
        if any(map(self.is_alive, self.members)) or self.now - asked_at < ASKS_S:
            return
        self.ends = Ends(
            {
                partition: None
                if self.is_hub_down
                else PartitionEnd(queue.end, f"{queue.end}", self.now, self.now)
                for partition, queue in self.queues.items()
            }
        )

    def _said_ends(self) -> list[PartitionEnd]:
        said = self.ends.partitions.values() if self.ends is not None else ()
        return [each for each in said if each is not None]

    # --- the operator

    def _observation(self, operator: SmallOperator) -> Observation:
        self._ask()
        return replace(super()._observation(operator), said=self.said, ends=self.ends)

    def _carry_out(self, found: Steps, version: str) -> None:
        super()._carry_out(found, version)
        if found.scaling is not None:
            self.said = document_of(found.scaling)
        if found.wanted is not None and found.wanted != (self.wanted or [-1])[-1]:
            self.wanted.append(found.wanted)
            self.sizes.append((self.seconds, found.wanted, found))
