"""A world of homes with sensors, whose readings are events to send. Pure: the dice are passed in.

Rules:
- Homes take their turns in order; in its turn a home reads each of its sensors once, and the key of
  all of them is the home, so that a home's readings stay in one partition and in order.
- One seed gives one world: what is drawn depends on the dice and on nothing else.
- `turn` counts a home's readings from 0 without a gap, so that a reader can tell what it missed and
  what it saw twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidegate.sending.outgoing import Outgoing

Dice = Callable[[], float]  # a number from 0 to below 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of sensor: how likely it is to say something, and whether that is an alarm."""

    name: str
    odds: float
    is_alarm: bool


KINDS = (
    Kind("motion", 0.3, False),
    Kind("door", 0.02, True),
    Kind("window", 0.01, True),
    Kind("glass", 0.0005, True),
    Kind("smoke", 0.0002, True),
)


def home_name(number: int) -> str:
    return f"home-{number:06}"


def readings(
    home: int, turn: int, at: float, dice: Dice, kinds: tuple[Kind, ...] = KINDS
) -> list[Outgoing]:
    """What the sensors of one home say in one turn; `at` is seconds on the wall."""
    name = home_name(home)
    found = []
    for kind in kinds:
        value = 1 if dice() < kind.odds else 0
        alarm = "true" if value and kind.is_alarm else "false"
        # Written by hand: a JSON library takes longer than everything else that sends an event.
        body = (
            f'{{"home":"{name}","sensor":"{name}/{kind.name}","kind":"{kind.name}",'
            f'"value":{value},"alarm":{alarm},"turn":{turn},"at":{at:.3f}}}'
        )
        found.append(Outgoing(body.encode(), name))
    return found


def world(
    homes: int, dice: Dice, wall: Callable[[], float], kinds: tuple[Kind, ...] = KINDS
) -> Iterator[Outgoing]:
    """The readings of all homes, turn after turn, for ever."""
    turn = 0
    while True:
        for home in range(homes):
            yield from readings(home, turn, wall(), dice, kinds)
        turn += 1
