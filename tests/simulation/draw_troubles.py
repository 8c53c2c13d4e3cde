"""The troubles of each kind of world, drawn by the dice."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from simulation.script import Kind, RosterFacts, Script, Trouble, What

_NAMES = 6  # members that may be named; those who never joined are strangers


class _Draw:
    """The dice, and what they choose from."""

    def __init__(self, script: Script, dice: Random) -> None:
        self.script = script
        self.dice = dice
        self._joined = 100

    def when(self) -> float:
        return self.dice.uniform(3.0, self.script.quiet_from)

    def member(self) -> str:
        most = 64 if self.script.kind is Kind.CROWD else _NAMES
        return f"m{self.dice.randrange(most)}"

    def partition(self) -> str:
        return str(self.dice.randrange(self.script.partitions))

    def newcomer(self) -> str:
        self._joined += 1
        return f"m{self._joined}"

    def leases(self, low: float, high: float) -> float:
        return self.dice.uniform(low, high) * self.script.lease_s


def of_kind(script: Script, dice: Random) -> list[Trouble]:
    """What befalls a world of this kind."""
    draw = _Draw(script, dice)
    if script.kind is Kind.CALM:
        return _calm(draw)
    if script.kind is Kind.RELEASES:
        return _releases(draw)
    if script.kind is Kind.STALL:
        at, length_s = dice.uniform(20.0, 30.0), draw.leases(0.3, 3.0)
        return [Trouble(at, What.STORAGE_DOWN, "*", length_s=length_s)]
    makers = _MAKERS[script.kind]
    found = []
    for _ in range(dice.randint(1, 6)):
        found += dice.choice(makers)(draw)
    if script.kind in (Kind.ROSTER, Kind.ALONE):
        found += _operator(draw)
    return found


# --- worlds without faults: one change at a time, the next when the last is long over


def _calm(draw: _Draw) -> list[Trouble]:
    found: list[Trouble] = []
    at = 25.0
    while at < draw.script.quiet_from:
        if draw.dice.random() < 0.6:
            for _ in range(draw.dice.randint(1, 4)):
                found.append(Trouble(at, What.JOIN, draw.newcomer()))
        else:
            for _ in range(draw.dice.randint(1, 2)):
                found.append(Trouble(at, What.STOP, draw.member()))
        at += 25.0
    return found


def _releases(draw: _Draw) -> list[Trouble]:
    """All members are replaced by as many new ones, one after the other, under one roster."""
    old = tuple(f"m{number}" for number in range(_NAMES))
    count = draw.dice.randint(1, 4)
    new = tuple(draw.newcomer() for _ in range(count))
    at = 25.0
    found = [Trouble(at, What.ROSTER, roster=RosterFacts(expected=new, leaving=old))]
    for name in new:
        at += draw.dice.uniform(0.5, 6.0)
        found.append(Trouble(at, What.JOIN, name))
    at += 15.0
    for name in old:
        found.append(Trouble(at, What.STOP, name))
        at += draw.dice.uniform(0.0, 3.0)
    return found


# --- troubles


def _join(draw: _Draw) -> list[Trouble]:
    return [Trouble(draw.when(), What.JOIN, draw.newcomer())]


def _stop(draw: _Draw) -> list[Trouble]:
    return [Trouble(draw.when(), What.STOP, draw.member())]


def _kill(draw: _Draw) -> list[Trouble]:
    then = draw.dice.choice(("nothing", "same-place", "same-place", "new-name", "same-name"))
    length_s = draw.dice.choice((0.5, 3.0, 10.0, 25.0))
    return [Trouble(draw.when(), What.KILL, draw.member(), length_s=length_s, then=then)]


def _pause(draw: _Draw) -> list[Trouble]:
    length_s = draw.leases(0.2, 5.0)
    return [Trouble(draw.when(), What.PAUSE, draw.member(), length_s=length_s)]


def _sleep(draw: _Draw) -> list[Trouble]:
    length_s = draw.leases(0.2, 5.0)
    return [Trouble(draw.when(), What.SLEEP, draw.member(), length_s=length_s)]


def _block(draw: _Draw) -> list[Trouble]:
    length_s = draw.leases(0.2, 4.0)
    return [Trouble(draw.when(), What.BLOCK, draw.member(), length_s=length_s)]


def _storage_down(draw: _Draw) -> list[Trouble]:
    member = "*" if draw.dice.random() < 0.4 else draw.member()
    length_s = draw.leases(0.1, 3.0)
    return [Trouble(draw.when(), What.STORAGE_DOWN, member, length_s=length_s)]


def _slow_storage(draw: _Draw) -> list[Trouble]:
    return [Trouble(draw.when(), What.SLOW_STORAGE, length_s=draw.leases(0.5, 2.0))]


def _hub_down(draw: _Draw) -> list[Trouble]:
    member = "*" if draw.dice.random() < 0.3 else draw.member()
    return [Trouble(draw.when(), What.HUB_DOWN, member, length_s=draw.leases(0.1, 3.0))]


def _slow_handler(draw: _Draw) -> list[Trouble]:
    at, length_s = draw.when(), draw.dice.uniform(1.0, 20.0)
    return [Trouble(at, What.SLOW_HANDLER, draw.member(), draw.partition(), length_s)]


def _hung_handler(draw: _Draw) -> list[Trouble]:
    at, length_s = draw.when(), draw.dice.uniform(1.0, 60.0)
    return [Trouble(at, What.HUNG_HANDLER, draw.member(), draw.partition(), length_s)]


def _by_hand(draw: _Draw) -> list[Trouble]:
    what = draw.dice.choice(
        (
            What.BREAK_LEASE,
            What.DELETE_OWNERSHIP,
            What.DELETE_CHECKPOINT,
            What.SET_CHECKPOINT_BACK,
        )
    )
    length_s = float(draw.dice.randint(1, 20))
    return [Trouble(draw.when(), what, partition=draw.partition(), length_s=length_s)]


def _official(draw: _Draw) -> list[Trouble]:
    length_s = draw.dice.uniform(1.0, 40.0)
    partition = draw.partition()
    return [Trouble(draw.when(), What.OFFICIAL_CHECKPOINT, "", partition, length_s)]


def _more_partitions(draw: _Draw) -> list[Trouble]:
    return [Trouble(draw.when(), What.MORE_PARTITIONS, length_s=float(draw.dice.randint(1, 4)))]


def _roster(draw: _Draw) -> list[Trouble]:
    dice = draw.dice
    names = [draw.member() for _ in range(dice.randint(0, 3))]
    strangers = [draw.newcomer() for _ in range(dice.randint(0, 2))]
    # A roster has one rewind a partition at most: the last that was asked for.
    rewound = sorted({draw.partition() for _ in range(dice.randint(0, 2))})
    rewinds = [(f"rewind-{draw.newcomer()}", p, dice.randint(0, 20)) for p in rewound]
    facts = RosterFacts(
        expected=(*names, *strangers) if dice.random() < 0.5 else (),
        leaving=tuple(draw.member() for _ in range(dice.randint(0, 2))),
        pins=tuple({draw.partition(): draw.member() for _ in range(dice.randint(0, 2))}.items()),
        paused=tuple(draw.partition() for _ in range(dice.randint(0, 1))),
        is_paused=dice.random() < 0.05,
        rewinds=tuple(rewinds),
    )
    return [Trouble(draw.when(), What.ROSTER, roster=facts)]


def _operator(draw: _Draw) -> list[Trouble]:
    """A roster, and what becomes of the one who writes it."""
    found = _roster(draw)
    if draw.script.kind is Kind.ALONE or draw.dice.random() < 0.3:
        found.append(Trouble(draw.when(), What.OPERATOR_DIES))
    if draw.script.kind is Kind.ALONE and draw.dice.random() < 0.5:
        return []
    return found


_Maker = Callable[[_Draw], list[Trouble]]
_COMMON: list[_Maker] = [_join, _stop, _kill]
_ALL: list[_Maker] = [
    *_COMMON, _pause, _sleep, _block, _storage_down, _slow_storage, _hub_down, _slow_handler,
    _hung_handler, _by_hand, _more_partitions, _roster,
]  # fmt: skip
_MAKERS: dict[Kind, list[_Maker]] = {
    Kind.KILLS: _COMMON,
    Kind.PAUSES: [*_COMMON, _pause, _pause, _sleep, _sleep, _block],
    Kind.STORAGE: [*_COMMON, _storage_down, _slow_storage],
    Kind.HANDS: [_kill, _by_hand, _by_hand, _by_hand, _official],
    Kind.HUB: [*_COMMON, _hub_down, _slow_handler, _hung_handler, _more_partitions],
    Kind.ROSTER: [*_COMMON, _roster],
    Kind.ALONE: [*_COMMON, _kill],
    Kind.EVERYTHING: _ALL,
    Kind.CROWD: [*_COMMON, _kill, _pause, _storage_down],
}
