"""A group on Spark: the operator makes the driver and scales its executors, and no total is wrong.

Wants the image of Spark on the cluster: `make cluster SPARK=1`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from support.cluster_api import until
from support.cluster_group import groups
from support.cluster_groups import example
from support.cluster_manifests import config_map
from support.cluster_release import Release, event_hubs, ledger
from support.cluster_spark import (
    HUB,
    OBJECTIVE_S,
    PARTITIONS,
    PIPELINE,
    SCALING,
    SHRINK_S,
    SMALL,
    SparkGroup,
    python_member,
    spark_group,
)
from support.ledger_watch import ledger_watch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# One executor handles a hundred events a second.
CALM, BUSY = 20.0, 200.0
FIRST_BATCH_S = 60.0


@pytest.fixture(scope="module")
def group(release: Release, storage: str) -> Iterator[SparkGroup]:
    with spark_group(release, storage) as group:
        yield group


@pytest.fixture
def spark(group: SparkGroup) -> SparkGroup:
    """With a calm load and two executors, which a person has asked for."""
    group.group.patch(scaling=SCALING, replicas=2)
    group.until_settled(2, 120)
    group.send(CALM)
    return group


def show(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(f"\n{text}")


def test_the_example_has_its_first_batch_within_a_minute(
    release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    document = example("spark.yaml")
    document["spec"] |= {
        "source": event_hubs("first"), "ledger": ledger("counted"), "spark": SMALL,
        "handler": {"configMap": "first-pipeline", "code": "pipeline.py:pipeline"},
    }  # fmt: skip
    code = "def pipeline(df, context):\n    print(df.count(), flush=True)\n"
    release.inside.apply(config_map("first-pipeline", {"pipeline.py": code}))
    release.send("first", 1000)
    applied_at = time.time()
    with groups(release, document) as (group,):
        batch = group.until(
            "the first batch",
            lambda: (group.status().get("spark") or {}).get("lastBatch"),
            2 * FIRST_BATCH_S,
        )
        took_s = time.time() - applied_at
        assert batch is not None
        group.until("all to be handled", lambda: group.status().get("lag") == 0, 60)
    show(capsys, f"the first batch, of {batch['events']} events, {took_s:.0f} s after apply")
    assert took_s <= FIRST_BATCH_S


def test_ten_times_the_events_get_more_executors_and_they_go_again_with_no_total_wrong(
    group: SparkGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    group.group.patch(replicas=None, scaling=SCALING)
    group.send(CALM)
    group.until_settled(1, 180)
    group.group.until(
        "the executor to be known",
        lambda: (group.group.status().get("scaling") or {}).get("perConsumer"),
        90,
    )
    begun = time.monotonic()
    group.send(BUSY)
    group.until_wanted(lambda count: count == 3, 60)
    asked_s = time.monotonic() - begun
    group.until_settled(3, 120)
    settled_s = time.monotonic() - begun
    group.send(CALM)
    group.until_wanted(lambda count: count == 1, 6 * SHRINK_S)
    group.until_settled(1, 120)
    group.assert_exact()
    # Over the whole life of the driver, and not only now.
    assert group.figures("tidegate_spark_batches_failed_total") == 0
    assert group.figures("tidegate_spark_query_restarts_total") == 0
    show(capsys, f"1 -> 3: asked for after {asked_s:.0f} s, settled after {settled_s:.0f} s")
    assert asked_s <= OBJECTIVE_S


def test_a_driver_that_is_killed_begins_again_in_place_and_its_executors_are_made_anew(
    spark: SparkGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    (driver,), before = spark.pods("driver"), spark.spark()["applicationId"]
    begun = time.monotonic()
    spark.kill(driver, "run")
    spark.group.until(
        "another application",
        lambda: spark.spark().get("applicationId") not in (None, before),
        120,
    )
    spark.until_settled(2, 120)
    show(capsys, f"a killed driver is back after {time.monotonic() - begun:.0f} s")
    assert spark.pods("driver") == [driver]
    sets = spark.group.kubectl.read("statefulsets")["items"]
    ours = [each for each in sets if before.removeprefix("spark-") in each["metadata"]["name"]]
    assert not ours, "what the last life left behind is removed"
    spark.assert_exact()


def test_a_driver_that_is_deleted_by_force_takes_its_executors_with_it_and_another_comes(
    spark: SparkGroup,
) -> None:
    (driver,), executors = spark.pods("driver"), spark.pods("executor")
    spark.group.kubectl.said("delete", "pod", driver, "--force", "--grace-period=0")
    spark.group.until(
        "its executors to go", lambda: not set(executors) & set(spark.pods("executor")), 60
    )
    spark.until_settled(2, 180)
    assert spark.pods("driver") != [driver]
    spark.assert_exact()


def test_an_executor_that_is_killed_or_deleted_comes_back_and_nothing_is_lost(
    spark: SparkGroup,
) -> None:
    first, second = spark.pods("executor")
    application = spark.spark()["applicationId"]
    killed_at = time.monotonic()
    spark.kill(first, "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend")
    spark.group.until("it to be missed", lambda: not spark.is_settled(2), 60)
    spark.until_settled(2, 120)
    spark.group.kubectl.said("delete", "pod", second, "--wait=false")
    spark.group.until("it to go", lambda: not spark.is_settled(2), 60)
    spark.until_settled(2, 120)
    assert spark.spark()["applicationId"] == application, "the driver lives on"
    # Twice the time after which Spark looks for executors whose pods it has marked as failed.
    spark.group.until("it to live on", lambda: time.monotonic() - killed_at > 70, 80)
    assert spark.restarts(first) == 1, "who was begun anew in its place is left alone"
    spark.assert_exact()


def test_a_quota_that_allows_no_more_executors_is_said_until_it_is_raised(
    spark: SparkGroup,
) -> None:
    kubectl, quota = spark.group.kubectl, "few"
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": quota},
            "spec": {"hard": {"pods": "0"}},
        }
    )
    try:
        spark.group.until(
            "the quota to hold",
            lambda: (kubectl.read("resourcequota", quota).get("status") or {}).get("hard"),
            30,
        )
        spark.group.scale(3)
        spark.group.until(
            "the quota to be named", lambda: spark.group.reason() == "QuotaExceeded", 90
        )
        said = spark.group.condition("Ready")["message"]
        assert f"exceeded quota: {quota}" in said
        assert "Raise the namespace's ResourceQuota" in said
        assert len(spark.pods("executor")) == 2, "they read on"
    finally:
        kubectl.said("delete", "resourcequota", quota)
    spark.until_settled(3, 180)
    spark.assert_exact()


def test_a_python_pod_joins_the_group_and_the_shares_follow(spark: SparkGroup) -> None:
    kubectl, name = spark.group.kubectl, "by-hand"
    kubectl.apply(python_member(name))
    try:
        spark.group.until(
            "a third of the partitions to be the pod's",
            lambda: sorted(spark.group.owners().values()).count(name) == 2,
            90,
        )
        spark.group.scale(1)
        spark.group.until(
            "a half", lambda: sorted(spark.group.owners().values()).count(name) == 3, 90
        )
    finally:
        kubectl.said("delete", "pod", name)
    spark.until_settled(1, 90)
    spark.assert_exact()


def test_a_new_pipeline_is_rolled_out_and_each_partition_moves_once(
    spark: SparkGroup, storage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (driver,) = spark.pods("driver")
    begun = time.monotonic()
    kubectl = spark.group.kubectl
    code = kubectl.read("configmap", PIPELINE)["data"]["counting.py"]
    with ledger_watch(storage, HUB) as ledger:
        until(lambda: len(ledger.owners()) == PARTITIONS, 20, "all owners to be seen")
        before, applied_at = ledger.owners(), time.time()
        kubectl.apply(config_map(PIPELINE, {"counting.py": f"{code}\n# another one\n"}))
        spark.group.until("another driver", lambda: driver not in spark.pods("driver"), 180)
        spark.until_settled(2, 120)
        changes = ledger.changes(applied_at)
    show(capsys, f"a new pipeline is rolled out after {time.monotonic() - begun:.0f} s")
    moves = "\n".join(f"{each.at - applied_at:.1f} s: {each}" for each in changes)
    assert sorted(each.partition for each in changes) == sorted(before), f"{before}\n{moves}"
    assert not [each for each in changes if each.owner.startswith(driver)]
    spark.assert_exact()


def test_none_are_wanted_and_the_driver_goes_and_comes_back(spark: SparkGroup) -> None:
    spark.group.patch(scaling={**SCALING, "min": 0}, replicas=0)
    spark.group.until("no pods", lambda: not spark.group.pods(), 120)
    assert spark.group.status()["state"] == "ScaledToZero"
    assert spark.spark()["phase"] == "stopped"
    spark.group.patch(scaling=SCALING, replicas=1)
    spark.until_settled(1, 120)
    spark.assert_exact()
