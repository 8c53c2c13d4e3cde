"""What is done to pods: killed, paused, ended while their handler is slow, out of memory, without
processor time, rolled out, and drained from their node; with every event counted.

Bounds are in leases: who is dead or paused without anybody knowing is found when its lease ends.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.cluster_chaos import PARTITIONS, PODS, SHARE, Chaos
from support.cluster_counting import DUPLICATES_AT_MOST
from support.cluster_faults import (
    kill_process,
    paused_process,
    starved_process,
)
from support.cluster_group import LABEL
from support.cluster_kubectl import Kubectl
from support.cluster_manifests import config_map
from support.idle_times import p95

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LEASE_S = 15.0
# A lease that runs out by itself: its length, the look after it, and what taking over takes.
DEAD_S = LEASE_S + 6.0
PLANNED_S = 2.0
# A container that is started again: its own start time, on a machine that has other work.
IN_PLACE_S = 15.0
UNPLANNED = SHARE * DUPLICATES_AT_MOST


def test_a_killed_consumer_is_back_in_its_place(chaos: Chaos) -> None:
    pod = chaos.group.pod_names()[0]
    restarts = chaos.restarts(pod)
    with chaos.struck("sigkill", duplicates=UNPLANNED) as seen:
        kill_process(chaos.kubectl, pod)
        chaos.group.until("it to be started again", lambda: chaos.restarts(pod) > restarts, 60)
        chaos.until_settled()
    assert not seen.moves
    assert max(seen.idle_s) < IN_PLACE_S


def test_a_pod_that_is_to_end_finishes_the_slow_call_that_runs_and_repeats_nothing(
    chaos: Chaos,
) -> None:
    pod, call_s = chaos.group.pod_names()[0], 8.0
    with chaos.struck("sigterm-slow-handler", slow_call_s=call_s) as seen:
        chaos.told(pod, "slow", str(call_s))
        chaos.until_file(pod, "slow-began")
        chaos.kubectl.said("delete", "pod", pod, "--wait=false")
        chaos.until_moved_from(pod, 60)
        chaos.group.until("a pod in its place", lambda: len(chaos.group.pod_names()) == PODS, 60)
        chaos.until_settled()
    assert max(seen.idle_s) < call_s + 2 * PLANNED_S


@pytest.mark.parametrize("leases", [1, 3, 5])
def test_a_consumer_that_is_paused_is_read_on_by_others_and_comes_back_without_harm(
    chaos: Chaos, leases: int
) -> None:
    chaos.until_rested()
    pod, pause_s = chaos.group.pod_names()[0], leases * LEASE_S
    its = chaos.owned_by(pod)
    assert len(its) == SHARE
    with chaos.struck(f"sigstop-{leases}", duplicates=UNPLANNED, paused_s=pause_s) as seen:
        began = time.time()
        with paused_process(chaos.kubectl, pod, pause_s):
            if leases > 1:
                chaos.group.until(
                    "others to read what it had",
                    lambda: not its & chaos.owned_by(pod),
                    DEAD_S + 10,
                )
        assert time.time() - began >= pause_s
        chaos.until_settled()
    lasted = [each.idle_s for each in seen.changes if each.giver == pod]
    assert seen.longest_pause_s < max(DEAD_S, pause_s + PLANNED_S if leases == 1 else 0.0)
    assert all(idle_s < DEAD_S for idle_s in lasted), lasted


def test_a_consumer_that_outgrows_its_memory_is_back_in_its_place(chaos: Chaos) -> None:
    pod = chaos.group.pod_names()[0]
    restarts = chaos.restarts(pod)
    with chaos.struck("oom", duplicates=UNPLANNED) as seen:
        chaos.told(pod, "greedy")
        chaos.group.until("it to be started again", lambda: chaos.restarts(pod) > restarts, 60)
        chaos.until_settled()
    assert chaos.last_end(pod) == "OOMKilled"
    assert not seen.moves
    assert max(seen.idle_s) < IN_PLACE_S


def test_a_consumer_without_processor_time_keeps_what_it_has(chaos: Chaos) -> None:
    pod, seconds, hogs = chaos.group.pod_names()[0], 30.0, 8
    with chaos.struck("cpu-starvation", starved_s=seconds, hogs=hogs) as seen:
        with starved_process(chaos.kubectl, pod, seconds, hogs):
            chaos.until_read_on()
        chaos.until_settled()
    assert not seen.changes
    assert seen.longest_pause_s < LEASE_S


def test_in_a_rollout_each_partition_moves_once(chaos: Chaos) -> None:
    before = chaos.group.pod_names()
    template = chaos.group.there()["spec"]["template"]
    rolled = {"annotations": {"rolled": str(time.time())}}
    with chaos.struck("rollout") as seen:
        chaos.group.patch(template={**template, "metadata": rolled})
        chaos.until_rolled_out(before)
    assert sorted(each.partition for each in seen.moves) == sorted(map(str, range(PARTITIONS)))
    assert p95(seen.idle_s) < PLANNED_S


def test_clocks_that_are_wrong_cost_duplicates_at_most(chaos: Chaos) -> None:
    template = chaos.group.there()["spec"]["template"]
    text = CLOCK.read_text(encoding="utf-8")
    chaos.kubectl.apply(config_map("chaos-clock", {"sitecustomize.py": text}))
    before = chaos.group.pod_names()
    chaos.group.patch(template=with_clock(template))
    chaos.until_rolled_out(before)
    pod = chaos.group.pod_names()[0]
    said = chaos.kubectl.said("exec", pod, "--", "python", "-c", CLOCKS).split()
    rate, offset_s = map(float, said)
    assert rate != 1.0 and offset_s != 0.0
    with chaos.struck("clock-skew", duplicates=UNPLANNED) as seen:
        # Long enough for leases to end where a slow clock would have one believe that they last.
        chaos.let_pass(2 * LEASE_S)
        assert not chaos.ledger.changes(seen.since)
        kill_process(chaos.kubectl, pod)
        chaos.group.until("it to be started again", lambda: chaos.restarts(pod) > 0, 60)
        chaos.until_settled()
    assert not seen.moves
    before = chaos.group.pod_names()
    chaos.group.patch(template=template)
    chaos.until_rolled_out(before)


# It is read, and never imported here: the clock of who measures stays right.
CLOCK = Path(__file__).parents[1] / "support" / "chaos_clock.py"
CLOCKS = "import sitecustomize as clock; print(clock.RATE, clock.OFFSET_S)"


def with_clock(template: dict[str, Any]) -> dict[str, Any]:
    """Pods whose Python begins with clocks of its own."""
    found = copy.deepcopy(template)
    (consumer,) = found["spec"]["containers"]
    consumer["env"].append({"name": "PYTHONPATH", "value": "/chaos"})
    consumer["volumeMounts"] = [{"name": "clock", "mountPath": "/chaos", "readOnly": True}]
    found["spec"]["volumes"] = [{"name": "clock", "configMap": {"name": "chaos-clock"}}]
    return found


def test_a_node_that_is_drained_hands_over_all_that_is_on_it(
    cluster: Kubectl, chaos: Chaos
) -> None:
    places = Counter(pod["spec"]["nodeName"] for pod in chaos.group.pods())
    (node, there), *_ = places.most_common()
    labels = f"{LABEL}={chaos.group.name}"
    try:
        with chaos.struck("drain", pods=there) as seen:
            ran = cluster.tried(
                "drain", node, f"--pod-selector={labels}", "--delete-emptydir-data",
                "--ignore-daemonsets", "--timeout=150s", seconds=170,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stdout + ran.stderr
            chaos.until_settled()
            assert {pod["spec"]["nodeName"] for pod in chaos.group.pods()}.isdisjoint({node})
    finally:
        cluster.said("uncordon", node)
    assert p95(seen.idle_s) < PLANNED_S
