"""A reader of one partition and the user's handler behind it, in one process of the world.

It does what the runtime's reader does: attach, receive a batch, hand it over, say how far it has
come; asked to close, it drains or drops what the handler has. The handler keeps a state that says
which events went into it, so that a checker can see a state that does not belong to its position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.history import Handled
from simulation.hub import Link
from tidegate.member import messages as m
from tidegate.model import Position

if TYPE_CHECKING:
    from simulation.process import Process

BATCH = 20


def state_of(first: int, count: int) -> bytes:
    """The state of a handler that began with event `first` and has handled so many."""
    return b"%d+%d" % (first, count)


class WorldReader:
    """From OpenReader to the end."""

    def __init__(self, process: Process, command: m.OpenReader) -> None:
        self.process = process
        self.partition = command.partition
        self.serial = command.serial
        self.sequence = command.position.sequence
        self.epoch = command.epoch
        self.is_ended = False
        self._first, self._count = self.sequence + 1, 0
        if command.state is not None:
            first, _, count = command.state.partition(b"+")
            self._first, self._count = int(first), int(count)
        self._link: Link | None = None
        self.is_handling = False
        self._is_closing = False
        self._stolen_level: int | None = None
        self._failure = ""
        self._waited = 0
        self._batch = 0

    # --- attaching

    def start(self) -> None:
        """Attaches once nothing else of this process reads the partition."""
        world = self.process.world
        world.clock.after(world.hub_latency(), self.process.in_loop, self._attach)

    def _attach(self) -> None:
        if self.is_ended:
            return
        world = self.process.world
        if self._is_closing:
            self._end(m.ReaderClosed)
        elif world.weather.is_hub_down(self.process.name):
            self._failure = "the hub cannot be reached"
            self._end(m.ReaderFailed)
        else:
            link = Link(self.process.who, self.partition, self.epoch, self._on_link_end)
            level = world.hub.attach(link, self.sequence)
            if level is not None:
                self._stolen_level = level
                self._end(m.ReaderRefused)
                return
            self._link = link
            self._tell(m.ReaderOpened)
            self._receive()

    def _on_link_end(self, why: str, level: int) -> None:
        world = self.process.world
        world.clock.after(world.hub_latency(), self.process.in_loop, self._note_end, why, level)

    def _note_end(self, why: str, level: int) -> None:
        if why == "stolen":
            self._stolen_level = level
        else:
            self._failure = "the link was cut"
        self._link = None
        if not self.is_handling:
            self._finish()

    # --- reading

    def _receive(self) -> None:
        """Takes the next batch, or waits for an event to come."""
        if self.is_ended or self.is_handling:
            return
        if self._is_closing or self._link is None:
            self._finish()
            return
        world = self.process.world
        newest = world.hub.last_sequence(self.partition)
        if newest > self.sequence:
            self.is_handling = True
            # A slow handler is given one event at a time: its batch would outlast the world.
            is_slow = self.process.handler_s(self.partition) > 1.0
            last = min(newest, self.sequence + (1 if is_slow else BATCH))
            took = self.process.handler_s(self.partition) * (last - self.sequence)
            self._batch += 1
            if self.partition in self.process.hanging:
                limit_s = world.script.handler_limit_s
                world.clock.after(limit_s, self.process.in_loop, self._on_limit, last, self._batch)
                return
            world.clock.after(took, self.process.in_loop, self._on_handled, last, self._batch)
            return
        next_at = world.hub.next_at(self.partition, self.sequence)
        if next_at is not None:
            self._waited += 1
            when = next_at + world.hub_latency()
            world.clock.at(when, self.process.in_loop, self._on_arrival, self._waited)

    def _on_arrival(self, wait: int) -> None:
        if wait == self._waited:
            self._receive()

    def _on_limit(self, last: int, batch: int) -> None:
        """The call that hung has come back, or is given up: nothing of it counts."""
        if self.partition not in self.process.hanging:
            self._on_handled(last, batch)
        elif not self.is_ended and batch == self._batch:
            self.is_handling = False
            self.process.hanging.give_up(self.partition, self.serial)
            self._end(m.ReaderGaveUp)

    def _on_handled(self, last: int, batch: int) -> None:
        if self.is_ended or batch != self._batch:
            return
        self.is_handling = False
        self._record_handled(last)
        self._count += last - self.sequence
        self.sequence = last
        has_state = self.process.world.script.has_state
        self.process.tell(
            lambda now: m.Handled(
                now,
                self.partition,
                self.serial,
                Position(str(last * 8), last),
                None,
                state_of(self._first, self._count) if has_state else None,
            )
        )
        self._receive()

    def _record_handled(self, last: int) -> None:
        world = self.process.world
        world.record(
            Handled(
                world.clock.now,
                self.process.who,
                self.partition,
                self.epoch,
                self.sequence + 1,
                last,
            )
        )

    # --- closing

    def ask_to_close(self, *, drain: bool) -> None:
        self._is_closing = True
        if self.is_ended or (self.is_handling and drain):
            return
        is_at_work = self.is_handling and self.partition not in self.process.hanging
        if is_at_work and self.process.world.dice.random() < 0.5:
            # It is dropped after the first event of its batch.
            self._record_handled(self.sequence + 1)
        self.is_handling = False
        self._batch += 1
        self.process.world.clock.after(0.0, self.process.in_loop, self._finish)

    def _finish(self) -> None:
        """Ends with what has happened to the link, or closed."""
        if self.is_ended:
            return
        if self._stolen_level is not None:
            self._end(m.ReaderRefused)
        elif self._failure:
            self._end(m.ReaderFailed)
        else:
            self._end(m.ReaderClosed)

    def _end(self, how: type[m.Event]) -> None:
        self.is_ended = True
        if self._link is not None:
            self.process.world.hub.detach(self._link)
            self._link = None
        self.process.on_reader_ended(self)
        self._tell(how)

    def _tell(self, how: type[m.Event]) -> None:
        partition, serial = self.partition, self.serial
        if how is m.ReaderRefused:
            # Half of the hubs of this world say the level that refused, half do not.
            level = self._stolen_level if self.process.world.script.hub_says_level else None
            self.process.tell(lambda now: m.ReaderRefused(now, partition, serial, level))
        elif how is m.ReaderFailed:
            failure = self._failure
            self.process.tell(lambda now: m.ReaderFailed(now, partition, serial, failure))
        elif how is m.ReaderGaveUp:
            self.process.tell(lambda now: m.ReaderGaveUp(now, partition, serial, "it hangs"))
        elif how is m.ReaderOpened:
            self.process.tell(lambda now: m.ReaderOpened(now, partition, serial))
        else:
            self.process.tell(lambda now: m.ReaderClosed(now, partition, serial))
