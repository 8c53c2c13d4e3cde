"""All that can happen to two members and one partition.

The members' tenures and the ledger are the real ones. What stands around them here is as bad as it
can be: a lease may end at any moment while its owner still believes in it, which stands for every
pause and every clock; a partition whose lease has ended may be claimed by anybody; what was sent
may come late, be done without a reply, or both.

Rules: a step is one thing that happens, in the words of a story. What is promised is said in
promises.py, and checked at each write.
"""

from __future__ import annotations

from model import members, storms
from model.explorer import Explored, explore
from model.scene import BEYOND, NAMES, State
from model.stage import Bounds, Stage, Steps

# Far above what the bounds of the tests come to; it ends a run that was asked for too much.
LIMIT = 3_000_000


class Protocol:
    """See the module."""

    def __init__(self, bounds: Bounds) -> None:
        self._stage = Stage(bounds)

    def begin(self) -> State:
        return self._stage.first()

    def steps(self, state: State) -> Steps:
        if state == BEYOND:
            return
        yield from storms.steps_of_storage(self._stage, state)
        for number in state.sent:
            yield from storms.steps_of_sent(self._stage, state, number)
        for who in range(len(NAMES)):
            yield from members.steps_of_member(self._stage, state, who)

    def is_good(self, state: State) -> bool:
        """Somebody reads by a lease that it holds, or the bounds end the model here."""
        if state == BEYOND:
            return True
        scene = self._stage.scene(state)
        owned = self._stage.storage.at(state.blobs).ownership
        for who, life in enumerate(scene.lives):
            facts, reader = scene.facts(who), life.reader
            if facts is None or reader is None or owned is None:
                continue
            is_reading = facts.is_settled and not reader.is_opening and not reader.is_stolen
            if is_reading and owned.is_leased and owned.lease_id == facts.lease_id:
                return True
        return False


def explored(bounds: Bounds) -> Explored:
    """Every state that there is within these bounds."""
    return explore(Protocol(bounds), LIMIT)
