"""From the version before to this one and back, with events flowing: `make test-upgrade`.

Rules: the version before is a whole one, its chart, its kind and its image, as cluster/previous.py
takes them from git. The tests are one story in order, of one group whose every event is counted;
hub and storage keep everything in memory and are this version's all the time. At the end the kind
of this version is on the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster_api import until
from support.cluster_counting import PARTITIONS, PODS, Counted, Seen, counted_group
from support.cluster_kubectl import Kubectl
from support.cluster_manifests import TIDEGATE
from support.cluster_previous import PREVIOUS, images_of, previous_release, until_led
from support.cluster_release import NAME, Release, apply_kind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_SETTLED_SECONDS = 120


@pytest.fixture(scope="module")
def release(
    cluster: Kubectl, helm_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The version before, installed by its own chart."""
    with previous_release(helm_program, tmp_path_factory.mktemp("helm"), cluster) as release:
        yield release


@pytest.fixture(scope="module")
def storage(release: Release) -> Iterator[str]:
    with release.storage() as address:
        yield address


@pytest.fixture(scope="module")
def counted(
    release: Release, storage: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Counted]:
    with counted_group(release, tmp_path_factory.mktemp("counted"), storage) as counted:
        yield counted


def until_on(counted: Counted, wanted: str) -> None:
    """Until the group is settled, and each of its pods runs the image."""

    def is_on() -> bool:
        return images_of(counted.group) == {wanted} and counted.group.is_settled(PODS)

    counted.group.until(f"{PODS} pods of {wanted}", is_on, _SETTLED_SECONDS)


def assert_each_moved_once_at_most(seen: Seen) -> None:
    moved = [change.partition for change in seen.moves]
    assert len(moved) == len(set(moved)), sorted(moved)
    assert seen.duplicates == 0


def test_an_operator_of_this_version_runs_consumers_of_the_one_before(
    cluster: Kubectl, release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    until_on(counted, PREVIOUS)
    wished = counted.group.there()["spec"]
    with counted.measured() as seen:
        apply_kind(cluster)
        release.change("upgrade", consumer={"image": PREVIOUS})
        until_led(release, TIDEGATE)
        until_on(counted, PREVIOUS)
    with capsys.disabled():
        print(seen.told("kind and operator of this version, consumers of the one before"))
    assert_each_moved_once_at_most(seen)
    assert wished.items() <= counted.group.there()["spec"].items()


def test_consumers_of_this_version_take_over_from_those_of_the_one_before(
    release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    with counted.measured() as seen:
        release.change("upgrade")
        until_on(counted, TIDEGATE)
    with capsys.disabled():
        print(seen.told("consumers of this version"))
    assert_each_moved_once_at_most(seen)
    assert len(seen.moves) == PARTITIONS


def test_a_rollback_gives_everything_back_to_the_version_before(
    release: Release, counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kind stays: it holds what groups of this version may have said."""
    with counted.measured() as seen:
        ran = release.helm.tried("rollback", NAME, "1", "--namespace", release.namespace)
        assert ran.returncode == 0, ran.stderr
        until_led(release, PREVIOUS)
        until_on(counted, PREVIOUS)
    with capsys.disabled():
        print(seen.told("back to the version before"))
    assert_each_moved_once_at_most(seen)
    assert len(seen.moves) == PARTITIONS


def test_everything_sent_through_all_of_it_was_handled_once(
    counted: Counted, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = counted.stop_sending()

    def is_handled() -> bool:
        counted.read_on()
        return counted.log.is_handled(PARTITIONS, sent)

    until(is_handled, 60, f"{sent} events of each partition", counted.log.standing)
    with capsys.disabled():
        print(f"\n{sent * PARTITIONS} events sent, {counted.log.duplicates} handled twice")
    counted.assert_exact()
    assert counted.log.duplicates == 0
