"""The pods of a group: made, joined, gone; and how ours give partitions to one another.

Rules: dice are passed in. A pod counts from when it is made until it is gone. `Tidegate` asks the
product's own plan (tidegate.balance) who shall own what. What a move takes is what was measured of
the product in docs/balancing.md: all is in place within 5 s, and a partition has no reader for
0.2 s, here for a whole second. Nothing is handled twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from scaling_world import Trace, World
from tidegate.balance import MemberFacts, PartitionFacts, Snapshot, load_to_announce, plan

# A move begins when its members next look, and is over in so many seconds.
MOVED_IN_S = (1, 5)
LOADS_EVERY_S = 10
GONE_IN_S = 1


@dataclass(slots=True, eq=False)
class Pod:
    """A pod and what its member owns."""

    name: str
    made_at: int
    joins_at: int
    revision: int = 0
    is_leaving: bool = False
    gone_at: int | None = None
    owned: list[int] = field(default_factory=list)


class Fleet(ABC):
    """What all fleets share: the pods, their partitions, and what these cost."""

    def __init__(self, world: World, dice: Random) -> None:
        self.world, self.dice = world, dice
        self.trace: Trace = world.trace
        self.wanted = self.trace.starts_with
        self.moves = 0
        self.revision = 0
        self.owners: list[Pod | None] = [None] * len(world.partitions)
        # From which second on a partition is read by its owner.
        self.ready_at = [0] * len(world.partitions)
        self.members: list[Pod] = []
        self._made = 0
        # Who reads what, and up to which second that is so if nobody gives anything.
        self._hands: tuple[tuple[int, ...], ...] = ()
        self._hands_until = 0
        for _ in range(self.wanted):
            self._make(0).joins_at = 0
        for p in world.partitions if self.members else ():
            self.give(p, self.members[p % len(self.members)])

    @property
    def pods(self) -> int:
        """Those that exist, whatever their state."""
        return len(self.members)

    @abstractmethod
    def want(self, replicas: int, now: int) -> None: ...

    @abstractmethod
    def step(self, now: int) -> None: ...

    def hands(self, now: int) -> Sequence[Sequence[int]]:
        if now >= self._hands_until:
            ready_at = self.ready_at
            self._hands = tuple(
                tuple(p for p in pod.owned if ready_at[p] <= now)
                for pod in self.members
                if pod.joins_at <= now
            )
            later = [at for at in ready_at if at > now]
            later += [pod.joins_at for pod in self.members if pod.joins_at > now]
            self._hands_until = min(later, default=self.trace.seconds)
        return self._hands

    def drop(self, pod: Pod) -> None:
        """It is gone."""
        self._hands_until = 0
        self.members.remove(pod)

    def give(self, partition: int, pod: Pod | None) -> None:
        self._hands_until = 0
        owner = self.owners[partition]
        if owner is not None:
            owner.owned.remove(partition)
        if pod is not None:
            pod.owned.append(partition)
        self.owners[partition] = pod

    def joined(self, now: int) -> list[Pod]:
        return [pod for pod in self.members if pod.joins_at <= now and pod.gone_at is None]

    def _make(self, now: int) -> Pod:
        self._made += 1
        self._hands_until = 0
        # Some nodes have the image, some do not.
        start_s = round(self.trace.pod_start_s * self.dice.uniform(0.7, 1.3))
        pod = Pod(f"pod-{self._made:04d}", now, now + start_s, self.revision)
        self.members.append(pod)
        return pod


class Tidegate(Fleet):
    """Ours: the operator's roster names who leaves, and members hand over by their plan."""

    def __init__(self, world: World, dice: Random) -> None:
        super().__init__(world, dice)
        self._loads: list[float | None] = [None] * len(world.partitions)
        self._busy_s = list(world.busy_s)
        self._due: dict[int, tuple[Pod, int]] = {}
        self._is_rolling = False
        self._rolled: Pod | None = None
        self._known: tuple[object, ...] = ()

    def is_settled(self, now: int) -> bool:
        """No rollout, nobody on the way in or out, no move under way."""
        is_changing = any(pod.is_leaving or pod.joins_at > now for pod in self.members)
        return not (self._due or self._is_rolling or is_changing)

    def want(self, replicas: int, now: int) -> None:
        self.wanted = replicas
        staying = [pod for pod in self.members if not pod.is_leaving]
        for pod in self.members:
            if len(staying) < replicas and pod.is_leaving and pod is not self._rolled:
                pod.is_leaving, pod.gone_at = False, None
                staying.append(pod)
        for _ in range(len(staying), replicas):
            self._make(now)
        # Who has not joined goes first, then who has the fewest and the cheapest partitions.
        victims = sorted(
            staying,
            key=lambda pod: (
                pod.joins_at <= now,
                pod.revision == self.revision and self._is_rolling,
                len(pod.owned),
                sum(self._loads[p] or 0.0 for p in pod.owned),
                -pod.made_at,
            ),
        )
        for pod in victims[: max(len(staying) - replicas, 0)]:
            pod.is_leaving = True

    def step(self, now: int) -> None:
        if now in self.trace.rollouts:
            self.revision += 1
            self._is_rolling = True
        if self._is_rolling:
            self._roll(now)
        for p, (target, at) in list(self._due.items()):
            if at <= now:
                del self._due[p]
                # A hand-over's checkpoint covers all that its giver has handled.
                self.world.stored[p] = self.world.positions[p]
                self.ready_at[p] = now + 1
                self.give(p, target)
                self.moves += 1
        if self.wanted == 0:
            self._let_go()
        for pod in [pod for pod in self.members if pod.is_leaving and not pod.owned]:
            if pod.gone_at is None:
                pod.gone_at = now + GONE_IN_S
            elif pod.gone_at <= now:
                self.drop(pod)
        if now % LOADS_EVERY_S == 0:
            self._weigh()
        known = tuple((pod.name, pod.is_leaving, pod.joins_at <= now) for pod in self.members)
        if (known, *self._loads) != self._known:
            self._known = (known, *self._loads)
            self._plan(now)

    def _let_go(self) -> None:
        """On the way to zero there is nobody to hand over to: a clean stop, with checkpoints."""
        for p, owner in enumerate(self.owners):
            if owner is not None:
                self.world.stored[p] = self.world.positions[p]
                self.give(p, None)

    def _weigh(self) -> None:
        busy_s = self.world.busy_s
        for p, before in enumerate(self._busy_s):
            measured = (busy_s[p] - before) / LOADS_EVERY_S
            self._loads[p] = load_to_announce(measured, self._loads[p])
        self._busy_s = list(busy_s)

    def _plan(self, now: int) -> None:
        present = {pod.name: pod for pod in self.members if pod.joins_at <= now}
        if not present:
            return
        snapshot = Snapshot(
            tuple(MemberFacts(pod.name, is_leaving=pod.is_leaving) for pod in present.values()),
            tuple(
                PartitionFacts(f"{p:03d}", owner.name if owner else None, self._loads[p] or 0.0)
                for p, owner in enumerate(self.owners)
            ),
            expected=tuple(pod.name for pod in self.members if not pod.is_leaving),
        )
        due: dict[int, tuple[Pod, int]] = {}
        for move in plan(snapshot).moves:
            p, target = int(move.partition), present[move.target]
            already = self._due.get(p)
            is_same = already is not None and already[0] is target
            due[p] = already if is_same and already else (target, now + self._moved_in(p))
        self._due = due

    def _moved_in(self, partition: int) -> int:
        """Nobody has to hand over what has no owner."""
        return 1 if self.owners[partition] is None else self.dice.randint(*MOVED_IN_S)

    def _roll(self, now: int) -> None:
        """One pod at a time: the new one is expected and an old one leaving from the same look."""
        if self._rolled is not None and self._rolled in self.members:
            return
        old = [p for p in self.members if p.revision < self.revision and not p.is_leaving]
        if not old:
            self._is_rolling, self._rolled = False, None
            return
        self._rolled = old[0]
        self._rolled.is_leaving = True
        self._make(now)
