"""What is not known decides nothing: how old a listing is, and which pods are new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tidegate_operator.decide import LISTING_OLD_S, steps
from tidegate_operator.model import Wish, WorkloadFacts
from tidegate_operator.scaling import Policy
from tidegate_operator.sizing import Sizing, sized
from unit.operator.looked_at import Looks
from unit.operator.observed import NOW, Seen, ended, group, pod, settled, starting


def smaller(seen: Seen, wanted: int) -> Seen:
    seen.wish = replace(seen.wish, replicas=wanted)
    return seen


@pytest.mark.parametrize("age_s", [0.0, LISTING_OLD_S])
def test_a_listing_is_believed_while_it_is_young(age_s: float) -> None:
    seen = smaller(settled(4), 2)
    seen.asked_before_s = age_s
    assert seen.decide().leaving == {"m2", "m3"}


@pytest.mark.parametrize("age_s", [-0.1, -3600.0, LISTING_OLD_S + 0.1])
def test_a_listing_that_is_old_or_of_the_future_decides_nothing(age_s: float) -> None:
    seen = smaller(settled(4), 2)
    seen.asked_before_s = age_s
    found = seen.decide()
    assert found.roster is None and found.replicas is None and not found.leaving
    assert not found.breaks and "the ledger cannot be listed" in found.doing


def test_a_size_is_decided_on_at_once_also_after_the_clock_was_set_back() -> None:
    """What was watched before lies in the future, and would keep it from being looked at."""
    seen = group(2)
    seen.wish = replace(seen.wish, scaling=Policy())
    lag = Looks(seen).look().lag
    before, _ = sized(Sizing(), seen.look(), lag, seen.members, is_fresh=True)
    assert before.looked_at == NOW
    seen.now -= 3600.0
    after, wanted = sized(before, seen.look(), lag, seen.members, is_fresh=True)
    assert after.looked_at == NOW - 3600.0 and wanted == 2


@pytest.mark.parametrize("most", [2, 7, 8, 16, 32, 64, 100])
@pytest.mark.parametrize(
    "objective",
    [{}, {"within_s": None, "drain_within_s": 60.0}, {"within_s": None, "lag_per_replica": 1000}],
    ids=["within", "drain within", "lag per replica"],
)
def test_a_new_group_begins_with_the_fewest_although_its_partitions_are_not_known(
    most: int, objective: Mapping[str, Any]
) -> None:
    seen = group(0)
    seen.workload = None
    policy = Policy(max=most, **objective)
    seen.wish = Wish(max_replicas=most, scaling=policy)
    for _ in range(3):
        found, seen.memory = steps(seen.look(), seen.memory, Looks(seen).look(1.0).lag)
        assert found.wanted == 1
        seen.workload = WorkloadFacts("rv-1", 1, "r1")


# --- the revision


def not_knowing(seen: Seen) -> Seen:
    """Its ReplicaSets could not be listed."""
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="", is_revision_known=False)
    return seen


def knowing(seen: Seen, revision: str) -> Seen:
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision=revision, is_revision_known=True)
    return seen


def rolling() -> Seen:
    """Half way through: one new pod is there, and one old one was told."""
    seen = settled(3)
    seen.pods["new"] = starting("new", revision="r2")
    knowing(seen, "r2")
    seen.settle()
    return seen


def test_a_rollout_goes_on_as_it_was_told_while_the_revision_is_not_known() -> None:
    seen = rolling()
    assert seen.roster is not None and len(seen.roster.leaving) == 1
    before = seen.roster
    not_knowing(seen)
    for _ in range(20):
        found = seen.decide()
        assert found.roster is None and found.replicas is None and not found.deletion_costs
        assert not found.is_settled and "newest revision" in found.doing
    assert seen.roster == before
    knowing(seen, "r2")
    assert seen.decide().leaving == set(before.leaving)


def test_a_group_does_not_shrink_while_the_revision_is_not_known() -> None:
    seen = smaller(settled(4), 2)
    seen.settle()
    seen.give_away(["m2", "m3"], "m0")
    not_knowing(seen)
    for _ in range(200):
        assert seen.decide().replicas is None
    knowing(seen, "r1")
    seen.settle()
    assert seen.decide().replicas == 2


def test_nobody_is_taken_for_gone_where_no_pod_could_be_looked_up() -> None:
    """An operator that begins, and may not list ReplicaSets, knows no pod as the group's."""
    seen = not_knowing(settled(4))
    seen.pods.clear()
    found = seen.decide()
    assert found.roster is None and found.replicas is None and not found.leaving


def test_a_group_grows_and_the_dead_are_seen_to_all_the_same() -> None:
    seen = not_knowing(smaller(settled(2), 4))
    seen.pods["m1"] = ended("m1", is_deleting=True)
    found = seen.decide()
    assert found.replicas == 4
    assert {each.member for each in found.breaks} == {"m1"}


def test_a_deployment_that_has_made_no_pod_yet_is_begun_with() -> None:
    seen = group(2, 0)
    seen.pods.clear()
    seen.members.clear()
    knowing(seen, "")
    assert seen.decide().roster is not None
    seen.pods["m0"] = pod("m0")
    assert seen.decide().roster is None, "whether it is new can be told of no pod"


def test_a_rollout_is_not_called_done_while_the_revision_is_not_known() -> None:
    seen = group(2, 4)
    assert Looks(seen).look().says("Scaling") == ("False", "AsWanted")
    not_knowing(seen)
    looks = Looks(seen).look(steps=seen.decide())
    assert looks.says("Scaling") == ("Unknown", "RevisionUnknown")
    refused = Looks(seen).fail("RevisionUnknown", "It may not list replicasets.apps. Let it.")
    assert refused.look().says("Ready") == ("False", "RevisionUnknown")
