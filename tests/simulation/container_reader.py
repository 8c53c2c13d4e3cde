"""A reader of one partition of a container, and the user's handler behind it, in one process.

Rules: which feed is next and where it stands is decided by the product's own code (feeds.py); this
is the I/O around it, in virtual time. Pages are handed over in pieces, so that checkpoints fall
within pages. The handler counts the items of each key in its state.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from simulation.history import Attached, Detached, Who
from simulation.process import Process
from simulation.reader import WorldReader
from tidegate.member import messages as m
from tidegate.model import PartitionId
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.feeds import Feeds
from tidegate.sources.cosmos.places import place_of

if TYPE_CHECKING:
    from simulation.container_world import ContainerWorld

_PAGE = 12
_POLL_S = 1.0


class Gave(NamedTuple):
    """A handler has finished these items. `reader` is one opening of the partition."""

    at: float
    who: Who
    partition: PartitionId
    epoch: int
    reader: int
    numbers: tuple[int, ...]


class ContainerReader(WorldReader):
    """From OpenReader to the end."""

    _openings = 0

    def __init__(self, world: ContainerWorld, process: Process, command: m.OpenReader) -> None:
        super().__init__(process, replace(command, state=None))
        self._world = world
        self._feeds = Feeds(place_of(command.position, command.partition))
        self._counts: dict[str, int] = json.loads(command.state) if command.state else {}
        self._left: Sequence[Change] = ()
        self._is_asked = self._is_attached = False
        self._turn = 0
        world.openings += 1
        self._opening = world.openings

    def start(self) -> None:
        self._world.clock.after(self._world.hub_latency(), self.process.in_loop, self._open)

    def _open(self) -> None:
        if self.is_ended:
            return
        if self._is_asked:
            self._end(m.ReaderClosed)
        elif self._world.weather.is_hub_down(self.process.name):
            self._fail()
        else:
            at, who = self._world.clock.now, self.process.who
            self._world.record(Attached(at, who, self.partition, self.epoch, self.sequence))
            self._is_attached = True
            self._tell(m.ReaderOpened)
            self._next(0.0)

    def _end(self, how: type[m.Event]) -> None:
        if self._is_attached:
            at, who = self._world.clock.now, self.process.who
            self._world.record(Detached(at, who, self.partition, self.epoch, how.__name__))
        super()._end(how)

    def _fail(self) -> None:
        self._failure = "the service cannot be reached"
        self._end(m.ReaderFailed)

    def _next(self, pause_s: float) -> None:
        """Reads on after a pause; what was planned before counts no more."""
        self._turn += 1
        self._world.clock.after(
            pause_s + self._world.hub_latency(), self.process.in_loop, self._read, self._turn
        )

    def _read(self, turn: int) -> None:
        if self.is_ended or self.is_handling or turn != self._turn:
            return
        if self._is_asked:
            self._end(m.ReaderClosed)
        elif self._world.weather.is_hub_down(self.process.name):
            self._fail()
        else:
            self._page()

    def _page(self) -> None:
        container = self._world.container
        feed = self._feeds.current
        answer = container.read(feed, _PAGE)
        changes = self._feeds.take(feed, answer.changes, answer.tokens, answer.lsn)
        if changes is None:
            assert self._feeds.divide(feed, container.spans())
            self._world.hurry(self.process)
            self._next(0.0)
        elif changes:
            self._left = changes
            self._hand_over()
        elif self._feeds.is_clear:
            self._feeds.level(container.spans())
            self._next(_POLL_S)
        else:
            self._next(0.0)

    # --- the handler

    def _hand_over(self) -> None:
        count = self._world.dice.randint(1, len(self._left))
        # Nothing is told within what shares an LSN, as the product's own handlers do it. After a
        # merge that may be of two ranges.
        while not self._left[count - 1].is_place:
            count += 1
        self.is_handling = True
        self._batch += 1
        took = self._world.script.handler_s * count
        self._world.clock.after(took, self.process.in_loop, self._on_done, count, self._batch)

    def _on_done(self, count: int, batch: int) -> None:
        if self.is_ended or batch != self._batch:
            return
        self.is_handling = False
        done, self._left = self._left[:count], self._left[count:]
        self._note(done)
        for change in done:
            self._counts[change["key"]] = self._counts.get(change["key"], 0) + 1
        has_state = self._world.script.has_state
        state = json.dumps(self._counts, sort_keys=True).encode() if has_state else None
        position = done[-1].position
        partition, serial = self.partition, self.serial
        self.process.tell(lambda now: m.Handled(now, partition, serial, position, None, state))
        if self._is_asked:
            self._end(m.ReaderClosed)
        elif self._left:
            self._hand_over()
        else:
            self._next(0.0)

    def _note(self, done: Sequence[Change]) -> None:
        numbers = tuple(change["n"] for change in done)
        world = self._world
        gave = Gave(
            world.clock.now, self.process.who, self.partition, self.epoch, self._opening, numbers
        )
        world.gave.append(gave)

    def ask_to_close(self, *, drain: bool) -> None:
        self._is_asked = True
        if self.is_ended or (self.is_handling and drain):
            return
        if self.is_handling and self._world.dice.random() < 0.5:
            # It is dropped after the first item of its batch.
            self._note(self._left[:1])
        self.is_handling = False
        self._batch += 1
        self._next(0.0)
