"""The little world can notice: weaker operators, each without one rule, are caught in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from tidegate.model import Roster
from tidegate_operator import breaks, decide, rollout, roster, scale_in
from tidegate_operator.rollout import Roles
from unit.operator.small_world import SmallWorld
from unit.operator.test_decide_world import assert_converged, begun

INTENDED = roster.intended
Play = Callable[[SmallWorld], None]


def shrunk(world: SmallWorld) -> None:
    world.wish = replace(world.wish, replicas=2)
    world.run(90.0)
    assert_converged(world, 2)


def rolled_out(world: SmallWorld) -> None:
    world.cluster.roll("r2")
    world.run(120.0)
    assert world.moved == dict.fromkeys(world.tenures, 1)
    assert_converged(world, 4)


def shrunk_while_rolling(world: SmallWorld) -> None:
    world.cluster.roll("r2")
    world.run(8.0)
    world.wish = replace(world.wish, replicas=3)
    world.run(240.0)
    assert_converged(world, 3)


def killed_by_an_eviction(world: SmallWorld) -> None:
    victim = sorted(world.members)[0]
    world.evict(victim)
    world.run(3.0)
    assert victim not in world.owners().values(), "they wait for its lease to end"
    assert world.owners().keys() == world.tenures.keys()
    world.run(60.0)
    assert_converged(world, 4)


def never_coming(world: SmallWorld) -> None:
    world.cluster.broken.add("bad")
    world.cluster.roll("bad")
    world.run(200.0)
    assert_converged_on_bad(world)


def assert_converged_on_bad(world: SmallWorld) -> None:
    before = world.roster_writes
    world.run(200.0)
    assert world.roster_writes == before, "it does not stand still"
    assert world.moved.total() == 0


PLAYS: list[Play] = [
    shrunk,
    rolled_out,
    shrunk_while_rolling,
    killed_by_an_eviction,
    never_coming,
]


def told_nothing(*arguments: Any) -> Roles:
    return replace(rollout.roles_of(*arguments), leaving=())


def expecting_nobody(*arguments: Any) -> Roster:
    listing, wish, _, leaving = arguments
    return INTENDED(listing, wish, (), leaving)


def nothing(*_: Any) -> tuple[()]:
    return ()


def at_once(*_: Any, **__: Any) -> scale_in.Verdict:
    return scale_in.Verdict(True, "")


WEAKER: list[tuple[str, object, str, Any, Play]] = [
    ("shrinks at once", scale_in, "verdict", at_once, shrunk),
    ("does not look what victims hold", scale_in, "_full", nothing, shrunk),
    ("shrinks in a rollout", scale_in, "_is_stuck", lambda *_: True, shrunk_while_rolling),
    ("tells nobody to leave", decide, "roles_of", told_nothing, rolled_out),
    ("says nobody is expected", roster, "intended", expecting_nobody, rolled_out),
    ("breaks nothing", breaks, "breaks", nothing, killed_by_an_eviction),
    ("lets the dead stay", breaks, "dead_members", lambda *_: {}, killed_by_an_eviction),
    ("waits for ever", rollout, "ABSENT_LIMIT_S", 1e9, never_coming),
    ("always writes the roster", roster, "is_said", lambda *_: False, rolled_out),
]


@pytest.mark.parametrize("play", PLAYS)
def test_the_operator_as_it_is_passes(play: Play) -> None:
    play(begun(16, 4))


@pytest.mark.parametrize(
    ("target", "attribute", "replacement", "play"),
    [pytest.param(*weaker[1:], id=weaker[0].replace(" ", "-")) for weaker in WEAKER],
)
def test_an_operator_is_caught_that(
    target: object, attribute: str, replacement: Any, play: Play
) -> None:
    world = begun(16, 4)
    with patch.object(target, attribute, replacement), pytest.raises(AssertionError):
        play(world)
