"""Who leaves: in a rollout one old pod for each new one, as soon as its object is there."""

from __future__ import annotations

from dataclasses import replace

from tidegate_operator.model import ContainerFacts, WorkloadFacts
from unit.operator.observed import Seen, group, pod, presence, settled, starting


def rolling(seen: Seen, name: str = "n0") -> Seen:
    """A new revision, of which the first pod has just been made."""
    seen.pods[name] = starting(name, revision="r2")
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r2")
    return seen


def test_an_old_pod_leaves_as_soon_as_a_new_ones_object_is_there() -> None:
    seen = rolling(settled(4))
    found = seen.decide()
    assert found.roster is not None
    (victim,) = found.roster.leaving
    assert victim.startswith("m")
    assert found.deletion_costs == {victim: -1000}
    others = tuple(name for name in ("m0", "m1", "m2", "m3") if name != victim)
    assert found.roster.expected == (*others, "n0"), "the oldest first, the new one last"
    assert found.replicas is None
    assert found.leaving == {victim}
    assert "0 of 4" not in found.doing
    assert "rolling out: 1 of 5 pods are new" in found.doing


def test_before_the_new_pods_object_is_there_nobody_leaves() -> None:
    seen = settled(4)
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r2")
    found = seen.decide()
    assert found.roster is None
    assert not found.leaving


def test_the_roster_names_the_pod_that_is_deleted_before_the_one_that_is_next() -> None:
    seen = rolling(settled(4))
    first = seen.decide()
    seen.follow(first)
    (victim,) = first.leaving
    seen.pods[victim] = replace(seen.pods[victim], is_deleting=True)
    seen.pods["n0"] = pod("n0", revision="r2")
    seen.members["n0"] = presence("n0")
    rolling(seen, "n1")
    found = seen.decide()
    assert found.roster is not None
    assert found.roster.leaving[0] == victim
    assert len(found.roster.leaving) == 2
    seen.roster = replace(found.roster, leaving=found.roster.leaving[::-1], etag="reversed")
    again = seen.decide().roster
    assert again is not None and again.leaving == found.roster.leaving, "the order is put right"


def test_the_choice_stands_whatever_loads_do_meanwhile() -> None:
    seen = rolling(settled(4))
    first = seen.decide()
    seen.follow(first)
    (victim,) = first.leaving
    for name in ("m0", "m1", "m2", "m3"):
        heavy = 0.9 if name == victim else 0.1
        seen.members[name] = presence(name, loads=dict.fromkeys(seen.owners, heavy))
    again = seen.decide()
    assert again.leaving == first.leaving
    assert again.roster is None


def test_the_choice_stands_although_the_next_listing_is_older_than_the_roster() -> None:
    seen = rolling(settled(4))
    first = seen.decide()
    seen.follow(replace(first, roster=None))
    (victim,) = first.leaving
    for name in ("m0", "m1", "m2", "m3"):
        heavy = 0.9 if name == victim else 0.1
        seen.members[name] = presence(name, loads=dict.fromkeys(seen.owners, heavy))
    again = seen.decide()
    assert again.leaving == first.leaving
    assert not again.deletion_costs, "Kubernetes would end another one than was told"


def test_whom_kubernetes_would_end_first_leaves_while_nothing_has_been_given_away() -> None:
    seen = rolling(settled(4))
    first = seen.decide()
    seen.follow(first)
    (victim,) = first.leaving
    other = next(name for name in ("m0", "m1", "m2", "m3") if name != victim)
    seen.change(other, is_ready=False)
    found = seen.decide()
    assert found.leaving == {other}
    assert found.deletion_costs == {other: -1000, victim: 0}
    seen.follow(found)
    seen.change(other, is_ready=True)
    assert seen.decide().leaving == {other}, "and is not chosen anew"


def test_who_may_have_given_something_away_leaves_whoever_is_not_ready_then() -> None:
    seen = rolling(settled(4))
    seen.follow(first := seen.decide())
    (victim,) = first.leaving
    seen.join("n0")
    other = next(name for name in ("m0", "m1", "m2", "m3") if name != victim)
    seen.change(other, is_ready=False)
    assert seen.decide().leaving == {victim}


