"""Rollouts of four pods with sixteen partitions under load: each partition moves once in each.

`TIDEGATE_ROLLOUTS` is their number; they follow each other, and each takes about half a minute.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.cluster_counting import Counted, counted_group
from support.cluster_release import Release
from support.idle_times import p95

HUB, PARTITIONS, PODS = "rolled", 16, 4
ROLLOUTS = int(os.environ.get("TIDEGATE_ROLLOUTS", "4"))
PLANNED_P95_S = 2.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 120 * ROLLOUTS)]


@pytest.fixture
def rolled(
    release: Release, storage: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Counted]:
    folder = tmp_path_factory.mktemp("rolled")
    with counted_group(
        release, folder, storage, hub=HUB, partitions=PARTITIONS, pods=PODS
    ) as counted:
        yield counted


def roll_out(counted: Counted, number: int) -> None:
    before, group = set(counted.group.pod_names()), counted.group
    spec = group.there()["spec"]["template"]["spec"]
    annotations = {"annotations": {"rolled": str(number)}}
    group.patch(template={"metadata": annotations, "spec": spec})
    group.until(
        "pods of the new kind alone",
        lambda: not before & set(group.pod_names()) and group.is_settled(PODS),
        180,
    )


def test_in_every_rollout_of_four_pods_each_of_sixteen_partitions_moves_once(
    rolled: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    rolled.group.until_settled(PODS, 60)
    moved: list[int] = []
    duplicates, idle = 0, list[float]()
    for number in range(ROLLOUTS):
        with rolled.measured() as seen:
            roll_out(rolled, number)
        seen.keep("rollout of four")
        with capsys.disabled():
            print(seen.told(f"rollout {number} of four pods"))
        moved.append(len(seen.moves))
        duplicates += seen.duplicates
        idle += seen.idle_s
    with capsys.disabled():
        print(f"\n{ROLLOUTS} rollouts: moves {moved}, idle p95 {p95(idle):.2f} s")
    assert moved == [PARTITIONS] * ROLLOUTS
    assert duplicates == 0
    assert p95(idle) < PLANNED_P95_S
