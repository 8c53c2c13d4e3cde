"""What happens to a group while the operator, the API server or a node's kubelet is not there.

Consumption needs none of them: every event is counted, and while nothing is done to the group
nothing moves. When they are back the operator goes on where it was.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from support.cluster_api import NoAnswer, until
from support.cluster_counting import PARTITIONS, PODS, Counted, Seen
from support.cluster_faults import KILL_API_SERVER, kill_process, node_hand, without_kubelet
from support.cluster_kubectl import Kubectl
from support.cluster_release import OPERATOR, Release
from tidegate.commands.rosters import STALE_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LEASE_S = 15.0
# A lease that runs out by itself: its length, the look after it, and what taking over takes.
DEAD_S = LEASE_S + 6.0
CALM_S = 2.0
HOST_NAME = "kubernetes.io/hostname"


def show(capsys: pytest.CaptureFixture[str], what: str, seen: Seen) -> None:
    with capsys.disabled():
        print(seen.told(what))


def let_pass(counted: Counted, seconds: float) -> None:
    """Time in which the group has to go on as it is: every partition is read all the while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        counted.until_read_on(CALM_S + 10)


def test_without_an_operator_members_read_and_take_over_and_pods_come_back(
    release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    before = counted.group.pod_names()
    with no_operator(release):
        with counted.measured() as calm:
            let_pass(counted, 20)
        assert not calm.changes and calm.longest_pause_s < CALM_S
        with counted.measured() as seen:
            kill_process(counted.group.kubectl, before[0])
            counted.group.kubectl.said("delete", "pod", before[1], "--wait=false")
            # Whom the last roster expects is waited for, until that roster is stale.
            counted.group.until("everybody to share", lambda: has_shares(counted), STALE_S + 90)
        show(capsys, "no operator: one killed, one deleted", seen)
        assert seen.longest_pause_s < DEAD_S
    with counted.measured() as back:
        release.until_ready()
        counted.group.until_settled(PODS, 60)
    show(capsys, "the operator is back", back)
    assert not back.changes
    counted.group.scale(PODS + 1)
    counted.group.until_settled(PODS + 1, 60)
    counted.group.scale(PODS)
    counted.group.until_settled(PODS, 60)


@contextlib.contextmanager
def no_operator(release: Release) -> Iterator[None]:
    """It is there again, or on its way, at the end of the block."""
    release.inside.said("scale", f"deployment/{OPERATOR}", "--replicas=0")
    try:
        until(lambda: not release.operators(), 40, "the operator to go")
        yield
    finally:
        release.inside.said("scale", f"deployment/{OPERATOR}", "--replicas=1")


def has_shares(counted: Counted) -> bool:
    shares = Counter(counted.owners().values())
    return shares == dict.fromkeys(counted.group.pod_names(), PARTITIONS // PODS)


def test_an_api_server_that_is_killed_is_noticed_by_nobody_who_reads(
    cluster: Kubectl, release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    operator = release.operators()
    with node_hand(cluster, control_plane(release)) as hand, counted.measured() as seen:
        hand.run(KILL_API_SERVER)
        until(lambda: not answers(counted), 40, "the API server to fall silent")
        gone_at = time.monotonic()
        until(lambda: answers(counted), 90, "the API server to answer")
        silent_s = time.monotonic() - gone_at
        counted.group.until_settled(PODS, 60)
    show(capsys, f"API server silent for {silent_s:.1f} s", seen)
    assert not seen.changes and seen.duplicates == 0 and seen.longest_pause_s < CALM_S
    counted.group.scale(PODS - 1)
    counted.group.until_settled(PODS - 1, 90)
    counted.group.scale(PODS)
    counted.group.until_settled(PODS, 90)
    assert release.operators() == operator
    assert restarts(release) == 0


def answers(counted: Counted) -> bool:
    """Whether it gives groups; one that has just begun answers that nobody may ask."""
    try:
        return bool(counted.group.there())
    except NoAnswer:
        return False


def restarts(release: Release) -> int:
    (pod,) = release.api.list("pods", "app.kubernetes.io/name=tidegate-operator")
    return int(pod["status"]["containerStatuses"][0]["restartCount"])


def control_plane(release: Release) -> str:
    label = "node-role.kubernetes.io/control-plane"
    return next(
        str(node["metadata"]["name"])
        for node in release.api.list("nodes")
        if label in node["metadata"]["labels"]
    )


@pytest.mark.timeout(600)  # Its pods are moved to the node before it, and away from it afterwards.
def test_a_node_that_falls_silent_moves_nothing_and_its_dead_are_found_by_their_leases(
    cluster: Kubectl, release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    node = control_plane(release)
    with all_on(counted, node), node_hand(cluster, node) as hand:
        member = counted.group.pod_names()[0]
        its = {partition for partition, name in counted.owners().items() if name == member}
        breaks = len(counted.group.events("LeaseBroken"))
        program = without_kubelet(seconds=60, kill_after=20, member=member)
        with counted.measured() as seen:
            done = hand.run(program)
            counted.group.until(
                "the dead member's partitions to be read by others",
                lambda: member not in counted.owners().values(),
                20 + DEAD_S + 20,
            )
        show(capsys, "a silent node, and a consumer killed there", seen)
        assert {each.partition for each in seen.moves} == its
        assert max(seen.idle_s) < DEAD_S
        assert len(counted.group.events("LeaseBroken")) == breaks
        assert "killed" in hand.until_ended(done, 90)
        counted.group.until_settled(PODS, 90)


@contextlib.contextmanager
def all_on(counted: Counted, node: str) -> Iterator[None]:
    """All pods of the group are on this node until the end of the block."""
    try:
        move_to(counted, node)
        # What was handled before was handled by pods that have gone.
        counted.until_read_on()
        yield
    finally:
        move_to(counted, None)


def move_to(counted: Counted, node: str | None) -> None:
    """By a rollout; None for wherever there is room."""
    selector = {HOST_NAME: node} if node is not None else None
    counted.group.patch(template={"spec": {"nodeSelector": selector}})
    counted.group.until(
        f"its pods to be on {node or 'any node'}",
        lambda: (
            all(pod["spec"].get("nodeSelector") == selector for pod in counted.group.pods())
            and counted.group.is_settled(PODS)
        ),
        150,
    )


def test_of_two_operators_one_acts_and_the_other_goes_on_where_it_was_killed(
    release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    release.change("upgrade", replicas=2)
    release.until_ready()
    until(lambda: len(release.operators()) == 2 and release.leader(), 60, "two operators")
    first, leader = counted.group.written(), release.leader()
    with counted.measured() as seen:
        counted.group.scale(PODS + 1)
        counted.group.until_settled(PODS + 1, 90)
    # One write: nobody wrote it a second time, or wrote it back.
    assert counted.group.written() == first + 1 and release.leader() == leader
    with counted.measured() as killed:
        kill_process(release.inside, leader.partition("_")[0])
        counted.group.scale(PODS)
        began = time.monotonic()
        until(lambda: release.leader() not in ("", leader), 30, "the other one to lead")
        took = time.monotonic() - began
        counted.group.until_settled(PODS, 90)
    show(capsys, f"scale-out by one of two; the other leads {took:.0f} s after a kill", seen)
    show(capsys, "scale-in by the other", killed)
    assert counted.group.written() == first + 2
    assert seen.duplicates == 0 == killed.duplicates
    release.change("upgrade", replicas=1)
    release.until_ready()
