"""Weaker members: each breaks one rule, and a checker must notice. So checkers are known to work.

Rules: a mutation replaces attributes of the implementation for as long as it is applied, and says
which rule of the ledger it breaks and which checkers may be the ones to catch it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from simulation.draw import draw, kind_of
from simulation.hostile import hanging, hostile, stubborn
from simulation.mutants import ledger_calls, tenure_life, whole_member
from simulation.run import Outcome, run_script
from simulation.script import Kind, Script

Patches = Callable[[], list[tuple[object, str, Any]]]


@dataclass(frozen=True)
class Mutation:
    """See the module. `rule` is the safety rule's number; 0 where a property needs no rule."""

    name: str
    rule: int
    caught_by: frozenset[str]
    patches: Patches
    # Worlds of these kinds; none: hostile worlds, in which little else happens than trouble.
    kinds: tuple[Kind, ...] = ()
    hostile: Callable[[int], Script] = hostile
    seeds: int = 400

    @contextmanager
    def applied(self) -> Iterator[None]:
        with ExitStack() as stack:
            for target, attribute, replacement in self.patches():
                stack.enter_context(patch.object(target, attribute, replacement))
            yield

    def scripts(self) -> Iterator[Script]:
        if not self.kinds:
            yield from (self.hostile(seed) for seed in range(self.seeds))
            return
        tried = 0
        for seed in range(100 * self.seeds):
            if kind_of(seed) in self.kinds:
                tried += 1
                yield draw(seed)
            if tried == self.seeds:
                return

    def caught(self) -> tuple[Outcome, int] | None:
        """The first outcome in which a named checker speaks, and how many seeds it took."""
        with self.applied():
            for tried, script in enumerate(self.scripts(), start=1):
                outcome = run_script(script)
                if outcome.checkers & self.caught_by:
                    return outcome, tried
        return None


def _m(
    name: str,
    rule: int,
    caught_by: str,
    patches: Patches,
    *kinds: Kind,
    worlds: Callable[[int], Script] = hostile,
    seeds: int = 400,
) -> Mutation:
    return Mutation(name, rule, frozenset(caught_by.split()), patches, kinds, worlds, seeds)


MUTATIONS = (
    # The eight of the exhaustive model
    _m("the touch does not compare the stored epoch", 3, "P1", tenure_life.touch_blindly),
    _m("nothing is touched where there is no checkpoint", 3, "P1 P2", tenure_life.touch_nothing),
    _m("lease calls carry no If-Match", 1, "P1 P4 P8", ledger_calls.leases_unconditional),
    _m("the epoch is taken from the listing", 1, "P1", tenure_life.epoch_unfenced),
    _m("a restart goes on without raising and touching", 9, "P1 P3", tenure_life.adopt_as_it_was),
    _m("on 412 the epoch proves the write", 4, "P3 P1 P4", tenure_life.epoch_proves),
    _m("state and position are two writes", 5, "STATE", ledger_calls.state_apart),
    _m(
        "a lease is broken without If-Match",
        7,
        "P7",
        ledger_calls.break_unconditional,
        worlds=stubborn,
    ),
    # One or more for each of the ten rules
    _m("an owner trusts its lease for ever", 2, "P4", tenure_life.trusts_for_ever, Kind.STORAGE),
    _m("checkpoints carry no ETag", 4, "P1 P3", ledger_calls.checkpoints_unconditional),
    _m("take-over leaves the state behind", 5, "STATE", tenure_life.forgets_state, Kind.KILLS),
    _m("the body is left out although there is a state", 5, "STATE", ledger_calls.body_left_out),
    _m("a state behind is gone on from", 5, "STATE", tenure_life.goes_on_behind, Kind.HANDS),
    _m("a rewind keeps the state", 5, "STATE", tenure_life.rewind_keeps_state, Kind.ROSTER),
    _m("who owns nothing is not seen", 6, "P4 P7 P8", whole_member.presence_ignored, Kind.CALM),
    _m("a lease is given before the drain", 7, "P4", tenure_life.gives_undrained, Kind.CALM),
    _m("the living are taken from at once", 7, "P4 P7", whole_member.no_patience, Kind.CALM),
    _m("ended leases are claimed in a stall", 8, "P7", whole_member.no_stall_watch, Kind.STALL),
    _m("a restart does not look for its leases", 9, "P6", whole_member.no_scratch, Kind.KILLS),
    _m("a rewind is done at every look", 10, "P3 P5 P8", tenure_life.rewinds_again, Kind.ROSTER),
    _m("a roster never grows stale", 10, "P11 P8", whole_member.roster_for_ever, Kind.ALONE),
    # One for each checker that is not among them
    _m("checkpoints run ahead of handlers", 0, "P2", tenure_life.checkpoints_ahead, Kind.KILLS),
    _m("a tenure begins anew", 0, "P3", tenure_life.begins_anew, Kind.KILLS),
    _m("what memory has ahead is never due", 0, "P4", tenure_life.never_due, Kind.STALL),
    # What comes first in a tenure is checkpointed at once: few worlds have more that is not.
    _m(
        "a reader goes back to the checkpoint",
        0,
        "P5",
        tenure_life.reads_again,
        Kind.HUB,
        seeds=1000,
    ),
    _m("orphans are claimed late", 0, "P6", whole_member.claims_late, Kind.KILLS),
    _m("nobody says what it declines", 0, "P6", whole_member.declines_nothing, worlds=hanging),
    _m("the plan forgets who owns what", 0, "P7 P8", whole_member.plan_unsticky, Kind.CALM),
    _m("ticks are always fast", 0, "P8", whole_member.always_fast, Kind.CALM),
    _m("nothing is claimed without a roster", 0, "P11", whole_member.needs_roster, Kind.ALONE),
)
