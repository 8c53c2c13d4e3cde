"""The roster is written when it says something else, and kept fresh while that matters."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.model import Flaw, Position, Rewind, Roster
from tidegate_operator.model import WorkloadFacts
from unit.operator.observed import SERVER_NOW, Seen, checkpoint, group, presence, settled, starting


def roster_of(seen: Seen) -> Roster:
    assert seen.roster is not None
    return seen.roster


def test_a_leader_touches_the_roster_once() -> None:
    seen = group(3)
    first = seen.decide()
    assert first.roster is not None
    assert first.roster.expected == ("m0", "m1", "m2")
    seen.follow(first)
    assert [seen.decide().roster for _ in range(5)] == [None] * 5


def test_a_new_leader_touches_what_the_last_one_wrote() -> None:
    seen = settled(3)
    before = roster_of(seen)
    again = replace(seen, memory=type(seen.memory)())
    written = again.decide().roster
    assert written is not None
    assert written.etag == before.etag
    assert written.generation == before.generation + 1
    again.write(written)
    assert again.decide().roster is None


def test_a_write_whose_reply_is_lost_is_not_repeated_before_the_next_listing() -> None:
    seen = group(2)
    assert seen.decide().roster is not None
    seen.asked_before_s += 1.0  # the same listing, a second later
    assert seen.decide().roster is None
    seen.asked_before_s = 0.1
    assert seen.decide().roster is not None


def test_a_group_in_which_nothing_goes_on_writes_nothing_when_its_roster_grows_stale() -> None:
    seen = settled(3)
    for _ in range(10):
        found = seen.decide(after_s=60.0)
        assert (found.roster, found.replicas, found.doing) == (None, None, "")
        assert found.again_s == 5.0


def test_the_roster_is_kept_fresh_while_somebody_leaves() -> None:
    seen = settled(3)
    seen.wish = replace(seen.wish, replicas=2)
    seen.settle()
    writes = [found for _ in range(8) if (found := _followed(seen, 10.0)) is not None]
    assert len(writes) == 1, "at half of 120 s, and not before"


def _followed(seen: Seen, after_s: float) -> Roster | None:
    found = seen.decide(after_s)
    seen.follow(replace(found, replicas=None))
    return found.roster


def test_a_stale_roster_is_written_anew_when_somebody_is_to_be_waited_for() -> None:
    seen = settled(2)
    seen.now += 500.0
    seen.workload = WorkloadFacts("rv-2", 3, "r1")
    seen.pods["m2"] = starting("m2")
    written = seen.decide().roster
    assert written is not None
    assert written.expected == ("m0", "m1", "m2")


def test_what_another_wrote_on_it_is_put_right() -> None:
    seen = settled(3)
    seen.roster = replace(roster_of(seen), leaving=("m1",), etag="another")
    written = seen.decide().roster
    assert written is not None
    assert written.leaving == ()
    assert written.etag == "another"


def test_rewinds_of_others_stay_until_they_are_done() -> None:
    seen = settled(2)
    rewinds = (Rewind("one", "0", Position("0", 0)), Rewind("two", "1", Position("0", 0)))
    seen.roster = replace(roster_of(seen), rewinds=rewinds, etag="another")
    assert seen.decide().roster is None
    seen.checkpoints["0"] = checkpoint("0", rewound_by="one")
    written = seen.decide().roster
    assert written is not None
    assert written.rewinds == rewinds[1:]


def test_pins_and_pauses_are_those_of_the_resource() -> None:
    seen = settled(2)
    seen.wish = replace(seen.wish, pins={"1": "m1"}, paused_partitions=frozenset({"3"}))
    written = seen.decide().roster
    assert written is not None
    assert (written.pins, written.paused) == ({"1": "m1"}, frozenset({"3"}))
    seen.write(written)
    assert seen.decide().roster is None


def test_a_roster_that_cannot_be_read_is_not_written_over() -> None:
    seen = group(3, flaws=(Flaw("host/hub/group/roster", "it is no roster"),))
    seen.wish = replace(seen.wish, replicas=2)
    for _ in range(3):
        found = seen.decide()
        assert found.roster is None
        assert found.replicas is None
        assert "the roster cannot be read" in found.doing


@pytest.mark.parametrize("old_s", [15.5, 3600.0])
def test_without_a_fresh_listing_nothing_is_changed(old_s: float) -> None:
    for replicas in (1, 9):
        seen = group(3, asked_before_s=old_s)
        seen.wish = replace(seen.wish, replicas=replicas)
        seen.pods["m9"] = starting("m9")
        found = seen.decide()
        assert (found.replicas, found.roster, found.breaks) == (None, None, ())
        assert not found.deletion_costs
        assert "the ledger cannot be listed" in found.doing
        assert found.wanted == replicas


def test_a_stranger_in_the_ledger_is_a_member_and_is_not_written_about() -> None:
    seen = settled(2)
    seen.members["laptop"] = presence("laptop")
    assert seen.decide().roster is None


def test_the_server_says_how_old_the_roster_is() -> None:
    seen = settled(2)
    assert roster_of(seen).written_at > SERVER_NOW
