"""How soon more pods are asked for when ten times as much comes, in virtual time.

Rules: the same world, fleet and decision as in the comparison (scaling_world.py). The rise comes at
another second of each try, so that nobody is lucky with its own clock; what counts is the time from
the first second of the rise to the first greater number.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from harness import Line, make_line
from scaling_fleet import Tidegate
from scaling_keda import Keda, KedaSettings
from scaling_ours import Ours
from scaling_sdk import Processors
from scaling_traces import arrivals, begins_with
from scaling_world import LIMITS_S, Crew, Scaler, Trace, World

BEFORE, AFTER = 0.6, 6.0
CALM_S, TOLD_S = 600, 300
TRIES = 30
TARGET_S = 5.0
# At its default of 64 it has as many as it may have already.
THRESHOLD = 2048


class Watched:
    """An autoscaler, and the second at which it first asked for more after the rise."""

    def __init__(self, scaler: Scaler, crew: Crew, rises_at: int) -> None:
        self._scaler, self._crew, self._rises_at = scaler, crew, rises_at
        self.asked_at: int | None = None

    def wanted(self, now: int) -> int:
        replicas = self._scaler.wanted(now)
        if self.asked_at is None and now >= self._rises_at and replicas > self._crew.wanted:
            self.asked_at = now
        return replicas


def trace_of(number: int, seed: int) -> Trace:
    rises_at = CALM_S + number
    came = arrivals(
        Random(f"{seed} rise {number}"), rises_at + TOLD_S,
        lambda second: AFTER if second >= rises_at else BEFORE,
    )  # fmt: skip
    return Trace("a rise", came, member_rate=1000.0, starts_with=begins_with(BEFORE))


def reaction_s(number: int, seed: int, *, is_ours: bool) -> float:
    """From the rise to the first greater number; all the time that was looked, where none came."""
    trace = trace_of(number, seed)
    world, dice = World(trace), Random(f"{seed} fleet {number}")
    rises_at = CALM_S + number
    if is_ours:
        fleet = Tidegate(world, dice)
        watched = Watched(Ours(world, fleet, LIMITS_S[0]), fleet, rises_at)
        world.live(fleet, watched)
    else:
        pods = Processors(world, dice)
        watched = Watched(Keda(world, pods, KedaSettings(THRESHOLD)), pods, rises_at)
        world.live(pods, watched)
    return float(TOLD_S if watched.asked_at is None else watched.asked_at - rises_at)


def lines(seed: int) -> Iterator[Line]:
    ours = sorted(reaction_s(number, seed, is_ours=True) for number in range(TRIES))
    peer = sorted(reaction_s(number, seed, is_ours=False) for number in range(TRIES))
    what = "ten times as much: more are asked for"
    beside = f"beside KEDA, threshold {THRESHOLD:,}"
    yield make_line(f"{what}, p50, {beside}", "s", ours=ours[TRIES // 2], peer=peer[TRIES // 2])
    yield make_line(f"{what}, longest of {TRIES}, {beside}", "s", ours=ours[-1], peer=peer[-1],
                    target=TARGET_S)  # fmt: skip
