"""How each trouble of a script comes over a world, and how it ends.

Rules: a trouble for somebody or something that is not there is nothing. When the world becomes
quiet every trouble that lasts is over, and whoever was to come back comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from simulation.history import (
    BROKE,
    DELETED_CHECKPOINT,
    DELETED_OWNERSHIP,
    EMPTIED,
    SET_BACK,
    ByHand,
)
from simulation.hub import position_of
from simulation.script import RosterFacts, Trouble, What
from tidegate.ledger.layout import Kind
from tidegate.ports import LedgerError, Refusal, WriteCheckpoint

if TYPE_CHECKING:
    from simulation.process import Process
    from simulation.world import World

_SLOW_S = 2.0


class Troubles:
    """See the module."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ends: dict[int, Callable[[], None]] = {}
        self._begun = 0
        self._begins: dict[What, Callable[[Trouble], None]] = {
            What.JOIN: lambda trouble: self._join(trouble.member),
            What.STOP: self._stop,
            What.KILL: self._kill,
            What.PAUSE: self._pause,
            What.SLEEP: self._sleep,
            What.BLOCK: self._block,
            What.STORAGE_DOWN: self._storage_down,
            What.HUB_DOWN: self._hub_down,
            What.SLOW_STORAGE: self._slow_storage,
            What.SLOW_HANDLER: self._slow_handler,
            What.HUNG_HANDLER: self._hung_handler,
            What.BREAK_LEASE: self._break_lease,
            What.DELETE_OWNERSHIP: lambda trouble: self._delete(Kind.OWNERSHIP, trouble),
            What.DELETE_CHECKPOINT: lambda trouble: self._delete(Kind.CHECKPOINT, trouble),
            What.SET_CHECKPOINT_BACK: self._set_back,
            What.EMPTY_LEDGER: self._empty,
            What.OFFICIAL_CHECKPOINT: self._official,
            What.MORE_PARTITIONS: lambda t: self._world.add_partitions(int(t.length_s)),
            What.ROSTER: lambda t: self._world.say_roster(t.roster or RosterFacts()),
            What.OPERATOR_DIES: lambda _: self._world.operator.die(),
        }

    def begin(self, trouble: Trouble) -> None:
        self._begins[trouble.what](trouble)

    def end_all(self) -> None:
        """From here on nothing fails."""
        world = self._world
        world.weather.odds = []
        for end in list(self._ends.values()):
            end()
        operator = world.operator
        if not operator.is_dead and operator.facts is not None and not self._is_release():
            kept = replace(operator.facts, paused=(), is_paused=False, leaving=(), expected=())
            operator.say(kept)
        if not any(not p.is_dead and not p.is_asked_to_stop for p in world.processes.values()):
            self._join("m-last")

    def _is_release(self) -> bool:
        return self._world.script.is_without_faults

    def _lasts(self, seconds: float, end: Callable[[], None]) -> None:
        """`end` is called once: after so many seconds, or when the world becomes quiet."""
        self._begun += 1
        key = self._begun

        def once() -> None:
            if self._ends.pop(key, None) is not None:
                end()

        self._ends[key] = once
        self._world.clock.after(seconds, once)

    def _living(self, name: str) -> Process | None:
        process = self._world.processes.get(name)
        return None if process is None or process.is_dead else process

    # --- processes

    def _join(self, name: str) -> None:
        self._world.start(name)

    def _stop(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None and not process.is_asked_to_stop:
            process.stop()

    def _kill(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is None:
            return
        process.kill()
        # Its links die with it, or when the hub notices.
        world = self._world
        if world.dice.random() < 0.7:
            world.clock.after(world.dice.random(), world.hub.cut, process.who)
        match trouble.then:
            case "same-place":
                leases = process.remembered
                self._lasts(trouble.length_s, lambda: self._come_back(trouble.member, leases))
            case "same-name":
                self._lasts(trouble.length_s, lambda: self._come_back(trouble.member, ()))
            case "new-name":
                name = f"{trouble.member}n"
                self._lasts(trouble.length_s, lambda: self._join(name))

    def _come_back(self, name: str, leases: tuple[tuple[str, str], ...]) -> None:
        self._world.start(name, leases)

    def _pause(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None:
            process.pause()
            self._lasts(trouble.length_s, process.resume)

    def _sleep(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None:
            process.sleep()
            self._lasts(trouble.length_s, process.wake_up)

    def _block(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None:
            process.block()
            self._lasts(trouble.length_s, process.unblock)

    def _slow_handler(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None:
            partition, normal_s = trouble.partition, self._world.script.handler_s
            process.slow_down(partition, trouble.length_s)
            self._lasts(2 * trouble.length_s, lambda: process.slow_down(partition, normal_s))

    def _hung_handler(self, trouble: Trouble) -> None:
        process = self._living(trouble.member)
        if process is not None:
            process.hanging.begin(trouble.partition)
            self._lasts(trouble.length_s, lambda: process.hanging.end(trouble.partition))

    # --- storage and hub

    def _storage_down(self, trouble: Trouble) -> None:
        down, name = self._world.weather.storage_down, trouble.member
        down[name] += 1
        self._lasts(trouble.length_s, lambda: down.subtract([name]))

    def _hub_down(self, trouble: Trouble) -> None:
        world, name = self._world, trouble.member
        down = world.weather.hub_down
        down[name] += 1
        self._lasts(trouble.length_s, lambda: down.subtract([name]))
        for process in world.processes.values():
            if name in ("*", process.name):
                world.hub.cut(process.who)

    def _slow_storage(self, trouble: Trouble) -> None:
        weather = self._world.weather
        slow_s = self._world.dice.random() * _SLOW_S
        weather.slow_s += slow_s

        def end() -> None:
            weather.slow_s = max(weather.slow_s - slow_s, 0.0)

        self._lasts(trouble.length_s, end)

    # --- hands

    def _by_hand(
        self, what: str, partition: str, act: Callable[[], object], sequence: int | None = None
    ) -> None:
        world = self._world
        try:
            act()
        except (LedgerError, KeyError):
            return  # there is nothing to do it to
        world.record(ByHand(world.clock.now, what, partition, sequence))

    def _break_lease(self, trouble: Trouble) -> None:
        ledger, now = self._world.ledger, self._world.clock.now
        partition = trouble.partition
        self._by_hand(BROKE, partition, lambda: ledger.break_by_hand(partition, now))

    def _delete(self, kind: Kind, trouble: Trouble) -> None:
        ledger, partition = self._world.ledger, trouble.partition
        what = DELETED_OWNERSHIP if kind is Kind.OWNERSHIP else DELETED_CHECKPOINT
        self._by_hand(what, partition, lambda: ledger.delete_by_hand(kind, partition))

    def _empty(self, trouble: Trouble) -> None:
        """Delete the container, like a person does."""
        world = self._world
        world.ledger.empty_by_hand()
        for partition in world.partitions:
            world.record(ByHand(world.clock.now, EMPTIED, partition))
        if trouble.length_s:
            world.storage.refuses = Refusal(trouble.then)

            def end() -> None:
                world.storage.refuses = None

            self._lasts(trouble.length_s, end)

    def _official(self, trouble: Trouble) -> None:
        """An official processor checkpoints: the state is left behind, until a rewind."""
        world, partition = self._world, trouble.partition
        found = world.checkpoint_of(partition)
        if found is None:
            return
        sequence = max(found.position.sequence - 3, -1)
        position, now = position_of(sequence), world.clock.now
        self._by_hand(
            SET_BACK,
            partition,
            lambda: world.ledger.checkpoint_by_other(partition, position, now),
            sequence,
        )
        self._lasts(trouble.length_s, lambda: world.operator.rewind(partition, back=2))

    def _set_back(self, trouble: Trouble) -> None:
        """Somebody writes an earlier position, and clears the state that belonged to the other."""
        ledger, now, partition = self._world.ledger, self._world.clock.now, trouble.partition
        found = self._world.checkpoint_of(partition)
        if found is None:
            return
        sequence = max(found.position.sequence - int(trouble.length_s), -1)
        write = WriteCheckpoint(partition, found.etag, position_of(sequence), 0, "by-hand")
        self._by_hand(SET_BACK, partition, lambda: ledger.perform_at(write, now), sequence)
