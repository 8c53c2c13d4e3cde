"""Upgrading and removing the chart while groups read: nobody who reads notices either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.cluster_api import until
from support.cluster_counting import PODS, Counted
from support.cluster_group import a_group
from support.cluster_kubectl import Kubectl
from support.cluster_release import KIND, OPERATOR, SECRET, Release, a_release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def lives(counted: Counted) -> dict[str, int]:
    """The group's pods, and how often their containers were started again."""
    return {
        pod["metadata"]["uid"]: pod["status"]["containerStatuses"][0]["restartCount"]
        for pod in counted.group.pods()
    }


def test_the_charts_own_test_passes(release: Release) -> None:
    ran = release.helm.tried("test", "tidegate", "--namespace", release.namespace)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_upgrade_moves_nothing(
    release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    counted.group.until_settled(PODS, 60)
    before, operators = lives(counted), release.operators()
    with counted.measured() as seen:
        release.change("upgrade", log={"level": "DEBUG"})
        release.until_ready()
        until(lambda: not set(operators) & set(release.operators()), 40, "another operator")
        until(lambda: release.leader().startswith(release.operators()[0]), 40, "it to lead")
        counted.group.until_settled(PODS, 60)
    with capsys.disabled():
        print(seen.told("helm upgrade"))
    assert lives(counted) == before and not seen.changes and seen.duplicates == 0
    # The new operator acts.
    counted.group.scale(PODS + 1)
    counted.group.until_settled(PODS + 1, 60)
    counted.group.scale(PODS)
    counted.group.until_settled(PODS, 60)


@pytest.fixture
def second(release: Release, cluster: Kubectl) -> Iterator[Release]:
    """Another release, whose groups use the first one's hub and storage."""
    with a_release(release.helm, cluster, embedded=False) as second:
        second.inside.said(
            "create", "secret", "generic", SECRET,
            *(f"--from-literal={key}={release.secret(key)}" for key in ("events", "storage")),
        )  # fmt: skip
        yield second


def test_after_an_uninstall_groups_read_on_and_a_new_release_takes_them_up(
    release: Release, second: Release
) -> None:
    with a_group(second, "removed", hub="removed", replicas=2) as group:
        group.until_settled(2, 60)
        pods = group.pod_names()
        second.uninstall()
        until(lambda: not second.operators(), 60, "the operator to go")
        until(lambda: second.api.get("leases", OPERATOR) is None, 30, "its Lease to go with it")
        assert second.inside.tried("get", "crd", KIND).returncode == 0
        release.send("removed", 100)

        def handled() -> int:
            lines = [line for pod in pods for line in second.inside.log(pod).splitlines()]
            return sum(int(line.split()[2]) for line in lines if line.startswith("partition "))

        until(lambda: handled() == 100, 30, "all to be handled without an operator")
        second.change("install", embedded=False)
        second.until_ready()
        group.patch(replicas=3)
        group.until_settled(3, 60)
        assert set(pods) <= set(group.pod_names())
