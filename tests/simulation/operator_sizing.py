"""A world whose operator decides how many pods there are, by what members say of their lag.

Rules:
- Members measure themselves twice a second, as the runtime does: rates are of the last seconds, and
  the end of a partition is what its source said up to half a second ago, or was asked for after
  five. What a member can handle is shared by its partitions.
- While nobody lives the source is asked every three seconds. Both may fall silent for a while.
- What the operator says of the size stands in a status, which an operator that begins reads.
- Once nothing has come for `REST_S`, and there are as few as there may be, nothing is measured any
  more: then nobody writes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Any

from simulation.operator_loop import OperatorLoop
from simulation.operator_script import OperatorScript, draw
from simulation.operator_world import OperatorWorld
from simulation.process import Leases, Process
from tidegate.commands.ends import END_EVERY_S
from tidegate.member import messages as m
from tidegate.model import Figures, MemberName, PartitionEnd, PartitionId
from tidegate.ops.arriving import End, arriving
from tidegate.sources.start import Start
from tidegate_operator.lag import GroupLag, lag_of_group
from tidegate_operator.model import Ends, Observation, Steps
from tidegate_operator.scaling import Policy
from tidegate_operator.scaling.report import document_of

MEASURES_S, HEARS_S, ASKS_S = 0.5, 0.5, 3.0
WINDOW_S, ENDS_S = 10.0, 15.0
# After the last event: fewer are enough, they leave, and nothing more is to be decided.
REST_S, REST_MOST_S = 150.0, 1200.0
STABLE_S, IDLE_S = 30.0, 40.0
# What befalls the size itself is the test's; a number by hand would be no decision.
_NOT_HERE = frozenset(("scale", "pause"))


@dataclass(frozen=True, slots=True)
class SizedScript:
    """A world, how its size is decided, and what comes: from when on, every so many seconds."""

    operator: OperatorScript
    policy: Policy
    loads: tuple[tuple[float, float], ...]
    # From when to when members and source say nothing.
    silences: tuple[tuple[float, float], ...] = ()
    # Events come at equal distances.
    is_even: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """A number that an operator came to, and what it knew then."""

    at: float
    who: str
    before: int
    wanted: int
    # How many the Deployment had, whoever made them.
    stood: int
    lag: GroupLag
    steps: Steps = field(repr=False)


def drawn(seed: int) -> SizedScript:
    """Anything may befall it, under any load."""
    dice, base = Random(f"sized {seed}"), draw(seed)
    befalls = tuple(each for each in base.befalls if each[1] not in _NOT_HERE)
    least = dice.choice((0, 1, 1, 2))
    policy = Policy(
        min=least,
        max=dice.choice((3, 6, 16)),
        fallback=dice.choice((None, 3)),
        fallback_after_s=30.0,
        stable_s=STABLE_S,
        idle_s=IDLE_S,
    )
    quiet_at = base.base.quiet_from + 120.0
    loads, at = [(0.0, dice.choice((0.1, 2.0)))], 0.0
    while at < quiet_at:
        at += dice.uniform(15.0, 60.0)
        loads.append((at, dice.choice((0.03, 0.1, 0.5, 3.0, 1e9))))
    silences = [(at, at + dice.uniform(20.0, 240.0)) for at in (dice.uniform(20.0, 120.0),)]
    script = replace(base.base, quiet_from=quiet_at, handler_s=0.02)
    return SizedScript(
        replace(base, base=script, befalls=befalls),
        policy,
        tuple(loads),
        tuple(silences) if dice.random() < 0.6 else (),
    )


class SizedOperatorWorld(OperatorWorld):
    """See the module."""

    def __init__(self, script: SizedScript) -> None:
        self.sized = script
        # Told of a process: of each partition, up to where it was at which time.
        self._seen: defaultdict[tuple[str, PartitionId], deque[tuple[float, int]]]
        self._seen = defaultdict(lambda: deque(maxlen=int(WINDOW_S / MEASURES_S) + 1))
        self._heard: defaultdict[tuple[str, PartitionId], deque[End]]
        self._heard = defaultdict(lambda: deque(maxlen=int(ENDS_S / HEARS_S) + 1))
        # Of each process that measures, when in a half second it hears from its source.
        self._hears: dict[str, float] = {}
        self.said: Mapping[str, Any] | None = None
        self.decisions: list[Decided] = []
        self.versions: list[str] = []
        self._lags: dict[str, GroupLag] = {}
        self._ends: Ends | None = None
        self._asked_at = float("-inf")
        self._wanted: dict[str, int] = {}
        self._measured_at = 0.0
        super().__init__(script.operator)
        policy = script.policy
        self.wish = replace(
            self.wish,
            replicas=None,
            min_replicas=policy.min,
            max_replicas=policy.max,
            scaling=policy,
        )

    # --- what comes

    def _times(self, begin: float) -> list[float]:
        loads = [*self.sized.loads, (self.script.quiet_from, 1e9)]
        times: list[float] = []
        for (since, every_s), (until, _) in pairwise(loads):
            now = max(since, begin) + self.dice.random() * every_s
            while now < min(until, self.script.quiet_from):
                times.append(now)
                now += every_s * (1.0 if self.sized.is_even else 0.5 + self.dice.random())
        return times

    def is_silent(self) -> bool:
        return any(since <= self.clock.now < until for since, until in self.sized.silences)

    # --- what members say

    def start(self, name: MemberName, inherited: Leases = ()) -> Process:
        process = super().start(name, inherited)
        if process.who not in self._hears:
            self._hears[process.who] = self.dice.random() * HEARS_S
            own_s = self.script.handler_s

            def shared_s(partition: PartitionId) -> float:
                """What a member can handle is shared by its partitions."""
                return own_s * max(len(process.readers), 1)

            process.handler_s = shared_s  # type: ignore[method-assign]
            self.clock.after(MEASURES_S, self._measure, process)
        return process

    def _measure(self, process: Process) -> None:
        if process.is_dead or process.is_stopped:
            return
        told: dict[PartitionId, Figures] = {}
        if self._is_measured():
            told = {p: self._figures(process, p) for p in process.readers}
            if self.is_silent():
                told = dict.fromkeys(told, Figures())
            self.clock.after(MEASURES_S, self._measure, process)
        else:
            # From here on nothing is known, and the size is to stay as it is.
            self.wish = replace(self.wish, scaling=None)
        figures = MappingProxyType(told)
        process.tell(lambda at: m.FiguresMeasured(at, figures, frozenset()))

    def _is_measured(self) -> bool:
        """Until there are as few as there may be."""
        quiet_s = self.clock.now - self.script.quiet_from
        is_smallest = self.cluster.replicas == self.sized.policy.min
        if quiet_s < REST_S or (not is_smallest and quiet_s < REST_MOST_S):
            self._measured_at = self.clock.now
        return self.clock.now - self._measured_at < REST_S / 3

    def _figures(self, process: Process, partition: PartitionId) -> Figures:
        now, handled = self.clock.now, process.readers[partition].sequence
        # Each partition has a time of its own.
        phase = self._hears[process.who] + 0.137 * self.partitions.index(partition)
        heard_at = now - (now - phase) % HEARS_S
        seen = self._seen[process.who, partition]
        if seen and now - seen[-1][0] > 2 * MEASURES_S:
            # Somebody else read it meanwhile.
            seen.clear()
            self._heard[process.who, partition].clear()
        seen.append((now, handled))
        since, first = seen[0]
        seconds = max(now - since, MEASURES_S)
        times = self.timetable[partition]
        end = max(bisect_right(times, heard_at) - 1, handled)
        heard = self._heard[process.who, partition]
        if not heard or heard[-1].sequence != end or heard_at - heard[-1].at >= END_EVERY_S:
            heard.append(End(heard_at, end))
        waits = times[handled + 1] if handled + 1 < len(times) else now
        handling = max(handled - first, 0) / seconds
        return Figures(
            end=end,
            handled=handled,
            behind_s=round(max(now - waits, 0.0), 1),
            arriving=round(arriving(heard) or 0.0, 1),
            handling=round(handling, 1),
            busy=round(min(handling * process.handler_s(partition), 1.0), 3),
            utilization=round(min(handling * self.script.handler_s, 1.0), 3),
        )

    def _ask(self) -> None:
        now = self.clock.now
        is_anybody = any(not process.is_dead for process in self.processes.values())
        if is_anybody or now - self._asked_at < ASKS_S or self.is_silent():
            return
        self._asked_at = now
        last = self.hub.last_sequence
        self._ends = Ends(
            {p: PartitionEnd(last(p), str(last(p) * 8), now, now) for p in self.partitions}
        )

    # --- the operator

    def observed(self, loop: OperatorLoop, made: Observation) -> tuple[Observation, GroupLag]:
        self._ask()
        made = replace(made, said=self.said, ends=self._ends)
        before = self._lags.get(loop.who) if loop.has_decided else None
        start = Start("latest" if self.script.starts_latest else "earliest")
        lag = self._lags[loop.who] = lag_of_group(made, start, before)
        return made, lag

    def has_decided(self, loop: OperatorLoop, observed: Observation, found: Steps) -> None:
        if found.scaling is not None:
            self.said = document_of(found.scaling)
        records = found.scaling.history.records if found.scaling is not None else ()
        workload, lag = observed.workload, self._lags[loop.who]
        if found.wanted is None or workload is None:
            return
        # What a group begins with nobody has decided, and who stays with a number decides nothing,
        # also while another operator believes that it leads and has another number.
        before = self._wanted.get(loop.who, found.wanted)
        self._wanted[loop.who] = found.wanted
        if records and found.wanted != before:
            self.decisions.append(
                Decided(
                    self.clock.now, loop.who, before, found.wanted, workload.replicas, lag, found
                )
            )

    def scale(self, who: str, replicas: int, version: str) -> None:
        before = len(self.journal.scaled)
        super().scale(who, replicas, version)
        if len(self.journal.scaled) > before:
            self.versions.append(version)

    # --- the end

    def _make_well(self) -> None:
        super()._make_well()
        self.wish = replace(self.wish, replicas=None)

    @property
    def wanted(self) -> int | None:
        return self.loops[0].found.wanted

    def _settled_at(self) -> float | None:
        if self._is_measured() or self.clock.now - self._measured_at < REST_S:
            return None
        return super()._settled_at()
