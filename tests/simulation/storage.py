"""The way to the storage service: latency, losses, delays, doubles, refusals. All by the dice.

Rules: the client gives up after `TIMEOUT_S` and then knows nothing; what it sent may still arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from simulation.clock import Clock
from simulation.history import Did, Record, Who
from simulation.weather import Weather
from tidegate.ledger.memory import MemoryLedger
from tidegate.model import MemberName
from tidegate.ports import LedgerError, Operation, Refusal, Reply

TIMEOUT_S = 3.0
# The longest that a request is under way after the client gave up: longer than a lease with it.
LATE_S = 13.0
Done = Callable[[Reply, Refusal | None], None]


class Storage:
    """The ledger of the world behind a network."""

    def __init__(
        self,
        clock: Clock,
        ledger: MemoryLedger,
        weather: Weather,
        dice: Random,
        latency_s: float,
        record: Callable[[Record], None],
    ) -> None:
        self._clock = clock
        self.ledger = ledger
        self._weather = weather
        self._dice = dice
        self._latency_s = latency_s
        self._record = record
        # What everything is answered with, while the container is not there.
        self.refuses: Refusal | None = None

    def call(self, who: Who, name: MemberName, operation: Operation, done: Done) -> None:
        """Sends an operation; `done` is told how it ended, as the client sees it."""
        weather, clock, dice = self._weather, self._clock, self._dice
        if weather.is_storage_down(name):
            clock.after(dice.choice((0.01, TIMEOUT_S)), done, None, Refusal.UNKNOWN)
            return
        there = self._latency_s * (0.5 + dice.random()) + weather.slow_s
        if weather.odds:
            draw = dice.random()
            for end, how in weather.odds:
                if draw < end:
                    self._go_wrong(how, there, who, operation, done)
                    return
        clock.after(there, self._arrive, who, operation, done)

    def _go_wrong(self, how: str, there: float, who: Who, operation: Operation, done: Done) -> None:
        clock, dice = self._clock, self._dice
        match how:
            case "busy":
                clock.after(2 * there, done, None, Refusal.BUSY)
            case "failed":
                clock.after(2 * there, done, None, Refusal.UNKNOWN)
            case "failed_done":
                clock.after(there, self._perform, who, operation)
                clock.after(2 * there, done, None, Refusal.UNKNOWN)
            case "lost_request":
                clock.after(TIMEOUT_S, done, None, Refusal.UNKNOWN)
            case "lost_reply":
                clock.after(there, self._perform, who, operation)
                clock.after(TIMEOUT_S, done, None, Refusal.UNKNOWN)
            case "late":
                late = TIMEOUT_S + dice.random() * LATE_S
                clock.after(late, self._perform, who, operation)
                clock.after(TIMEOUT_S, done, None, Refusal.UNKNOWN)
            case "twice":
                clock.after(there, self._arrive, who, operation, done)
                clock.after(there + dice.random() * LATE_S, self._perform, who, operation)
            case "spike":
                longer = there + dice.random() * TIMEOUT_S / 2
                clock.after(longer, self._arrive, who, operation, done)

    def _arrive(self, who: Who, operation: Operation, done: Done) -> None:
        reply, refusal = self._perform(who, operation)
        back = self._latency_s * (0.5 + self._dice.random()) + self._weather.slow_s
        self._clock.after(back, done, reply, refusal)

    def _perform(self, who: Who, operation: Operation) -> tuple[Reply, Refusal | None]:
        now = self._clock.now
        if self.refuses is not None:
            self._record(Did(now, who, operation, self.refuses, None))
            return None, self.refuses
        try:
            reply = self.ledger.perform_at(operation, now)
        except LedgerError as error:
            self._record(Did(now, who, operation, error.refusal, None))
            return None, error.refusal
        self._record(Did(now, who, operation, None, reply))
        return reply, None
