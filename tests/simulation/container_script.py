"""From a seed to the script of a world of a container, and when its ranges are split and merged.

Rules: as in draw.py, without what only befalls hubs. What a checker can judge only where nothing
else is amiss has worlds of its own among them: calm ones, one kill, one stall.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from simulation.draw import draw
from simulation.script import Kind, Script, Trouble, What

# A change of ranges is divided by then: an old answer, the next one, and the readings until then.
ASK_EVERY_S = 10.0
STALE_S = 15.0
HEARD_S = STALE_S + 2 * ASK_EVERY_S
# Troubles that are not of one partition of a hub.
_USED = frozenset(
    (What.JOIN, What.STOP, What.KILL, What.PAUSE, What.SLEEP, What.BLOCK, What.STORAGE_DOWN,
     What.HUB_DOWN, What.SLOW_STORAGE)
)  # fmt: skip
_KINDS = (
    Kind.CALM, Kind.KILLS, Kind.PAUSES, Kind.STORAGE, Kind.ALONE, Kind.EVERYTHING, Kind.STALL,
)  # fmt: skip
# Calm worlds take so much longer, so that a change of ranges has room between two of members.
_CALMER = 4.0
_CALM_GAP_S = 25.0 * _CALMER
_RETURNS = ("nothing", "nothing", "same-place", "new-name")


def container_script(seed: int) -> Script:
    """The script of a seed."""
    kind = _KINDS[seed % len(_KINDS)]
    number = seed
    while True:
        script = draw(number)
        if script.kind is kind:
            break
        number += 1
    troubles = tuple(each for each in script.troubles if each.what in _USED)
    if not any(each.what is What.JOIN for each in troubles):
        troubles = (Trouble(0.0, What.JOIN, "m0"), *troubles)
    # A little more time: a partition may begin anew more than once.
    script = replace(script, seed=seed, troubles=troubles, patience_s=360.0)
    if kind is Kind.CALM:
        return _slower(script)
    return _alone(script) if is_alone(script) else script


def is_alone(script: Script) -> bool:
    """Whether the kill or the stall of this world is all that befalls its members."""
    is_one = script.kind in (Kind.KILLS, Kind.STALL)
    return is_one and script.seed // len(_KINDS) % 2 == 1


def changes_of(script: Script, dice: Random) -> list[float]:
    """When ranges are split or merged; in calm worlds each is long over when the next thing is."""
    if script.kind is Kind.CALM:
        count = int(script.quiet_from / _CALM_GAP_S)
        return [_CALM_GAP_S * (number + dice.uniform(0.4, 0.6)) for number in range(count)]
    last = script.quiet_from
    if script.kind is Kind.STALL and is_alone(script):
        last = max(trouble.at for trouble in script.troubles) - HEARD_S
    return [dice.uniform(5.0, last) for _ in range(dice.randint(1, 6))]


def _slower(script: Script) -> Script:
    return replace(
        script,
        troubles=tuple(replace(each, at=each.at * _CALMER) for each in script.troubles),
        quiet_from=script.quiet_from * _CALMER,
        event_every_s=script.event_every_s * _CALMER,
    )


def _alone(script: Script) -> Script:
    """Members, and long afterwards one trouble."""
    dice = Random(f"alone {script.seed}")
    members = dice.randint(2, 4)
    joins = [Trouble(0.0, What.JOIN, f"m{number}") for number in range(members)]
    at, length_s = dice.uniform(60.0, 70.0), dice.uniform(0.3, 3.0) * script.lease_s
    trouble = Trouble(at, What.STORAGE_DOWN, "*", length_s=length_s)
    if script.kind is Kind.KILLS:
        name, length_s = f"m{dice.randrange(members)}", dice.choice((0.5, 3.0, 25.0))
        trouble = Trouble(at, What.KILL, name, length_s=length_s, then=dice.choice(_RETURNS))
    quiet_from = at + 4 * script.lease_s
    return replace(script, troubles=(*joins, trouble), quiet_from=quiet_from)
