"""The world of homes: who says what next, and what has been said. Pure: the time is passed in.

Rules:
- Homes take their turns in order; in its turn a home reads each of its sensors once.
- One seed gives one world. What the keys of the demo do to it is the only thing besides.
- What was said is counted here, before anybody else sees it: `Truth` is what totals are held to.
"""

from __future__ import annotations

import json
import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from homes.habits import (
    ALARMS_PER_MINUTE,
    CARBON_MONOXIDE,
    HOURS,
    KINDS,
    Habits,
    Kind,
    Part,
    liveliness,
)
from tidegate.sending.outgoing import Outgoing
from tidegate.sending.sensors import home_name

BURST_TIMES, BURST_S = 6.0, 60.0
_BEGIN_HOUR = 16.0
_MOST_KINDS = len(KINDS) + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What the world is like."""

    homes: int
    seed: int
    # Each home has a turn so often, when it is calm.
    period_s: float = 60.0
    # A day of the homes.
    day_s: float = 480.0


class Truth:
    """How many readings and alarms each home has sent, by kind of sensor."""

    def __init__(self, homes: int) -> None:
        self.kinds = [kind.name for kind in KINDS]
        self._counts = array("I", bytes(4 * homes * _MOST_KINDS))
        self._alarms = array("I", bytes(4 * homes * _MOST_KINDS))
        self.readings = 0
        self.alarms = 0

    def count(self, home: int, kind: int, *, is_alarm: bool) -> None:
        place = home * _MOST_KINDS + kind
        self._counts[place] += 1
        self._alarms[place] += is_alarm
        self.readings += 1
        self.alarms += is_alarm

    def rows(self) -> Iterator[tuple[str, str, int, int]]:
        """Home, kind, readings, alarms: of what has said something."""
        for home in range(len(self._counts) // _MOST_KINDS):
            for kind, name in enumerate(self.kinds):
                place = home * _MOST_KINDS + kind
                if self._counts[place]:
                    yield home_name(home), name, self._counts[place], self._alarms[place]

    def as_json(self) -> str:
        homes = len(self._counts) // _MOST_KINDS
        said = {"homes": homes, "rows": list(self.rows())}
        return json.dumps(said, separators=(",", ":"))


class World:
    """See the module. Times are seconds on the wall."""

    def __init__(self, plan: Plan, now: float) -> None:
        self.plan = plan
        self.truth = Truth(plan.homes)
        self.kinds: list[Kind] = list(KINDS)
        self._habits = Habits(plan.homes, plan.seed)
        self._dice = random.Random(plan.seed).random
        self._begun = self._said_until = now
        self._due = 0.0
        self._turns = 0
        self._burst_until = 0.0
        self._asked_alarms: set[int] = set()
        turns_a_minute = plan.homes * 60 / plan.period_s
        self._alarm_odds = ALARMS_PER_MINUTE / (turns_a_minute * len(KINDS))

    # --- what the keys do

    def add_carbon_monoxide(self) -> bool:
        """Every home gets one more sensor; False where they have it already."""
        if CARBON_MONOXIDE in self.kinds:
            return False
        self.kinds.append(CARBON_MONOXIDE)
        self.truth.kinds.append(CARBON_MONOXIDE.name)
        return True

    def burst(self, now: float) -> None:
        """All homes are lively for a while."""
        self._burst_until = now + BURST_S

    def raise_alarm(self, home: int) -> None:
        """Glass breaks in this home, in its next turn."""
        self._asked_alarms.add(home)

    # --- what is said

    def hour(self, now: float) -> float:
        """What time it is in the homes."""
        return ((now - self._begun) / self.plan.day_s * HOURS + _BEGIN_HOUR) % HOURS

    def turns_per_s(self, now: float) -> float:
        times = BURST_TIMES if now < self._burst_until else liveliness(self.hour(now))
        return self.plan.homes / self.plan.period_s * times

    def say(self, now: float, at_most_turns: int = 5_000) -> list[Outgoing]:
        """What is due by now."""
        # A machine that was asleep does not make good what it missed.
        since = min(now - self._said_until, 1.0)
        self._due += since * self.turns_per_s(now)
        self._said_until = now
        count = min(int(self._due), at_most_turns)
        self._due -= count
        found: list[Outgoing] = []
        hour = self.hour(now)
        for home in self._asked_alarms:
            found += self._turn(home, hour, now, is_glass_broken=True)
        self._asked_alarms.clear()
        for number in range(self._turns, self._turns + count):
            found += self._turn(number % self.plan.homes, hour, now)
        self._turns += count
        return found

    def _turn(
        self, home: int, hour: float, at: float, *, is_glass_broken: bool = False
    ) -> Iterator[Outgoing]:
        name, part = home_name(home), self._habits.part(home, hour)
        nobody_is_up = part in (Part.ASLEEP, Part.AWAY)
        dice = self._dice
        for number, kind in enumerate(self.kinds):
            drawn = dice()
            alarm = (kind.is_alarm or (nobody_is_up and kind.name != "motion")) and (
                drawn < self._alarm_odds
            )
            alarm |= is_glass_broken and kind.name == "glass"
            value = 1 if alarm or drawn < kind.odds[part] else 0
            self.truth.count(home, number, is_alarm=alarm)
            # Written by hand: a JSON library takes longer than everything else that sends it.
            body = (
                f'{{"home":"{name}","kind":"{kind.name}","value":{value},'
                f'"alarm":{"true" if alarm else "false"},"at":{at:.3f}}}'
            )
            yield Outgoing(body.encode(), name)
