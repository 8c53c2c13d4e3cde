"""Weaker members: each leaves a rule out, and the model must find what that leads to.

The first eight are those that the design of the rules began with. What is replaced in the real code
is the same as in the simulation's mutants, where the same must be found by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from model.explorer import Explored
from model.protocol import explored
from model.scene import Budget
from model.stage import Bounds
from simulation.mutants import ledger_calls, tenure_life


@dataclass(frozen=True)
class Weaker:
    """A rule left out, the promise that breaks, and the bounds in which it does."""

    name: str
    breaks: str
    patches: Callable[[], list[tuple[object, str, Any]]]
    bounds: Bounds = field(default_factory=Bounds)

    def explored(self) -> Explored:
        with ExitStack() as stack:
            for target, attribute, replacement in self.patches():
                stack.enter_context(patch.object(target, attribute, replacement))
            return explored(self.bounds)


WEAKER = (
    Weaker("the touch does not compare the stored epoch", "P1", tenure_life.touch_blindly),
    Weaker("nothing is touched where there is no checkpoint", "P1", tenure_life.touch_nothing),
    Weaker(
        "nothing is touched, and the group starts at the latest event",
        "P3",
        tenure_life.touch_nothing,
        Bounds(is_latest=True),
    ),
    Weaker(
        "lease calls carry no If-Match",
        "P4",
        ledger_calls.leases_unconditional,
        Bounds(Budget(late=1), tenures=1, is_conditional=False),
    ),
    Weaker(
        "the epoch is taken from the listing",
        "P4",
        tenure_life.epoch_unfenced,
        Bounds(is_conditional=False),
    ),
    Weaker(
        "a restart goes on without raising and touching",
        "P1",
        tenure_life.adopt_as_it_was,
        Bounds(Budget(kills=1)),
    ),
    Weaker(
        "on 412 the epoch proves the write",
        "P3",
        tenure_life.epoch_proves,
        Bounds(Budget(late=1), events=2, tenures=1),
    ),
    Weaker("state and position are two writes", "P5", ledger_calls.state_apart, Bounds(events=2)),
    Weaker(
        "a lease is broken without If-Match",
        "P7",
        ledger_calls.break_unconditional,
        Bounds(Budget(breaks=1), is_conditional=False),
    ),
    Weaker(
        "checkpoints carry no ETag",
        "P1",
        ledger_calls.checkpoints_unconditional,
        Bounds(is_conditional=False),
    ),
    Weaker("the body is left out although there is a state", "P5", ledger_calls.body_left_out),
    Weaker("take-over leaves the state behind", "P5", tenure_life.forgets_state),
    Weaker(
        "a lease is given before the drain",
        "P4",
        tenure_life.gives_undrained,
        Bounds(Budget(hand_overs=1)),
    ),
    Weaker("a tenure begins anew", "P3", tenure_life.begins_anew),
    Weaker("checkpoints run ahead", "P5", tenure_life.checkpoints_ahead, Bounds(events=2)),
)
