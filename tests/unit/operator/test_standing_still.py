"""A partition that its living owner does not read on: what the operator's loop does and says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tidegate.model import NO_ROSTER, Presence
from tidegate_operator.condition import conditions_in
from tidegate_operator.model import Observation, Steps
from tidegate_operator.scaling import Policy
from tidegate_operator.status import status_of
from unit.operator.sized_world import Queue, SizedWorld
from unit.operator.small_group import Member

STANDS = "3"
BEGINS = 60.0


class StandingWorld(SizedWorld):
    """Three members, and a partition that some of them do not read, from `BEGINS` on. `says` is
    what an owner that does not read it says of itself."""

    def __init__(
        self,
        reads: Callable[[str], bool] = lambda _: False,
        says: Callable[[Presence], Presence] = lambda presence: presence,
    ) -> None:
        policy = Policy(min=3, max=3)
        super().__init__(lambda _, __: 5.0, policy, partitions=6, pods=3)
        self._reads, self._says = reads, says
        self.found = Steps()

    # --- what members do and say

    def _stands(self, owner: str) -> bool:
        return self.seconds > BEGINS and not self._reads(owner)

    def _handle(self, queues: list[Queue], rate: float) -> None:
        standing = self.queues[STANDS]
        if self._stands(self.owners().get(STANDS, "")):
            queues = [queue for queue in queues if queue is not standing]
        if queues:
            super()._handle(queues, rate)

    def _presence(self, member: Member) -> Presence:
        made = super()._presence(member)
        is_its_owner = self.owners().get(STANDS) == member.name
        return self._says(made) if is_its_owner and self._stands(member.name) else made

    # --- what the operator does and says

    def _carry_out(self, found: Steps, version: str) -> None:
        super()._carry_out(found, version)
        self.found = found

    @property
    def pinned_to(self) -> str | None:
        return (self.roster or NO_ROSTER).pins.get(STANDS)

    @property
    def is_set_aside(self) -> bool:
        return STANDS in (self.roster or NO_ROSTER).paused

    def stuck(self) -> tuple[str, str, str]:
        operator = self.operators[0]
        observed: Observation = self._observation(operator)
        assert operator.lag is not None
        status = status_of(observed, self.found, operator.lag, None)
        found = conditions_in(status)["Stuck"]
        return str(found.truth), found.reason, found.message

    def until(self, condition: Callable[[], bool], most_s: float) -> float:
        """How long it took until it was so."""
        begun = self.now
        while not condition():
            assert self.now - begun < most_s, "it has not come to that"
            self.run(1.0)
        return self.now - begun


def test_a_partition_that_its_owner_does_not_read_on_is_handed_to_another_who_does() -> None:
    world = StandingWorld()
    world.run(BEGINS)
    first = world.owners()[STANDS]
    world._reads = lambda owner: owner != first
    world.until(lambda: world.pinned_to is not None, world.wish.still_limit_s + 10.0)
    truth, reason, message = world.stuck()
    assert (truth, reason) == ("True", "PositionStands")
    assert f"Partition {STANDS}" in message and first in message
    world.until(lambda: world.owners().get(STANDS) not in (None, first), 10.0)
    world.until(lambda: world.pinned_to is None, 10.0)
    assert not world.is_set_aside
    assert world.stuck()[0] == "False"


def test_where_nobody_reads_it_on_it_is_set_aside_and_tried_again_later() -> None:
    world = StandingWorld()
    world.run(BEGINS)
    world.until(lambda: world.is_set_aside, 2 * world.wish.still_limit_s + 30.0)
    truth, reason, message = world.stuck()
    assert (truth, reason) == ("True", "PartitionsSetAside")
    assert f"Partition {STANDS}" in message
    world.until(lambda: world.owners().get(STANDS) is None, 10.0)
    assert 850.0 <= world.until(lambda: not world.is_set_aside, 1000.0) <= 910.0


@pytest.mark.parametrize(
    "says",
    [
        lambda presence: replace(presence, stuck=frozenset({STANDS})),
        lambda presence: replace(presence, unread=frozenset({STANDS})),
    ],
    ids=["its handler fails or has halted", "its source refuses to be read"],
)
def test_whose_owner_says_why_it_does_not_read_on_stays_where_it_is(
    says: Callable[[Presence], Presence],
) -> None:
    world = StandingWorld(says=says)
    world.run(BEGINS)
    owner = world.owners()[STANDS]
    world.run(3 * world.wish.still_limit_s)
    assert (world.pinned_to, world.is_set_aside) == (None, False)
    assert world.owners()[STANDS] == owner
