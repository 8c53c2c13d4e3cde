"""The operator's own loop in a world: it looks, decides, and what it sends may be lost or late.

Rules:
- It decides with `tidegate_operator.decide` and with nothing else. Its ledger is behind the same
  bad network as that of the members.
- A watch may fall silent: then it sees the cluster as it was. An operator may be down, and begins
  with an empty memory; and there may be two that both believe that they lead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.model import Listing
from tidegate.ports import Break, List, Refusal, Reply, WriteRoster
from tidegate_operator.decide import Memory, steps
from tidegate_operator.model import (
    GroupKey,
    LedgerView,
    Observation,
    PodFacts,
    Steps,
    WorkloadFacts,
)

if TYPE_CHECKING:
    from simulation.operator_world import OperatorWorld

WHO = "operator"
_TICK_S = 0.25
_LIST_SETTLED_S = 5.0
_API_S = 0.02
# A listing that is on its way is waited for, for so long.
_PATIENCE_S = 1.0


class OperatorLoop:
    """One operator. See the module."""

    def __init__(self, world: OperatorWorld, number: int = 0) -> None:
        self._world = world
        self.who = f"{WHO}-{number}"
        self.is_up = self.is_watch_silent = False
        self._memory = Memory()
        self._view: LedgerView | None = None
        self._cluster: tuple[WorkloadFacts, tuple[PodFacts, ...]] | None = None
        self._turn = 0
        self._is_listing = False
        self._list_at = self._decide_at = self._listed_at = 0.0
        self.found = Steps(doing="nothing is known yet")
        self.has_decided = False

    def start(self) -> None:
        """Begins, or begins again, without a memory."""
        self._turn += 1
        self.is_up, self.is_watch_silent, self._is_listing = True, False, False
        self._memory, self._view, self._cluster = Memory(), None, None
        self.has_decided = False
        self._tick(self._turn)

    def stop(self) -> None:
        self.is_up = False
        self._turn += 1

    # --- looking

    def _tick(self, turn: int) -> None:
        if turn != self._turn:
            return
        now = self._world.clock.now
        fresh = self._world.cluster.workload(), self._world.cluster.facts()
        if not self.is_watch_silent and fresh != self._cluster:
            self._cluster, self._decide_at = fresh, now
        if now >= self._list_at and not self._is_listing:
            self._list(now)
        is_coming = self._is_listing and now - self._listed_at < _PATIENCE_S
        if now >= self._decide_at and self._view is not None and not is_coming:
            self._decide(now)
        self._world.clock.after(_TICK_S, self._tick, turn)

    def _list(self, asked_at: float) -> None:
        turn, self._is_listing, self._listed_at = self._turn, True, asked_at

        def done(reply: Reply, _: Refusal | None) -> None:
            if turn != self._turn:
                return
            self._is_listing = False
            now = self._world.clock.now
            least_s = self._world.operator_script.lists_s
            self._list_at = now + least_s
            if isinstance(reply, Listing):
                self._view = LedgerView(reply, asked_at)
                self._decide(now)
                # As a round does: what it has found says when the next one is.
                again_s = min(max(self.found.again_s, least_s), _LIST_SETTLED_S)
                self._list_at = max(self._list_at, now + again_s)

        self._world.storage.call(self.who, self.who, List(), done)

    def observation(self) -> Observation:
        assert self._cluster is not None
        workload, pods = self._cluster
        return Observation(
            GroupKey("default", "home"),
            1,
            self._world.wish,
            workload,
            pods,
            self._view,
            self._world.clock.now,
        )

    # --- deciding and acting

    def _decide(self, now: float) -> None:
        if self._cluster is None:
            return
        observed, lag = self._world.observed(self, self.observation())
        self.found, self._memory = steps(observed, self._memory, lag)
        self.has_decided = True
        self._world.has_decided(self, observed, self.found)
        self._decide_at = now + self.found.again_s
        assert observed.workload is not None
        self._act(self.found, observed.workload.resource_version)

    def _act(self, found: Steps, version: str) -> None:
        world, storage = self._world, self._world.storage
        if found.roster is not None:
            storage.call(
                self.who, self.who, WriteRoster(found.roster, found.roster.etag), self._written
            )
        for step in found.breaks:
            storage.call(self.who, self.who, Break(step.partition, step.etag), self._written)
        for name, cost in found.deletion_costs.items():
            self._send(world.cluster.set_cost, name, cost)
        if found.replicas is not None:
            self._send(world.scale, self.who, found.replicas, version)

    def _written(self, _: Reply, __: Refusal | None) -> None:
        self._list_at = self._world.clock.now

    def _send(self, act: object, *args: object) -> None:
        """To the API server: soon, late, or never."""
        world = self._world
        if world.dice.random() < world.api_lost:
            return
        is_late = world.dice.random() < world.api_late
        world.clock.after(10.0 * world.dice.random() if is_late else _API_S, act, *args)  # type: ignore[arg-type]
