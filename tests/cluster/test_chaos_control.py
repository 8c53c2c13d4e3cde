"""What happens to the control plane while a group moves: a wish that is changed in mid-hand-over,
an operator that is killed in mid-plan; with every event counted.
"""

from __future__ import annotations

import pytest

from support.cluster_chaos import PODS, SHARE, Chaos
from support.cluster_faults import kill_process
from support.cluster_release import Release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

PLANNED_S = 2.0
# So long a call takes, so that hand-overs take long enough to change one's mind in.
SLOW_S = 4.0


def test_a_wish_that_is_changed_in_mid_hand_over_is_followed_and_nothing_is_handled_twice(
    chaos: Chaos,
) -> None:
    with chaos.struck("edited-in-mid-hand-over", slow_call_s=SLOW_S) as seen:
        before = chaos.group.pod_names()
        for pod in before:
            chaos.told(pod, "slow", str(SLOW_S))
        chaos.group.scale(PODS - 1)
        chaos.group.until("a member to leave", lambda: is_leaving(chaos), 60)
        # Another size, and another template: a rollout in the midst of it.
        chaos.group.patch(replicas=PODS, delivery={"checkpoint": {"everySeconds": 0.9}})
        chaos.until_rolled_out(before, 240)
    assert seen.longest_pause_s < 2 * SLOW_S + PLANNED_S


def test_an_operator_that_is_killed_in_mid_plan_goes_on_with_it(
    release: Release, chaos: Chaos
) -> None:
    with chaos.struck("operator-killed-in-mid-plan") as seen:
        for pod in chaos.group.pod_names():
            chaos.told(pod, "slow", str(SLOW_S))
        chaos.group.scale(PODS - 1)
        chaos.group.until("a member to leave", lambda: is_leaving(chaos), 60)
        (operator,) = release.operators()
        kill_process(release.inside, operator)
        chaos.until_settled(PODS - 1, 120)
    assert len(seen.moves) == SHARE
    assert seen.longest_pause_s < 2 * SLOW_S + PLANNED_S
    for pod in chaos.group.pod_names():
        chaos.told(pod, "slow", "0")
    chaos.group.scale(PODS)
    chaos.until_settled()


def is_leaving(chaos: Chaos) -> bool:
    return any(each.get("leaving") for each in chaos.group.status().get("members", ()))
