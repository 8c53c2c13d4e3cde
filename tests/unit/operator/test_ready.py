"""Ready: what the user asked for runs, or why it does not and what to do, reason by reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate_operator.model import ContainerFacts, Ended, Running, Steps, Wish
from unit.operator.looked_at import Looks, with_pod
from unit.operator.observed import NOW, Seen, group, pod, presence, starting


def ready(seen: Seen, **more: object) -> Looks:
    return Looks(seen, **more).look()  # type: ignore[arg-type]


def test_a_group_whose_pods_have_joined_and_own_everything_is_ready() -> None:
    looks = ready(group(2, 4))
    assert looks.says("Ready") == ("True", "Ready")
    assert looks.condition("Ready").message == (
        "2 of 2 pods joined, and 4 partitions have an owner."
    )
    assert looks.told["state"] == "Balanced"


# --- on the way


def test_pods_that_have_only_just_begun_are_joining() -> None:
    for bad in (
        starting("m1"),
        pod("m1", is_ready=False, container=ContainerFacts(running=Running(NOW - 5))),
    ):
        looks = ready(with_pod(bad))
        assert looks.says("Ready") == ("False", "Joining")
        assert looks.events == []
        assert looks.told["state"] == "Joining"


def test_a_first_restart_in_place_is_no_crash_loop() -> None:
    end = Ended(NOW - 20, NOW - 1, "Error", 137)
    back = ContainerFacts(running=Running(NOW), last_end=end, restarts=1)
    looks = ready(with_pod(pod("m1", is_ready=False, container=back)))
    assert looks.says("Ready") == ("False", "Joining")
    assert "code 137" in looks.condition("Ready").message


def test_a_deployment_that_has_made_no_pod_yet_says_so() -> None:
    seen = group(2, 4)
    seen.pods.clear()
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "NoPods")
    assert "kubectl describe deployment -n default home" in looks.condition("Ready").message


def test_members_that_have_told_of_no_partition_are_joining() -> None:
    seen = group(2, 4)
    seen.owners.clear()
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "Joining")
    assert "can they reach the hub?" in looks.condition("Ready").message


# --- what is wrong with the wish, or with what it names


@pytest.mark.parametrize(
    "reason",
    [
        "SpecInvalid",
        "SecretMissing",
        "SecretKeyMissing",
        "TemplateImpossible",
        "EngineNotThere",
        "LedgerDenied",
        "LedgerMissing",
        "LedgerInvalid",
        "HubUnknown",
        "HubDenied",
        "NameTaken",
    ],
)
def test_what_stands_in_the_way_is_told_although_pods_read_on(reason: str) -> None:
    looks = Looks(group(2, 4)).fail(reason, "secret 'a' is not there. Create it").look()
    assert looks.says("Ready") == ("False", reason)
    assert looks.condition("Ready").message == "Secret 'a' is not there. Create it."
    assert looks.told["state"] == reason
    assert looks.until_told() == [("Warning", reason)]


@pytest.mark.parametrize(
    ("failure", "reason", "word"),
    [
        ('pods "m1" is forbidden: exceeded quota: few, requested: pods=1', "QuotaExceeded", "few"),
        ('pods "m1" is forbidden: violates PodSecurity "restricted"', "PodsRefused", "violates"),
    ],
)
def test_pods_that_kubernetes_does_not_allow_are_told_with_its_own_words(
    failure: str, reason: str, word: str
) -> None:
    seen = group(2, 4)
    assert seen.workload is not None
    seen.workload = replace(seen.workload, failure=failure)
    seen.go("m1")
    seen.give_away(["m1"], "m0")
    looks = ready(seen)
    assert looks.says("Ready") == ("False", reason)
    assert word in looks.condition("Ready").message


def test_a_rollout_for_which_there_is_no_quota_is_told_though_the_old_pods_read_on() -> None:
    seen = group(2, 4)
    assert seen.workload is not None
    refused = 'pods "m2" is forbidden: exceeded quota: few, requested: pods=1'
    seen.workload = replace(seen.workload, revision="r2", failure=refused)
    assert ready(seen).says("Ready") == ("False", "QuotaExceeded")
    seen.workload = replace(seen.workload, revision="r1")
    assert ready(seen).says("Ready") == ("True", "Ready")


# --- what the operator cannot see


def test_a_ledger_that_cannot_be_reached_leaves_it_unknown_because_members_may_go_on() -> None:
    seen = group(2, 4, has_ledger=False)
    looks = Looks(seen).fail("LedgerUnreachable", "storage does not answer").look()
    assert looks.says("Ready") == ("Unknown", "LedgerUnreachable")
    assert looks.says("Balanced") == ("Unknown", "LedgerNotRead")


@pytest.mark.parametrize("reason", ["HubUnreachable", "KubernetesUnreachable", "Conflict"])
def test_what_the_operator_could_not_ask_does_not_matter_while_members_read(reason: str) -> None:
    looks = Looks(group(2, 4)).fail(reason).look()
    assert looks.says("Ready") == ("True", "Ready")


def test_a_hub_that_cannot_be_reached_is_told_where_no_pod_has_joined() -> None:
    seen = group(1, 4)
    seen.pods = {"m0": starting("m0")}
    looks = Looks(seen).fail("HubUnreachable").look()
    assert looks.says("Ready") == ("False", "HubUnreachable")


def test_where_a_pod_reads_others_are_not_missing_because_the_operator_cannot_ask_the_hub() -> None:
    looks = Looks(with_pod(starting("m1"))).fail("HubUnreachable").look()
    assert looks.says("Ready") == ("False", "Joining")


def test_an_operator_that_has_just_begun_lets_stand_what_was_said() -> None:
    looks = Looks(group(2, 4)).look()
    before = looks.told
    looks.restart()
    looks.seen.has_ledger = False
    looks.look(after_s=30.0)
    assert looks.told == before
    assert looks.events == []


# --- partitions that nobody owns


def test_a_partition_that_is_being_taken_over_does_not_change_it_and_a_long_one_does() -> None:
    looks = ready(group(2, 4))
    looks.seen.owners["3"] = ""
    assert looks.look(after_s=1.0).says("Ready") == ("True", "Ready")
    assert looks.look(after_s=15.0).says("Ready") == ("True", "Ready")
    assert looks.look(after_s=1.0).says("Ready") == ("False", "PartitionsUnowned")
    assert "partition 3" in looks.condition("Ready").message
    assert looks.told["state"] == "PartitionsUnowned"
    looks.restart().look(after_s=1.0)
    assert looks.says("Ready") == ("False", "PartitionsUnowned")
    assert looks.events == []


def test_a_group_that_begins_is_joining_until_everything_has_an_owner() -> None:
    seen = group(2, 4)
    seen.owners["3"] = ""
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "Joining")
    seen.owners["3"] = "m0"
    assert looks.look(after_s=1.0).says("Ready") == ("True", "Ready")
    assert ("Normal", "Ready") in looks.events


# --- partitions whose owners cannot read them


def test_partitions_that_their_owners_cannot_read_are_told_with_the_reason_and_what_to_do() -> None:
    seen = group(2, 4)
    looks = ready(seen)
    trouble = "amqp:not-found: consumer group 'alarms' is not there"
    own = {p for p, owner in seen.owners.items() if owner == "m0"}
    seen.members["m0"] = presence("m0", unread=frozenset(own), trouble=trouble)
    looks.look(after_s=1.0)
    assert looks.says("Ready") == ("False", "PartitionsNotRead")
    assert looks.condition("Ready").message == (
        "2 partitions have owners that cannot read them: amqp:not-found: consumer group 'alarms' "
        "is not there. Is all there that spec.source names (of a hub its consumer group, too), and "
        "may the group read it? m0 cannot: see `kubectl logs -n default m0`."
    )
    assert looks.told["state"] == "PartitionsNotRead"
    assert looks.events == [("Warning", "PartitionsNotRead")]
    assert looks.look(after_s=1.0).events == []
    seen.members["m0"] = presence("m0")
    assert looks.look(after_s=1.0).says("Ready") == ("True", "Ready")


def test_what_looks_like_a_key_in_what_a_member_says_is_hidden() -> None:
    seen = group(1, 1)
    looks = ready(seen)
    key = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG="
    trouble = f"on_open failed: ConnectionError: refused {key}"
    seen.members["m0"] = presence("m0", unread=frozenset("0"), trouble=trouble)
    looks.look(after_s=1.0)
    assert "on_open failed: ConnectionError: refused ***" in looks.condition("Ready").message


def test_what_another_owns_by_now_or_nobody_is_to_read_is_not_told_as_not_read() -> None:
    seen = group(2, 4)
    seen.members["m0"] = presence("m0", unread=frozenset(seen.owners), trouble="gone")
    seen.give_away(["m0"], "m1")
    assert ready(seen).says("Ready") == ("True", "Ready")


def test_one_partition_of_an_owner_that_says_no_reason_is_told_too() -> None:
    seen = group(2, 4)
    mine = min(p for p, owner in seen.owners.items() if owner == "m1")
    seen.members["m1"] = presence("m1", unread=frozenset({mine}))
    message = ready(seen).condition("Ready").message
    assert message.startswith("1 partition has an owner that cannot read it. Is all there that")


# --- wishes


def test_paused_deleted_and_scaled_to_zero() -> None:
    assert ready(group(2, 4, wish=Wish(is_paused=True))).says("Ready") == ("False", "Paused")
    assert ready(group(2, 4, is_deleting=True)).says("Ready") == ("False", "Deleting")
    looks = Looks(group(0)).look(steps=Steps(wanted=0))
    assert looks.says("Ready") == ("True", "ScaledToZero")
    assert looks.told["state"] == "ScaledToZero"


def test_a_pod_that_was_made_by_hand_does_not_stand_in_for_one_that_is_wanted() -> None:
    seen = with_pod(starting("m1"))
    seen.pods["by-hand"] = pod("by-hand", revision="")
    seen.members["by-hand"] = presence("by-hand")
    looks = ready(seen)
    assert looks.says("Ready") == ("False", "Joining")
    assert looks.told["ready"] == "1/2"
