"""One life of one member: its main loop, its keeper's thread, its readers, and its own clock.

It stands for the runtime: it carries commands out in the world and feeds back what came of them.

Rules:
- The loop may be blocked: then only the keeper goes on, and what happened is told afterwards, the
  keeper's notices first, as the real loop does. A paused process does nothing at all.
- A killed process is silent for ever; what it sent still arrives.
- Its clock has an offset and a drift; every `now` that the member is told is by that clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulation.hanging import Hanging
from simulation.history import ASKED_TO_STOP, KILLED, STARTED, STOPPED, Lived, Noted
from simulation.keeper_thread import KeeperThread
from simulation.reader import WorldReader
from tidegate.member import messages as m
from tidegate.member.member import Member
from tidegate.model import MemberName, PartitionId
from tidegate.ports import Refusal, Reply

if TYPE_CHECKING:
    from simulation.world import World

_SPINS_MAX = 200
Leases = tuple[tuple[PartitionId, str], ...]


class SpinningError(AssertionError):
    """The member asks to be woken again and again without time passing: it would burn a core."""


class Process:
    """See the module."""

    def __init__(
        self, world: World, name: MemberName, life: int, inherited: Leases, weight: float = 1.0
    ) -> None:
        self.world = world
        self.name = name
        self.who = f"{name}#{life}"
        self._offset = world.dice.random() * 1e5
        self.rate = 1.0 + world.script.drift * (2.0 * world.dice.random() - 1.0)
        self.settings = world.settings_of(name, weight)
        self._member = Member(self.settings, str(life), world.new_id, inherited, world.lineage)
        self._keeper = KeeperThread(self)
        self.remembered: Leases = inherited
        self.is_dead = self.is_stopped = self.is_asked_to_stop = False
        self.halts = 0  # pauses of the whole process
        self._blocks = 0  # blocks of the main loop
        self._sleeps = 0
        self._asleep_since = 0.0
        self._inbox: deque[Callable[[], None]] = deque()
        self.notices: deque[Callable[[], None]] = deque()
        self.readers: dict[PartitionId, WorldReader] = {}
        self._waiting: dict[PartitionId, WorldReader] = {}
        self._handler_s: dict[PartitionId, float] = {}
        self.hanging = Hanging(self.tell)
        self._wake_due: float | None = None
        self.loop_ran_at = world.clock.now
        self._spins = 0
        world.record(Lived(world.clock.now, self.who, STARTED))
        self.in_loop(self._wake)

    # --- time

    def local(self) -> float:
        return self.world.clock.now * self.rate + self._offset

    def when(self, local: float) -> float:
        """The world's time of a time of ours."""
        return (local - self._offset) / self.rate

    def handler_s(self, partition: PartitionId) -> float:
        """How long the handler takes for one event."""
        return self._handler_s.get(partition, self.world.script.handler_s)

    def slow_down(self, partition: PartitionId, seconds: float) -> None:
        self._handler_s[partition] = seconds

    @property
    def is_handling(self) -> bool:
        """Whether a handler is at work."""
        is_any = any(reader.is_handling for reader in self.readers.values())
        return not self.is_dead and (is_any or bool(self.hanging))

    # --- what may run

    def in_loop(self, act: Callable[..., None], *args: Any) -> None:
        """Does it on the main loop: now, or once the loop is free again."""
        self._run_or_keep(self._inbox, act, args)

    def notice(self, act: Callable[..., None], *args: Any) -> None:
        self._run_or_keep(self.notices, act, args)

    def _run_or_keep(
        self, queue: deque[Callable[[], None]], act: Callable[..., None], args: tuple[Any, ...]
    ) -> None:
        if self.is_dead:
            return
        if self.halts or self._blocks:
            queue.append(lambda: act(*args))
        else:
            self.loop_ran_at = self.world.clock.now
            act(*args)

    def _drain_inbox(self) -> None:
        for queue in (self.notices, self._inbox):
            while queue and not (self.halts or self._blocks or self.is_dead):
                self.loop_ran_at = self.world.clock.now
                queue.popleft()()
        if not (self.halts or self._blocks):
            self.in_loop(self._wake)

    def pause(self) -> None:
        self.world.record(Lived(self.world.clock.now, self.who, "paused"))
        self.halts += 1

    def resume(self) -> None:
        self.halts -= 1
        if self.halts or self.is_dead:
            return
        self.world.record(Lived(self.world.clock.now, self.who, "went on"))
        self._drain_inbox()
        self._keeper.on_time()

    def sleep(self) -> None:
        """Pauses with its clock, as a suspended machine's monotonic clock stands still."""
        if not self._sleeps:
            self._asleep_since = self.world.clock.now
        self._sleeps += 1
        self.pause()

    def wake_up(self) -> None:
        self._sleeps -= 1
        if not self._sleeps:
            self._offset -= (self.world.clock.now - self._asleep_since) * self.rate
        self.resume()

    def block(self) -> None:
        """The handler holds the main loop."""
        self.world.record(Lived(self.world.clock.now, self.who, "blocked"))
        self._blocks += 1

    def unblock(self) -> None:
        self._blocks -= 1
        if not self.is_dead:
            self.world.record(Lived(self.world.clock.now, self.who, "unblocked"))
            self._drain_inbox()

    def kill(self) -> None:
        self.world.record(Lived(self.world.clock.now, self.who, KILLED))
        self.is_dead = True

    def stop(self) -> None:
        self.is_asked_to_stop = True
        self.world.record(Lived(self.world.clock.now, self.who, ASKED_TO_STOP))
        self.tell(m.StopAsked)

    # --- the member

    @property
    def member(self) -> Member:
        return self._member

    def tell(self, make: Callable[[float], m.Event]) -> None:
        """Tells the member an event, made with the time at which it is told."""
        # Never from within a command of the member's own: what follows, follows.
        self.world.clock.after(0.0, self.in_loop, self._tell, make)

    def _tell(self, make: Callable[[float], m.Event]) -> None:
        self.feed(make(self.local()))

    def feed(self, event: m.Event) -> None:
        for command in self._member.handle(event):
            self._carry_out(command)
        self._plan_wake()

    def _plan_wake(self) -> None:
        wake_at = self._member.wake_at
        if wake_at == float("inf"):
            return
        due = max(self.when(wake_at), self.world.clock.now)
        if self._wake_due is None or due < self._wake_due:
            self._wake_due = due
            self.world.clock.at(due, self.in_loop, self._wake, due)

    def _wake(self, due: float | None = None) -> None:
        if due is not None:
            if due != self._wake_due:
                return
            self._wake_due = None
        now = self.local()
        if due is not None and now < self._member.wake_at:
            # The clocks round differently, or the moment was put off.
            if self._member.wake_at - now > 1e-6:
                self._plan_wake()
                return
            now = self._member.wake_at
        self.feed(m.Woken(now))
        if self._member.wake_at <= now:
            self._spins += 1
            if self._spins > _SPINS_MAX:
                raise SpinningError(f"{self.who} wants to be woken at once, for ever")
        else:
            self._spins = 0

    def _carry_out(self, command: m.Command) -> None:
        match command:
            case m.Perform():
                self._perform(command)
            case m.Keep():
                self._keeper.keep(command)
            case m.LetGo():
                self._keeper.let_go(command.partition)
            case m.OpenReader():
                self._open(command)
            case m.CloseReader():
                self._close(command)
            case m.ResolveStart():
                self._resolve(command)
            case m.Remember():
                self.remembered = command.leases
            case m.Report():
                text = f"{command.kind} {command.partition}: {command.message}"
                self.world.record(Noted(self.world.clock.now, self.who, text))
            case m.Stopped():
                self.is_stopped = True
                self.world.clock.after(1.0, self._exit)

    def _exit(self) -> None:
        self.world.record(Lived(self.world.clock.now, self.who, STOPPED))
        self.is_dead = True

    def _perform(self, command: m.Perform) -> None:
        sent_at = self.local()

        def done(reply: Reply, refusal: Refusal | None) -> None:
            self.in_loop(
                lambda: self.feed(
                    m.Answered(
                        self.local(), sent_at, command.key, command.operation, reply, refusal
                    )
                )
            )

        self.world.storage.call(self.who, self.name, command.operation, done)

    def _resolve(self, command: m.ResolveStart) -> None:
        partition, serial = command.partition, command.serial

        def resolved() -> None:
            is_read = command.rewind is None and self._is_read_by_another(partition)
            if self.world.weather.is_hub_down(self.name) or is_read:
                why = "it is read" if is_read else "no hub"
                self.tell(lambda now: m.ReaderFailed(now, partition, serial, why))
            else:
                position = self.world.start_of(partition)
                self.tell(lambda now: m.StartResolved(now, partition, serial, position))

        self.world.clock.after(self.world.hub_latency(), self.in_loop, resolved)

    def _is_read_by_another(self, partition: PartitionId) -> bool:
        """Links of dead processes end later: the simulator does not model the wait."""
        who = self.world.hub.reader(partition)
        living = [each.who for each in self.world.processes.values() if not each.is_dead]
        return who != self.who and who in living

    # --- readers: one a partition at a time, also across tenures

    def _open(self, command: m.OpenReader) -> None:
        reader = self.world.new_reader(self, command)
        if command.partition in self.readers:
            self._waiting[command.partition] = reader
        else:
            self.readers[command.partition] = reader
            reader.start()

    def _close(self, command: m.CloseReader) -> None:
        for readers in (self.readers, self._waiting):
            reader = readers.get(command.partition)
            if reader is not None and reader.serial == command.serial:
                reader.ask_to_close(drain=command.drain)

    def on_reader_ended(self, reader: WorldReader) -> None:
        if self._waiting.get(reader.partition) is reader:
            del self._waiting[reader.partition]
        elif self.readers.get(reader.partition) is reader:
            del self.readers[reader.partition]
            waiting = self._waiting.pop(reader.partition, None)
            if waiting is not None:
                self.readers[reader.partition] = waiting
                waiting.start()
