"""A world in virtual time: a ledger, a hub, members, and a script of what befalls them.

Rules: the script and the dice, both from one seed, decide everything. `run` gives the history and
the facts that the checkers judge; it judges nothing itself.
"""

from __future__ import annotations

from random import Random

from simulation.clock import Clock
from simulation.facts import Facts
from simulation.history import Did, Handled, Record, name_of
from simulation.hub import Hub, position_of
from simulation.operator_of_world import Operator
from simulation.process import Leases, Process
from simulation.reader import WorldReader
from simulation.script import RosterFacts, Script, Trouble
from simulation.storage import Storage
from simulation.troubles import Troubles
from simulation.weather import Weather
from support.azurites_ledger import AzuritesLedger
from tidegate.ledger.memory import MemoryLedger
from tidegate.member import messages as m
from tidegate.model import BEGINNING, Checkpoint, Listing, MemberName, PartitionId, Position
from tidegate.ports import (
    Acquire,
    Change,
    Join,
    List,
    ReadOwnership,
    Release,
    Renew,
    WriteOwnership,
)
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.settings import MemberSettings

_MOVES = (Acquire, Change, Join, Release, WriteOwnership)
_LOOK_EVERY_S = 5.0


class World:
    """See the module."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.dice = Random(f"world {script.seed}")
        self.clock = Clock()
        self.records: list[Record] = []
        self.record = self.records.append
        self.weather = Weather(odds=script.rates.cumulative())
        made = AzuritesLedger if script.renews_any_id else MemoryLedger
        self.ledger = made(script.lease_s)
        self.storage = Storage(
            self.clock, self.ledger, self.weather, self.dice, script.latency_s, self.record
        )
        self.lineage: Lineage = FLAT
        self.partitions = list(script.partition_ids())
        self.timetable = {partition: self._times(0.0) for partition in self.partitions}
        self.hub = Hub(self.clock, self.timetable, self.record)
        self.processes: dict[MemberName, Process] = {}
        self._lives: dict[MemberName, int] = {}
        self._weights = dict(script.weights)
        self._ids = 0
        self.operator = Operator(self)
        self.troubles = Troubles(self)
        for trouble in script.troubles:
            self.clock.at(trouble.at, self.befall, trouble)
        self.clock.at(script.quiet_from, self.troubles.end_all)

    # --- what the parts of a world ask for

    def new_reader(self, process: Process, command: m.OpenReader) -> WorldReader:
        return WorldReader(process, command)

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids}"

    def hub_latency(self) -> float:
        return 0.005 + 0.02 * self.dice.random()

    def settings_of(self, name: MemberName, weight: float) -> MemberSettings:
        script = self.script
        return MemberSettings(
            name,
            self._weights.get(name, weight),
            script.lease_s,
            fast_tick_s=script.fast_tick_s,
            settled_tick_s=script.settled_tick_s,
            hand_over_limit_s=script.hand_over_limit_s,
            roster_stale_s=script.roster_stale_s,
            checkpoint_every_s=script.checkpoint_every_s,
            reader_silence_s=script.reader_silence_s,
        ).checked()

    def start_of(self, partition: PartitionId) -> Position:
        """Where a partition without a checkpoint begins."""
        last = self.hub.last_sequence(partition)
        if not self.script.starts_latest or last < 0:
            return BEGINNING
        return position_of(last)

    def checkpoint_of(self, partition: PartitionId) -> Checkpoint | None:
        """What stands in the ledger now."""
        listing = self.ledger.perform_at(List(), self.clock.now)
        assert isinstance(listing, Listing)
        return listing.checkpoints.get(partition)

    def start(self, name: MemberName, inherited: Leases = ()) -> Process:
        """Begins a life of a member; one that lives already goes on."""
        process = self.processes.get(name)
        if process is not None and not process.is_dead:
            return process
        life = self._lives[name] = self._lives.get(name, -1) + 1
        process = self.processes[name] = Process(self, name, life, inherited)
        self.clock.after(0.05 + 0.2 * self.dice.random(), self.tell_partitions, process)
        return process

    def tell_partitions(self, process: Process) -> None:
        known = tuple(self.partitions)
        process.tell(lambda now: m.PartitionsKnown(now, known))

    def add_partitions(self, count: int) -> None:
        for _ in range(count):
            partition = str(len(self.partitions))
            self.partitions.append(partition)
            self.timetable[partition] = self._times(self.clock.now)
        for process in self.processes.values():
            self.clock.after(self.dice.random() * 10.0, self.tell_partitions, process)

    def _times(self, begin: float) -> list[float]:
        """When the events of a partition are appended: now and then, one or a few at once."""
        times: list[float] = []
        every_s, end = self.script.event_every_s, self.script.quiet_from + 10.0
        now = begin + self.dice.random() * every_s
        while now < end:
            times += [now] * (1 if self.dice.random() < 0.7 else self.dice.randint(2, 5))
            now += every_s * (0.5 + self.dice.random()) * 1.5
        return times

    def befall(self, trouble: Trouble) -> None:
        self.troubles.begin(trouble)

    def say_roster(self, facts: RosterFacts) -> None:
        self.operator.say(facts)

    # --- running

    def run(self) -> Facts:
        """Runs until everything has settled after the last trouble, or patience is at its end."""
        script = self.script
        self.clock.run_until(script.quiet_from)
        end = script.quiet_from + script.patience_s
        settled_at: float | None = None
        while self.clock.now < end and settled_at is None:
            self.clock.run_until(self.clock.now + _LOOK_EVERY_S)
            settled_at = self._settled_at()
        return self._facts(settled_at)

    def _settled_at(self) -> float | None:
        """Since when nothing has moved, where that is long ago; None where things still move."""
        # What was still on its way when the world became quiet has arrived by then.
        script = self.script
        # The leases of the dead end and are noticed; where requests were late, one may have made a
        # ghost of a member that had left, and that fades too.
        echo_s = 35.0 if script.rates.cumulative() else 16.0
        last = max(script.quiet_from + echo_s, self.operator.heard_until())
        if any(process.is_handling for process in self.processes.values()):
            return None
        for record in reversed(self.records):
            if record.at < last:
                break
            if isinstance(record, Did):
                # A reading that is refused asks for what may yet be given.
                is_asking = isinstance(record.operation, ReadOwnership | Renew)
                is_asking = is_asking and record.refusal is not None
                is_done = isinstance(record.operation, _MOVES) and record.refusal is None
                is_move = is_asking or is_done
            else:
                is_move = isinstance(record, Handled)
            if is_move:
                last = max(last, record.at)
                break
        calm_s = self.script.calm_s
        if not self._is_all_read():
            # Leases may yet end, and rule 8 may wait for one more before they are claimed.
            calm_s += 2 * self.script.lease_s
        return last if self.clock.now - last >= calm_s else None

    def _is_all_read(self) -> bool:
        paused = self.operator.facts.paused if self.operator.facts is not None else ()
        alive = {process.who for process in self.processes.values() if not process.is_dead}
        return all(
            partition in paused or self.hub.reader(partition) in alive
            for partition in self.partitions
        )

    def _facts(self, settled_at: float | None) -> Facts:
        alive = {
            process.who: self._weights.get(process.name, 1.0)
            for process in self.processes.values()
            if not process.is_dead
        }
        return Facts(
            script=self.script,
            timetable=self.timetable,
            end=self.clock.now,
            settled_at=settled_at,
            alive=alive,
            is_operator_dead=self.operator.is_dead,
            names=tuple(sorted({name_of(who) for who in alive})),
        )
