"""A group on Spark from the version before to this one and back: `make test-upgrade`.

Rules: as test_upgrade.py. The tests are one story in order, of one group under a steady load; what
it has counted stands in the state of its checkpoints, which both versions read and write.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_kubectl import Kubectl
from support.cluster_manifests import SPARK, TIDEGATE
from support.cluster_previous import (
    PREVIOUS,
    PREVIOUS_SPARK,
    images_of,
    previous_release,
    until_led,
)
from support.cluster_release import NAME, Release, apply_kind
from support.cluster_spark import SparkGroup, spark_group

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

EXECUTORS = 2
_RATE = 20.0
_SETTLED_SECONDS = 180


@pytest.fixture(scope="module")
def release(
    cluster: Kubectl, helm_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The version before."""
    with previous_release(helm_program, tmp_path_factory.mktemp("helm"), cluster) as release:
        yield release


@pytest.fixture(scope="module")
def storage(release: Release) -> Iterator[str]:
    with release.storage() as address:
        yield address


@pytest.fixture(scope="module")
def spark(release: Release, storage: str) -> Iterator[SparkGroup]:
    with spark_group(release, storage) as spark:
        spark.group.patch(replicas=EXECUTORS)
        spark.until_settled(EXECUTORS, _SETTLED_SECONDS)
        spark.send(_RATE)
        yield spark


def until_on(spark: SparkGroup, wanted: str) -> None:
    """Until all of it is of one image, and settled."""
    spark.group.until(
        f"a driver and executors of {wanted}",
        lambda: images_of(spark.group) == {wanted} and spark.is_settled(EXECUTORS),
        2 * _SETTLED_SECONDS,
    )


def test_a_driver_of_this_version_takes_over_from_one_of_the_version_before(
    cluster: Kubectl, release: Release, spark: SparkGroup
) -> None:
    until_on(spark, PREVIOUS_SPARK)
    apply_kind(cluster)
    release.change("upgrade")
    until_led(release, TIDEGATE)
    until_on(spark, SPARK)
    spark.assert_exact()


def test_a_rollback_gives_the_group_back_with_every_event_counted_once(
    release: Release, spark: SparkGroup
) -> None:
    spark.send(_RATE)
    ran = release.helm.tried("rollback", NAME, "1", "--namespace", release.namespace)
    assert ran.returncode == 0, ran.stderr
    until_led(release, PREVIOUS)
    until_on(spark, PREVIOUS_SPARK)
    spark.assert_exact()
