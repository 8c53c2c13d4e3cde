"""The condition Balanced: who owns what is due, who is waited for, and who is not known yet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.model import LeaseState, Owner, Roster
from tidegate.sources.start import Start
from tidegate_operator.conditions import conditions
from tidegate_operator.lag import lag_of_group
from tidegate_operator.model import Ends, Observation, Steps
from tidegate_operator.view import view_of
from unit.operator.looked_at import NO_STEPS, Looks, end
from unit.operator.observed import SERVER_NOW, Seen, group, presence


def looked(seen: Seen, steps: Steps = NO_STEPS) -> Looks:
    return Looks(seen).look(steps=steps)


def message(looks: Looks) -> str:
    return looks.condition("Balanced").message


def test_moves_that_are_left_are_told_with_their_reasons() -> None:
    seen = group(2, 4)
    seen.give_away(["m1"], "m0")
    looks = looked(seen)
    assert looks.says("Balanced") == ("False", "Moving")
    assert message(looks).startswith("2 moves left: partition ")
    assert "m0 owns 4 partitions and its share is 2" in message(looks)
    assert looks.told["state"] == "Moving"


def test_more_moves_than_a_message_holds_are_counted() -> None:
    seen = group(2, 32)
    seen.give_away(["m1"], "m0")
    assert "; and 13 more." in message(looked(seen))


def test_who_is_expected_and_waited_for_is_told() -> None:
    seen = group(1, 4)
    seen.owners = {"0": "m0", "1": "m0", "2": "", "3": ""}
    seen.roster = Roster("e", 1, ("m0", "m1"), written_at=SERVER_NOW)
    observation = _never_owned(seen.look(), "2", "3")
    lag = lag_of_group(observation, Start(), None)
    found = {each.type: each for each in conditions(view_of(observation, Steps(), lag), {})}
    assert found["Balanced"].reason == "Waiting"
    assert found["Balanced"].message == "Partitions 2-3 wait for m1."


def _never_owned(observation: Observation, *partitions: str) -> Observation:
    assert observation.ledger is not None
    listing = observation.ledger.listing
    rows = {p: row for p, row in listing.ownerships.items() if p not in partitions}
    view = replace(observation.ledger, listing=replace(listing, ownerships=rows))
    ends = Ends({p: end(0) for p in listing.ownerships})
    return replace(observation, ledger=view, ends=ends)


@pytest.mark.parametrize("is_dead", [False, True])
def test_a_group_is_not_balanced_while_the_ledger_does_not_know_a_pod_that_has_joined(
    is_dead: bool,
) -> None:
    seen = group(2, 4)
    seen.give_away(["m1"], "m0")
    if is_dead:
        seen.members["m1"] = presence("m1", lease=LeaseState.AVAILABLE)
    else:
        del seen.members["m1"]
    looks = looked(seen)
    assert looks.told["ready"] == "2/2"
    assert looks.says("Balanced") == ("False", "Joining")
    assert message(looks).endswith("these have joined: m1.")
    assert looks.told["state"] == "Joining"
    del seen.pods["m1"]
    assert looked(seen).says("Balanced") == ("True", "Balanced")


def test_who_has_left_as_the_roster_says_is_not_waited_for() -> None:
    seen = group(2, 4)
    seen.give_away(["m1"], "m0")
    del seen.members["m1"]
    seen.roster = Roster("e", 1, ("m0",), leaving=("m1",), written_at=SERVER_NOW)
    assert looked(seen).says("Balanced") == ("True", "Balanced")
    seen.roster = None
    assert looked(seen, Steps(leaving=frozenset(("m1",)))).says("Balanced") == ("True", "Balanced")


def test_a_group_without_members_is_not_balanced() -> None:
    seen = group(1, 4)
    seen.members.clear()
    assert looked(seen).says("Balanced") == ("False", "NoMembers")


def test_another_kind_of_processor_is_told_with_the_switch_that_takes_over() -> None:
    observation = group(1, 2).look()
    assert observation.ledger is not None
    listing = observation.ledger.listing
    theirs = replace(
        listing.ownerships["1"],
        owner=Owner("theirs"),
        lease=LeaseState.AVAILABLE,
        is_foreign=True,
        modified_at=SERVER_NOW - 10,
    )
    rows = {**listing.ownerships, "1": theirs}
    view = replace(observation.ledger, listing=replace(listing, ownerships=rows))
    observation = replace(observation, ledger=view)
    lag = lag_of_group(observation, Start(), None)
    found = {each.type: each for each in conditions(view_of(observation, Steps(), lag), {})}
    assert found["Balanced"].reason == "OtherProcessors"
    assert "partition 1" in found["Balanced"].message
    assert "takesFromForeign" in found["Balanced"].message


def test_a_partition_that_nobody_takes_is_not_balanced() -> None:
    seen = group(2, 4)
    seen.owners["3"] = ""
    looks = looked(seen).look(after_s=16.0)
    assert looks.says("Balanced") == ("False", "PartitionsUnowned")
