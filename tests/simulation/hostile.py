"""Small worlds in which almost nothing happens but trouble, for showing that checkers can fail.

Two or three members, one or two partitions, slow and lossy storage, clocks that stand still, leases
broken by hand, kills that come back in place: what the exhaustive model does step by step.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from simulation.script import Kind, RosterFacts, Script, Trouble, What
from simulation.weather import Rates

_UNTIL_S = 80.0


def hostile(seed: int) -> Script:
    """The hostile world of a seed."""
    dice = Random(f"hostile {seed}")
    members = dice.randint(2, 3)
    partitions = dice.randint(1, 2)
    troubles = [Trouble(0.0, What.JOIN, f"m{number}") for number in range(members)]
    at = 2.5
    while at < _UNTIL_S:
        troubles += _trouble(dice, at, members, partitions)
        at += dice.expovariate(0.4)
    troubles.sort(key=lambda trouble: trouble.at)
    return Script(
        seed,
        Kind.EVERYTHING,
        partitions,
        tuple(troubles),
        _UNTIL_S + 1.0,
        rates=Rates(lost_reply=0.08, late=0.08, twice=0.08),
        starts_latest=dice.random() < 0.5,
        has_state=True,
        hub_says_level=dice.random() < 0.5,
        latency_s=dice.choice((0.02, 0.2)),
        event_every_s=1.0,
        hand_over_limit_s=20.0,
        checkpoint_every_s=3.0,
    )


def stubborn(seed: int) -> Script:
    """A world in which owners live and do not give, and what was sent is often sent twice."""
    dice = Random(f"stubborn {seed}")
    troubles = [Trouble(0.0, What.JOIN, f"m{number}") for number in range(3)]
    for at in (5.0, 40.0, 75.0):
        for number in range(3):
            length_s = dice.uniform(21.0, 30.0)
            troubles.append(Trouble(at, What.BLOCK, f"m{number}", length_s=length_s))
            asked_at = at + dice.random()
            asked = RosterFacts(pins=(("0", f"m{dice.randrange(3)}"),))
            troubles.append(Trouble(asked_at, What.ROSTER, roster=asked))
            if dice.random() < 0.5:
                break
    troubles.sort(key=lambda trouble: trouble.at)
    return replace(
        hostile(seed),
        partitions=1,
        troubles=tuple(troubles),
        quiet_from=110.0,
        rates=Rates(late=0.1, twice=0.5),
    )


def hanging(seed: int) -> Script:
    """A calm world in which the handler of one member hangs at one partition for a while."""
    dice = Random(f"hanging {seed}")
    members, partitions = dice.randint(2, 3), dice.randint(1, 3)
    member, partition = f"m{dice.randrange(members)}", str(dice.randrange(partitions))
    length_s = dice.uniform(15.0, 50.0)
    joins = [Trouble(0.0, What.JOIN, f"m{number}") for number in range(members)]
    return replace(
        hostile(seed),
        kind=Kind.HUB,
        partitions=partitions,
        troubles=(*joins, Trouble(25.0, What.HUNG_HANDLER, member, partition, length_s)),
        rates=Rates(),
    )


def _trouble(dice: Random, at: float, members: int, partitions: int) -> list[Trouble]:
    member, partition = f"m{dice.randrange(members)}", str(dice.randrange(partitions))
    match dice.randrange(7):
        case 0:
            return [Trouble(at, What.SLEEP, member, length_s=dice.uniform(0.1, 40.0))]
        case 1:
            back_s = dice.choice((0.3, 1.0, 8.0))
            return [Trouble(at, What.KILL, member, length_s=back_s, then="same-place")]
        case 2:
            return [Trouble(at, What.BREAK_LEASE, partition=partition)]
        case 3:
            # Broken while somebody sleeps: the newcomer and the sleeper meet.
            pause = Trouble(at, What.SLEEP, member, length_s=dice.uniform(0.2, 4.0))
            return [pause, Trouble(at + 0.05, What.BREAK_LEASE, partition=partition)]
        case 4:
            pinned = RosterFacts(pins=((partition, member),))
            return [Trouble(at, What.ROSTER, roster=pinned)]
        case 5:
            # It lives and does not give, until it is taken from.
            asked = RosterFacts(pins=((partition, f"m{dice.randrange(members)}"),))
            block = Trouble(at, What.BLOCK, member, length_s=dice.uniform(15.0, 28.0))
            return [block, Trouble(at + 0.5, What.ROSTER, roster=asked)]
        case _:
            return [Trouble(at, What.DELETE_OWNERSHIP, partition=partition)]
