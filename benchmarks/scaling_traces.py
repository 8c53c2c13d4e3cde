"""What comes in the comparison of autoscalers: nine traces drawn from a seed, and a real one.

Rules: a trace is the same for every autoscaler. Rates are in members: 1.0 is what one member
handles when it is busy. Each partition gets its weight's part of the rate, with a noise of its own
that stays for a while; what is uneven is drawn from the seed and the trace's name.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import scaling_departures
from scaling_world import HOUR_S, Outage, Slowness, Span, Trace

PARTITIONS = 16
MEMBER_RATE = 1000.0
MINUTE_S = 60
# The part of a member that is wanted to be busy when a trace begins.
BEGINS_AT = 0.7
NOISE, NOISE_STAYS, NOISE_EVERY_S = 0.1, 0.9, 10
SKEW = 0.1
# How many a departure of the real trace stands for: its busiest quarter of an hour asks for six.
DEPARTURES_PEAK = 6.0

# A rate by second, in members.
Shape = Callable[[int], float]


def arrivals(
    dice: Random, seconds: int, shape: Shape, extra: Sequence[Shape | None] = ()
) -> tuple[array[float], ...]:
    """By partition, how many events have come by each second; `extra` is for single partitions."""
    weights = [1.0 + dice.uniform(-SKEW, SKEW) for _ in range(PARTITIONS)]
    rates = [shape(second) * MEMBER_RATE / sum(weights) for second in range(seconds)]
    found = []
    for p, weight in enumerate(weights):
        own = extra[p] if p < len(extra) else None
        noise, total, came = 0.0, 0.0, array("d", [0.0])
        for second, rate in enumerate(rates):
            if second % NOISE_EVERY_S == 0:
                noise = NOISE_STAYS * noise + (1 - NOISE_STAYS) * dice.gauss(0.0, 1.0) * 3
            factor = math.exp(NOISE * noise)
            total += weight * rate * factor
            if own is not None:
                total += own(second) * MEMBER_RATE * factor
            came.append(total)
        found.append(came)
    return tuple(found)


def begins_with(rate: float) -> int:
    """As many as have to do, and no load left uneven: the next even share of the partitions."""
    needed = math.ceil(rate / BEGINS_AT)
    return next(
        count for count in range(needed, PARTITIONS + 1) if PARTITIONS % count == 0 or count == 6
    )


def steps(*known: tuple[float, float]) -> Shape:
    """A rate that changes at once: from a minute on, so much."""

    def shape(second: int) -> float:
        return next(rate for minute, rate in reversed(known) if second >= minute * MINUTE_S)

    return shape


def line(*known: tuple[float, float]) -> Shape:
    """A rate that goes straight from one (minute, rate) to the next."""

    def shape(second: int) -> float:
        minute = second / MINUTE_S
        for (since, low), (until, high) in pairwise(known):
            if minute < until:
                return low + (high - low) * (minute - since) / (until - since)
        return known[-1][1]

    return shape


def steady(seed: int) -> Trace:
    dice = Random(f"{seed} steady")
    return Trace("steady", arrivals(dice, 2 * HOUR_S, lambda _: 3.6), MEMBER_RATE, begins_with(3.6))


def a_day(dice: Random) -> Shape:
    """Low at night, steep in the morning, highest in the evening, and four busy moments."""
    lift = line(
        (0, 0.9), (240, 0.5), (375, 0.6), (400, 3.6), (540, 4.4), (720, 5.2), (840, 4.0),
        (1020, 5.0), (1050, 7.2), (1260, 6.4), (1330, 2.4), (1440, 0.9),
    )  # fmt: skip
    busy = [(dice.uniform(420, 1300) * MINUTE_S, dice.uniform(1.4, 1.9)) for _ in range(4)]

    def shape(second: int) -> float:
        rate = lift(second % (24 * HOUR_S))
        for since, factor in busy:
            if since <= second % (24 * HOUR_S) < since + 6 * MINUTE_S:
                rate *= factor
        return rate

    return shape


def daily(seed: int, days: int = 1) -> Trace:
    dice = Random(f"{seed} daily")
    shape = a_day(dice)
    came = arrivals(dice, days * 24 * HOUR_S, shape)
    return Trace("daily shape", came, MEMBER_RATE, begins_with(0.9))


def tenfold(seed: int) -> Trace:
    dice = Random(f"{seed} tenfold")
    shape = steps((0, 0.8), (20, 8.0), (50, 0.8))
    return Trace(
        "ten-fold step", arrivals(dice, 90 * MINUTE_S, shape), MEMBER_RATE, begins_with(0.8)
    )


def bursts(seed: int) -> Trace:
    dice = Random(f"{seed} bursts")
    lasts_s = [dice.randint(60, 120) for _ in range(12)]

    def shape(second: int) -> float:
        number, since = divmod(second, 10 * MINUTE_S)
        is_burst = 0 <= since - 5 * MINUTE_S < lasts_s[number]
        return 8.0 if is_burst else 1.2

    return Trace(
        "bursts every ten minutes",
        arrivals(dice, 2 * HOUR_S, shape),
        MEMBER_RATE,
        begins_with(1.2),
    )


def slow_downstream(seed: int) -> Trace:
    dice = Random(f"{seed} slow")
    slowness = Slowness(Span(30 * MINUTE_S, 75 * MINUTE_S), sigma=0.05, kappa=0.02)
    return Trace(
        "slow downstream",
        arrivals(dice, 2 * HOUR_S, lambda _: 2.7),
        MEMBER_RATE,
        begins_with(2.7),
        slowness=(slowness,),
    )


def hot_partition(seed: int) -> Trace:
    dice = Random(f"{seed} hot")
    hot = line((0, 0.0), (20, 0.0), (25, 0.7), (100, 0.7), (105, 0.0))
    return Trace(
        "hot partition",
        arrivals(dice, 2 * HOUR_S, lambda _: 2.2, [None] * 5 + [hot]),
        MEMBER_RATE,
        begins_with(2.2),
    )


def night_at_zero(seed: int) -> Trace:
    dice = Random(f"{seed} night")
    lift = line((0, 3.0), (110, 2.0), (120, 0.0), (480, 0.0), (490, 1.0), (520, 4.0), (600, 4.0))
    alone = [dice.uniform(150, 470) * MINUTE_S for _ in range(3)]

    def shape(second: int) -> float:
        is_alone = any(since <= second < since + 10 for since in alone)
        return lift(second) + (0.01 if is_alone else 0.0)

    return Trace(
        "night at zero",
        arrivals(dice, 10 * HOUR_S, shape),
        MEMBER_RATE,
        begins_with(3.0),
        least=0,
    )


def metrics_outage(seed: int) -> Trace:
    """The hub's answers fail while the load trebles; later storage's, while it falls and rises."""
    dice = Random(f"{seed} outage")
    shape = steps((0, 2.5), (33, 7.5), (70, 4.0), (85, 7.0))
    return Trace(
        "metrics outage",
        arrivals(dice, 2 * HOUR_S, shape),
        MEMBER_RATE,
        begins_with(2.5),
        outages=(
            (Outage.HUB, Span(30 * MINUTE_S, 45 * MINUTE_S)),
            (Outage.STORAGE, Span(69 * MINUTE_S, 84 * MINUTE_S)),
        ),
    )


def rollout(seed: int) -> Trace:
    dice = Random(f"{seed} rollout")
    return Trace(
        "rollout amid load",
        arrivals(dice, HOUR_S, lambda _: 5.4),
        MEMBER_RATE,
        begins_with(5.4),
        rollouts=(20 * MINUTE_S,),
    )


def departures(seed: int) -> Trace:
    """A day of real departures, minute by minute; at night there are none."""
    dice = Random(f"{seed} departures")
    counts = scaling_departures.by_minute()[: 24 * 60]
    busiest = max(sum(counts[at : at + 15]) / 15 for at in range(len(counts) - 15))

    def shape(second: int) -> float:
        return counts[second // MINUTE_S] * DEPARTURES_PEAK / busiest

    return Trace("real departures", arrivals(dice, 24 * HOUR_S, shape), MEMBER_RATE, 1, least=0)


TRACES: tuple[Callable[[int], Trace], ...] = (
    steady, daily, tenfold, bursts, slow_downstream, hot_partition, night_at_zero, metrics_outage,
    rollout, departures,
)  # fmt: skip

# Those that take long to live through: ten hours and more.
DAY_LONG = frozenset(TRACES.index(make) for make in (daily, night_at_zero, departures))
