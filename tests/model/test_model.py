"""Every way that two members and one partition can go, within stated bounds: the promises hold.

Beside it, each weaker variant of a rule is found out, by the shortest story that shows why the rule
is there. `python tests/model/run.py` explores any other bounds.
"""

from __future__ import annotations

import pytest

from model.protocol import explored
from model.scene import Budget
from model.stage import Bounds
from model.weaker import WEAKER, Weaker

# Leases end at any moment in all of these.
WORLDS = {
    "three epochs": Bounds(epochs=3),
    "two events": Bounds(events=2, tenures=1),
    "a group that starts at the latest event": Bounds(is_latest=True, tenures=1),
    "a kill, and a restart in place or without its lease": Bounds(Budget(kills=1)),
    "a kill and a request late": Bounds(Budget(kills=1, late=1), tenures=1),
    "a reply lost and a request late": Bounds(Budget(lost=1, late=1), tenures=1),
    "a hand-over and a request late": Bounds(Budget(hand_overs=1, late=1), tenures=1),
    "a hand-over and a reply lost": Bounds(Budget(hand_overs=1, lost=1), tenures=1),
    "a clean stop and a reply lost": Bounds(Budget(stops=1, lost=1), tenures=1),
    "an owner that finds its time to be up": Bounds(Budget(lapses=1), tenures=1),
    "a lease broken, and a kill": Bounds(Budget(breaks=1, kills=1), tenures=1),
    "an ownership deleted by hand, and a reply lost": Bounds(
        Budget(deletions=1, lost=1), tenures=1
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_every_promise_holds_and_somebody_can_always_read_again_with(world: str) -> None:
    found = explored(WORLDS[world])
    print(f"{world}: {found}")
    assert not found.broken, str(found)
    assert not found.is_cut
    assert found.states > 1_000, "too little happens in this world to say anything"


@pytest.mark.slow
@pytest.mark.parametrize("weaker", WEAKER, ids=lambda weaker: weaker.name.replace(" ", "-"))
def test_the_model_tells_what_happens_when(weaker: Weaker) -> None:
    found = weaker.explored()
    print(f"{weaker.name}: {found}")
    assert found.broken.startswith(weaker.breaks), str(found)
    assert len(found.story) > 3


def test_a_story_is_told_in_the_order_in_which_it_happened() -> None:
    story = WEAKER[0].explored().story
    claims = [line for line in story if line.endswith("claims it")]
    assert [line.split()[-3] for line in claims] == ["a", "b"]
    assert "epoch 1" in story[-1], "the paused owner writes over the newcomer's epoch"
