"""How the life of a tenure is written: as steps one after another, without I/O.

A script is a generator. It puts commands out and waits for events with a bare `yield`; whoever runs
it sends each event in and takes the commands that came out. So what happens in sequence reads in
sequence, and is still a function of the events alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from tidegate.member.messages import Answered, Command, Event, Key, Perform
from tidegate.ports import Operation, Refusal

T = TypeVar("T")
# Takes events, gives a T in the end.
Script = Generator[None, Event, T]

# The operation may not have been done, or may yet be: it is looked into, or sent again. A container
# that is missing may come back.
LOST = (Refusal.UNKNOWN, Refusal.BUSY, Refusal.ABSENT)
RETRY_S = 0.5
# Storage may ask for a longer pause. Who holds a lease waits no longer than a third of the shortest
# one, for a hand-over may wait for it; where the lease ends before, that ends the pause.
LONGEST_RETRY_S = 5.0
NEVER = float("inf")


class FencedError(Exception):
    """The tenure is over: somebody else owns the partition, or may."""


class DoubtError(Exception):
    """A renewal was refused, or the ownership blob is not listed: the blob shows why."""


class GoneError(Exception):
    """The ownership blob was deleted, or created again: memory has its contents."""


class LapsedError(Exception):
    """Our time is up by our own clock; if nobody took the lease, its renewal brings us back."""


class HaltedError(Exception):
    """What stands in the ledger is not ours to read or write: it is left as it is."""


class LeftError(Exception):
    """The partition must be handed over before its start was known."""


class Steps:
    """Commands on their way out, and the waiting that all scripts share."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.out: list[Command] = []
        self.retry_at = NEVER

    def put(self, *commands: Command) -> None:
        self.out.extend(commands)

    def send(self, operation: Operation) -> Script[Answered]:
        """Sends an operation and waits for its end, whatever else happens meanwhile."""
        self.put(Perform(self.key, operation))
        while True:
            event = yield
            if isinstance(event, Answered) and event.operation is operation:
                return event

    def insist(self, operation: Operation) -> Script[Answered]:
        """Sends an operation that may be repeated, until it is known how it ended."""
        while True:
            answer = yield from self.send(operation)
            if answer.refusal not in LOST:
                return answer
            yield from self.pause_after(answer)

    def pause_after(self, answer: Answered) -> Script[None]:
        """Waits before what was refused for want of an answer, or of time, is sent again."""
        asked_s = answer.retry_after_s or 0.0
        yield from self.pause(answer.now, min(max(asked_s, RETRY_S), LONGEST_RETRY_S))

    def pause(
        self, now: float, seconds: float, is_cut: Callable[[], bool] = lambda: False
    ) -> Script[None]:
        """Waits by the clock, unless it is cut short."""
        self.retry_at = now + seconds
        while not is_cut():
            event = yield
            if event.now >= self.retry_at:
                break
        self.retry_at = NEVER
