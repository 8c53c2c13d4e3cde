"""The Deployment shrinks only when its victims were told and are seen empty, or time is up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.model import WorkloadFacts
from unit.operator.observed import Seen, group, presence, settled, starting


def shrinking(count: int = 4, to: int = 2) -> tuple[Seen, frozenset[str]]:
    """A group that shall shrink; the roster says so and the pods are marked."""
    seen = settled(count)
    seen.wish = replace(seen.wish, replicas=to, min_replicas=min(to, 1))
    leaving = seen.decide().leaving
    seen.settle()
    return seen, leaving


def test_growing_is_done_at_once() -> None:
    seen = settled(2)
    seen.wish = replace(seen.wish, replicas=5)
    found = seen.decide()
    assert (found.wanted, found.replicas) == (5, 5)
    assert found.doing == "growing from 2 to 5 pods"


def test_a_group_whose_size_nobody_set_stays_as_it_is_within_its_bounds() -> None:
    for stands, wanted in ((3, 3), (1, 2), (9, 4)):
        seen = group(stands)
        seen.wish = replace(seen.wish, min_replicas=2, max_replicas=4)
        assert seen.decide().wanted == wanted


def test_nobody_leaves_before_the_roster_is_seen_to_say_so() -> None:
    seen = settled(4)
    seen.wish = replace(seen.wish, replicas=2)
    seen.owners.clear()  # they are all empty
    found = seen.decide()
    assert found.replicas is None
    assert len(found.leaving) == 2
    assert "the roster that says so is not yet written" in found.doing
    # The write is lost: nothing happens, for ever.
    for _ in range(200):
        assert seen.decide(after_s=10.0).replicas is None


def test_a_leader_that_has_not_touched_the_roster_does_not_trust_it() -> None:
    seen, _ = shrinking()
    seen.owners.clear()
    assert seen.decide().replicas == 2
    successor = replace(seen, memory=type(seen.memory)())
    first = successor.decide()
    assert first.replicas is None
    assert first.roster is not None
    successor.follow(first)
    assert successor.decide().replicas == 2


def test_it_shrinks_when_the_victims_have_handed_over() -> None:
    seen, leaving = shrinking()
    found = seen.decide()
    assert found.replicas is None
    assert "this has not been handed over" in found.doing
    first, second = sorted(leaving)
    seen.give_away([first], "m0")
    assert seen.decide().replicas is None
    seen.give_away([second], "m1")
    found = seen.decide()
    assert found.replicas == 2
    assert "have handed over and leave" in found.doing


def test_a_victim_whose_leases_have_expired_may_renew_them_and_is_not_empty() -> None:
    seen, leaving = shrinking()
    seen.expired = {p for p, owner in seen.owners.items() if owner in leaving}
    found = seen.decide()
    assert found.replicas is None
    assert "this has not been handed over" in found.doing
    for name in leaving:
        seen.lives |= {p: "another life" for p, owner in seen.owners.items() if owner == name}
    assert seen.decide().replicas == 2


def test_a_victim_that_still_wants_a_partition_is_not_empty() -> None:
    seen, leaving = shrinking()
    seen.give_away(leaving, "m0")
    victim = min(leaving)
    seen.members[victim] = presence(victim, wants={"3": "a-lease-id"})
    assert seen.decide().replicas is None


def test_it_waits_until_kubernetes_knows_whom_to_take() -> None:
    seen, leaving = shrinking()
    seen.give_away(leaving, "m0")
    seen.change(min(leaving), deletion_cost=None)
    found = seen.decide()
    assert found.replicas is None
    assert "pod-deletion-cost" in found.doing
    assert found.deletion_costs == {min(leaving): -1000}


def test_it_waits_for_a_pod_that_kubernetes_would_take_first() -> None:
    seen, leaving = shrinking()
    seen.give_away(leaving, "m0")
    stays = min(seen.pods.keys() - leaving)
    seen.change(stays, is_ready=False)
    found = seen.decide()
    assert found.leaving == leaving
    assert found.replicas is None
    assert f"Kubernetes would take {stays} first" in found.doing


def test_after_the_limit_it_goes_on_and_says_so() -> None:
    seen, leaving = shrinking()
    for _ in range(85):
        found = seen.decide()
        seen.follow(replace(found, replicas=None))
        assert found.replicas is None
    for _ in range(10):
        found = seen.decide()
        seen.follow(replace(found, replicas=None))
    assert found.replicas == 2
    assert "must go after 90 s all the same, although this has not been handed over" in found.doing
    assert all(name in found.doing for name in leaving)


def test_to_zero_there_is_nobody_to_hand_over_to() -> None:
    seen, _ = shrinking(3, to=0)
    found = seen.decide()
    assert found.replicas == 0
    assert found.roster is None


def test_to_zero_beside_a_member_that_stays_they_hand_over_first() -> None:
    seen = settled(3)
    seen.members["laptop"] = presence("laptop")
    seen.wish = replace(seen.wish, min_replicas=0, replicas=0)
    seen.settle()
    assert seen.decide().replicas is None
    seen.give_away(["m0", "m1", "m2"], "laptop")
    assert seen.decide().replicas == 0


@pytest.mark.parametrize("kept", [0, 1])
def test_a_pause_lets_all_partitions_go_before_the_pods_leave(kept: int) -> None:
    seen = settled(3)
    seen.wish = replace(seen.wish, replicas=3, is_paused=True, paused_replicas=kept)
    found = seen.decide()
    assert found.roster is not None
    assert found.roster.is_paused
    assert (found.wanted, found.replicas) == (kept, None)
    seen.settle()
    assert seen.decide().replicas is None
    seen.owners = dict.fromkeys(seen.owners, "")
    assert seen.decide().replicas == kept


def test_after_a_pause_the_group_has_its_size_again() -> None:
    seen = group(0, workload=WorkloadFacts("rv-1", 0, "r1"))
    seen.wish = replace(seen.wish, replicas=3, is_paused=True)
    seen.settle()
    assert seen.roster is not None
    assert seen.roster.is_paused
    seen.wish = replace(seen.wish, is_paused=False)
    found = seen.decide()
    assert found.replicas == 3
    assert found.roster is not None
    assert not found.roster.is_paused


def test_in_the_middle_of_a_rollout_it_waits_with_all_victims_told() -> None:
    seen, _ = shrinking()
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r2")
    seen.pods["n0"] = starting("n0", revision="r2")
    seen.join("n0")
    seen.settle()
    seen.owners = dict.fromkeys(seen.owners, "n0")
    found = seen.decide()
    assert found.replicas is None
    assert "once the rollout is over" in found.doing
    assert len(found.leaving) == 3


def test_a_rollout_that_does_not_get_on_does_not_hold_it_up() -> None:
    seen, _ = shrinking()
    assert seen.workload is not None
    failure = 'pods "home-1" is forbidden: exceeded quota'
    seen.workload = replace(seen.workload, revision="r2", failure=failure)
    seen.owners = dict.fromkeys(seen.owners, "m0")
    seen.settle()
    assert seen.decide().replicas == 2


def test_it_does_not_shrink_what_it_does_not_see() -> None:
    """The pods are not all in the cache, or not all made."""
    seen = settled(4)
    seen.wish = replace(seen.wish, replicas=2)
    for name in ("m0", "m1"):
        del seen.pods[name]
    seen.settle()
    found = seen.decide()
    assert found.replicas is None
    assert "not all of its pods are there" in found.doing


def test_a_wish_that_changes_back_makes_victims_members_again() -> None:
    seen, leaving = shrinking()
    seen.wish = replace(seen.wish, replicas=4)
    found = seen.decide()
    assert found.replicas is None
    assert found.roster is not None
    assert not found.roster.leaving
    assert found.deletion_costs == dict.fromkeys(leaving, 0)


def test_a_group_that_is_deleted_is_let_go() -> None:
    seen, _ = shrinking()
    seen.is_deleting = True
    seen.owners.clear()
    found = seen.decide()
    assert (found.replicas, found.roster, found.breaks) == (None, None, ())


def test_a_group_without_a_deployment_says_what_to_make_it_with() -> None:
    seen = Seen(has_ledger=False)
    seen.wish = replace(seen.wish, min_replicas=3)
    assert seen.decide().replicas == 3