def test_a_new_pod_that_does_not_come_within_a_minute_is_waited_for_no_longer() -> None:
    seen = rolling(settled(4))
    for _ in range(59):
        found = seen.decide()
        seen.follow(found)
    (victim,) = found.leaving
    assert victim.startswith("m")
    for _ in range(5):
        found = seen.decide()
        seen.follow(found)
    assert seen.roster is not None
    assert "n0" not in seen.roster.expected
    assert not {"m0", "m1", "m2", "m3"} & set(seen.roster.leaving)
    seen.join("n0")
    found = seen.decide()
    assert found.leaving <= {"m0", "m1", "m2", "m3"}
    assert len(found.leaving) == 1


def test_a_rollout_back_gives_the_place_to_the_old_revision_again() -> None:
    seen = rolling(settled(4))
    seen.settle()
    seen.join("n0")
    seen.settle()
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="r1")
    found = seen.decide()
    assert found.leaving == {"n0"}
    assert found.roster is not None
    assert found.roster.expected == ("m0", "m1", "m2", "m3")
    costs = dict(found.deletion_costs)
    assert costs.pop("n0") == -1000
    assert list(costs.values()) == [0], "who was to leave is no victim any more"


def test_an_operator_that_is_restarted_goes_on_with_the_same_victim() -> None:
    seen = rolling(settled(4))
    found = seen.decide()
    seen.follow(found)
    # It has given some away by now, and another has fewer for a moment.
    seen.give_away(["m0"], "m1")
    restarted = replace(seen, memory=type(seen.memory)())
    assert restarted.decide().leaving == found.leaving


def test_members_whose_pod_is_deleted_by_somebody_leave_and_are_no_victims() -> None:
    seen = settled(4)
    seen.change("m1", is_deleting=True)
    seen.pods["m4"] = starting("m4")
    found = seen.decide()
    assert found.leaving == {"m1"}
    assert found.roster is not None
    assert found.roster.expected == ("m0", "m2", "m3", "m4")
    assert not found.deletion_costs


def test_a_pod_made_by_hand_is_a_member_and_never_a_victim() -> None:
    seen = settled(3)
    seen.pods["hand"] = pod("hand", revision="", age_s=1.0)
    seen.members["hand"] = presence("hand")
    assert not seen.decide().leaving
    seen.wish = replace(seen.wish, min_replicas=0, replicas=0)
    assert seen.decide().leaving == {"m0", "m1", "m2"}


def test_who_never_came_is_the_first_victim() -> None:
    seen = settled(3, workload=WorkloadFacts("rv-1", 4, "r1"))
    waiting = ContainerFacts(waiting="ImagePullBackOff")
    seen.pods["bad"] = replace(starting("bad"), created_at=0.0, container=waiting)
    seen.wish = replace(seen.wish, replicas=3)
    found = seen.decide()
    assert found.leaving == {"bad"}


def test_among_equals_those_with_the_fewest_and_cheapest_partitions_leave() -> None:
    seen = group(4, partitions=9)  # m0 has three
    loads = {"m0": 0.1, "m1": 0.5, "m2": 0.2, "m3": 0.3}
    for name, load in loads.items():
        seen.members[name] = presence(name, loads=dict.fromkeys(seen.owners, load))
    seen.settle()
    seen.wish = replace(seen.wish, replicas=2)
    assert seen.decide().leaving == {"m2", "m3"}


def test_a_pod_that_is_too_many_is_told_before_it_joins() -> None:
    seen = settled(3)
    seen.pods["m3"] = starting("m3")
    written = seen.decide().roster
    assert written is not None
    assert written.leaving == ("m3",)


def test_who_has_a_pin_leaves_last() -> None:
    seen = settled(3, partitions=9)
    seen.wish = replace(seen.wish, replicas=1, pins={"0": "m2"})
    assert seen.decide().leaving == {"m0", "m1"}


def test_a_cold_start_expects_all_pods_that_are_made() -> None:
    seen = group(0)
    seen.workload = WorkloadFacts("rv-1", 3, "r1")
    for name in ("m0", "m1", "m2"):
        seen.pods[name] = starting(name)
    found = seen.decide()
    assert found.roster is not None
    assert found.roster.expected == ("m0", "m1", "m2")
    assert "waiting for m0, m1, m2 to join" in found.doing


def test_while_it_is_not_known_which_pods_are_new_a_rollout_tells_nobody_to_leave() -> None:
    seen = rolling(settled(4))
    assert seen.workload is not None
    seen.workload = replace(seen.workload, revision="")
    found = seen.decide()
    assert not found.leaving and not found.deletion_costs
    seen.wish = replace(seen.wish, replicas=3)
    found = seen.decide()
    assert not found.leaving and found.replicas is None, "it might be one of the new pods"
