"""For how long partitions stand still, and how many move, whatever is done to a group's pods.

Every event of the group is counted: each test also proves that none was lost or came out of order.
What is not killed hands over, and repeats nothing.
"""

from __future__ import annotations

import time

import pytest

from support.cluster_counting import DUPLICATES_AT_MOST, PARTITIONS, PODS, Counted, Seen
from support.cluster_faults import delete_and_kill, evict, kill_process
from support.cluster_kubectl import Kubectl
from support.idle_times import p95
from tidegate_operator.conformance.agreement import Agreement

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PLANNED_P95_S, UNPLANNED_P95_S = 2.0, 3.0
# How often a group is looked at on which nothing goes on.
TICK_S = 5.0
SHARE = PARTITIONS // PODS


def owned_by(counted: Counted, pod: str) -> set[str]:
    return {partition for partition, name in counted.owners().items() if name == pod}


def new_pod(counted: Counted, before: list[str]) -> None:
    counted.group.until(
        "a pod in its place",
        lambda: set(counted.group.pod_names()) - set(before),
        60,
    )
    counted.group.until_settled(PODS, 90)


def show(capsys: pytest.CaptureFixture[str], what: str, seen: Seen) -> None:
    seen.keep(what)
    with capsys.disabled():
        print(seen.told(what))


def test_a_scale_in_moves_what_its_victim_has_and_nothing_else(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    before = counted.owners()
    with counted.measured() as seen:
        counted.group.scale(PODS - 1)
        counted.group.until_settled(PODS - 1, 90)
    (victim,) = set(before.values()) - set(counted.group.pod_names())
    show(capsys, "scale-in", seen)
    assert seen.duplicates == 0
    assert {each.giver for each in seen.moves} == {victim}
    assert len(seen.moves) == SHARE == len(seen.changes)
    assert p95(seen.idle_s) < PLANNED_P95_S
    with counted.measured() as seen:
        counted.group.scale(PODS)
        counted.group.until_settled(PODS, 90)
    show(capsys, "scale-out", seen)
    assert seen.duplicates == 0 and len(seen.moves) == SHARE
    assert p95(seen.idle_s) < PLANNED_P95_S


def test_a_rollout_moves_each_partition_once_and_the_status_says_so_all_the_while(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    before = counted.group.pod_names()
    spec, agreement = counted.group.there()["spec"]["template"]["spec"], Agreement()

    def is_over() -> bool:
        agreement.look(counted.group.owners(), counted.ledger.owners(), time.monotonic())
        return not set(before) & set(counted.group.pod_names()) and counted.group.is_settled(PODS)

    with counted.measured() as seen:
        counted.group.patch(template={"metadata": {"annotations": {"rolled": "1"}}, "spec": spec})
        counted.group.until("pods of the new kind alone", is_over, 180)
    show(capsys, "rollout", seen)
    with capsys.disabled():
        print(f"status behind the leases for {agreement.longest_s:.1f} s")
    assert seen.duplicates == 0
    assert sorted(each.partition for each in seen.moves) == sorted(map(str, range(PARTITIONS)))
    assert p95(seen.idle_s) < PLANNED_P95_S
    assert agreement.longest_s < TICK_S


def test_a_consumer_that_is_killed_comes_back_in_its_place_and_nobody_else_moves(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    pod = counted.group.pod_names()[0]
    its = owned_by(counted, pod)
    with counted.measured() as seen:
        kill_process(counted.group.kubectl, pod)
        counted.group.until("its partitions to be read", lambda: has_restarted(counted, pod), 40)
    show(capsys, "restart in place", seen)
    assert not seen.moves
    assert {each.partition for each in seen.changes} == its
    assert seen.duplicates <= len(its) * DUPLICATES_AT_MOST
    counted.group.until_settled(PODS, 60)


def has_restarted(counted: Counted, pod: str) -> bool:
    (found,) = (each for each in counted.group.pods() if each["metadata"]["name"] == pod)
    (status,) = found["status"]["containerStatuses"]
    return bool(status["restartCount"]) and bool(status["ready"])


def test_pods_that_are_deleted_evicted_or_killed_are_read_on_within_seconds(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    idle: list[float] = []
    for strike in (delete, evict, delete_and_kill):
        counted.group.until_settled(PODS, 60)
        before = counted.group.pod_names()
        breaks = len(counted.group.events("LeaseBroken"))
        with counted.measured() as seen:
            strike(counted.group.kubectl, before[0])
            new_pod(counted, before)
        show(capsys, strike.__name__.replace("_", " "), seen)
        if strike is delete_and_kill:
            assert len(counted.group.events("LeaseBroken")) > breaks
            assert seen.duplicates <= SHARE * DUPLICATES_AT_MOST
        else:
            assert seen.duplicates == 0
        idle += seen.idle_s
    assert p95(idle) < UNPLANNED_P95_S, sorted(idle)


def delete(kubectl: Kubectl, pod: str) -> None:
    """As anybody does it: its consumer hands over."""
    kubectl.said("delete", "pod", pod, "--wait=false")


def test_a_pod_that_is_deleted_by_force_confirms_nothing_and_its_partitions_are_read_on(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    before = counted.group.pod_names()
    breaks = len(counted.group.events("LeaseBroken"))
    with counted.measured() as seen:
        counted.group.kubectl.said(
            "delete", "pod", before[0], "--grace-period=0", "--force", "--wait=false"
        )
        new_pod(counted, before)
    show(capsys, "force deletion", seen)
    assert len(counted.group.events("LeaseBroken")) == breaks
