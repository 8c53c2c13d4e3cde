"""From a seed to a script: one stream of dice, and a kind that the seed's last digits say."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from simulation import draw_troubles as troubles
from simulation.script import Kind, Script, Trouble, What
from simulation.weather import Rates

# A seed's kind is this, by its last two digits; the rest of the hundred is shared out in turn.
_CROWD_EVERY = 100
_KINDS = [kind for kind in Kind if kind is not Kind.CROWD]


def kind_of(seed: int) -> Kind:
    if seed % _CROWD_EVERY == _CROWD_EVERY - 1:
        return Kind.CROWD
    return _KINDS[seed % _CROWD_EVERY % len(_KINDS)]


def draw(seed: int) -> Script:
    """The script of a seed."""
    dice = Random(seed)
    kind = kind_of(seed)
    script = _frame(seed, kind, dice)
    found = [*_first_members(script, dice), *troubles.of_kind(script, dice)]
    found.sort(key=lambda trouble: trouble.at)
    last = found[-1].at + (found[-1].length_s if kind is Kind.STALL else 0.0)
    quiet_from = max(script.quiet_from, last + 1.0)
    return replace(script, troubles=tuple(found), quiet_from=quiet_from)


def _frame(seed: int, kind: Kind, dice: Random) -> Script:
    is_crowd = kind is Kind.CROWD
    partitions = dice.randint(24, 256) if is_crowd else _small(dice, 1, 12)
    is_calm = kind in (Kind.CALM, Kind.RELEASES)
    quiet_from = dice.uniform(20.0, 35.0) if is_crowd else dice.uniform(30.0, 70.0)
    return Script(
        seed,
        kind,
        partitions,
        (),
        quiet_from,
        rates=_rates(kind, dice),
        starts_latest=dice.random() < 0.5,
        has_state=dice.random() < 0.5,
        hub_says_level=dice.random() < 0.5,
        # Dice of its own: what else a seed decides does not follow from it.
        renews_any_id=Random(f"storage {seed}").random() < 0.5,
        latency_s=dice.choice((0.003, 0.01, 0.03, 0.1)),
        drift=0.0 if is_calm else dice.choice((0.0, 0.001, 0.02)),
        handler_s=dice.choice((0.001, 0.01, 0.05)),
        event_every_s=dice.choice((2.0, 4.0)) * (4.0 if is_crowd else 1.0),
        settled_tick_s=dice.choice((2.0, 2.0, 5.0)),
        hand_over_limit_s=dice.choice((20.0, 30.0)),
        roster_stale_s=dice.choice((25.0, 40.0)),
        reader_silence_s=dice.choice((20.0, 30.0)),
        checkpoint_every_s=dice.choice((1.0, 5.0, 8.0)),
    )


def _small(dice: Random, low: int, high: int) -> int:
    """A number that is often small."""
    return dice.randint(low, dice.randint(low, high))


def _rates(kind: Kind, dice: Random) -> Rates:
    if kind not in (Kind.STORAGE, Kind.EVERYTHING, Kind.HANDS):
        return Rates()

    def share(most: float) -> float:
        return dice.random() * most if dice.random() < 0.5 else 0.0

    return Rates(
        lost_request=share(0.05),
        lost_reply=share(0.1),
        late=share(0.1),
        twice=share(0.1),
        busy=share(0.1),
        failed=share(0.05),
        failed_done=share(0.05),
        spike=share(0.1),
    )


def _first_members(script: Script, dice: Random) -> list[Trouble]:
    """Those who are there from the beginning; a few seconds apart, or all at once."""
    members = dice.randint(8, 64) if script.kind is Kind.CROWD else dice.randint(1, 5)
    is_at_once = script.is_without_faults or script.kind is Kind.STALL
    spread_s = 0.0 if is_at_once else dice.choice((0.0, 2.0, 10.0))
    return [Trouble(dice.random() * spread_s, What.JOIN, f"m{number}") for number in range(members)]
