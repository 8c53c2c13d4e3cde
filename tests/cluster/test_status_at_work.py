"""What the operator tells of a group, at a real API server: kept whole, waited for and shown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cluster_groups import control_plane_with_groups, example
from support.cluster_kubectl import Kubectl
from tidegate.model import Figures
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.kube import Kube, connect
from tidegate_operator.model import Steps
from tidegate_operator.pod_troubles import JOINS_WITHIN_S
from unit.operator.looked_at import Looks, fails, figures, stored, waits, with_pod
from unit.operator.observed import NOW, Seen, group, starting

NAME = "home"


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A control plane with one group."""
    folder = tmp_path_factory.mktemp("control-plane") / "state"
    with control_plane_with_groups(kube_programs, folder) as kubectl:
        document = example("consumergroup.yaml")
        document["metadata"] = {"name": NAME, "namespace": kubectl.namespace}
        kubectl.apply(document)
        yield kubectl


@pytest.fixture
async def kube(api: Kubectl) -> AsyncIterator[Kube]:
    client = connect(kubeconfig=str(api.kubeconfig))
    yield client
    await client.close()


async def told(api: Kubectl, kube: Kube, status: Any) -> Any:
    """Writes a status as the operator does; what the API server then says."""
    uid = api.read("cg", NAME)["metadata"]["uid"]
    await kube.patch_status(CONSUMER_GROUP, api.namespace, NAME, status, uid=uid)
    return api.read("cg", NAME)["status"]


def reading(members: int = 4, partitions: int = 16) -> Seen:
    """A group that reads, a second behind."""
    seen = group(members, partitions)
    for partition, owner in seen.owners.items():
        stored(seen, partition, 2**40, enqueued_at=NOW - 30)
        said = Figures(end=2**40 + 9, handled=2**40 + 2, behind_s=1.5)
        figures(seen, owner, partition, said)
    return seen


def leaving() -> Looks:
    return Looks(reading()).look(steps=Steps(wanted=3, leaving=frozenset({"m3"})))


def failing() -> Looks:
    return Looks(with_pod(fails("m1", 1, "boom: " + "x" * 2000))).look()


def without_image() -> Looks:
    why = "ErrImagePull"
    return Looks(with_pod(waits("m1", why, 'failed to pull "x": not found'))).look()


def joining() -> Looks:
    return Looks(with_pod(starting("m1"))).look(JOINS_WITHIN_S + 1)


SITUATIONS: dict[str, Callable[[], Looks]] = {
    "it reads": lambda: Looks(reading()).look(),
    "one leaves": leaving,
    "partitions without end": lambda: Looks(reading(8, 300)).look(),
    "a consumer ends again and again": failing,
    "an image that is not there": without_image,
    "a pod that does not come": joining,
    "a ledger that cannot be read": lambda: (
        Looks(group(2, 4, has_ledger=False)).fail("LedgerDenied").look()
    ),
    "nothing is known yet": lambda: Looks(group(0, 0, has_ledger=False)).look(),
}


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_whatever_is_told_of_a_group_is_kept_whole(
    api: Kubectl, kube: Kube, situation: str
) -> None:
    status = dict(SITUATIONS[situation]().told)
    assert await told(api, kube, status) == status


async def test_a_group_that_reads_is_waited_for_and_shown_in_its_columns(
    api: Kubectl, kube: Kube
) -> None:
    await told(api, kube, SITUATIONS["a pod that does not come"]().told)
    refused = api.refusal("wait", "--for=condition=Ready", f"cg/{NAME}", "--timeout=1s")
    assert "timed out" in refused
    await told(api, kube, SITUATIONS["it reads"]().told)
    api.said("wait", "--for=condition=Ready", f"cg/{NAME}", "--timeout=5s")
    head, row = api.said("get", "consumergroups").splitlines()
    *names, last = head.split()
    assert last == "DELETED", "of a group that stays there is nothing below it"
    shown = dict(zip(names, row.split(), strict=True))
    assert shown.pop("AGE")
    assert shown == {
        "NAME": NAME, "SOURCE": "eventhubs", "ENGINE": "python", "READY": "4/4", "WANTED": "4",
        "PARTITIONS": "16", "OWNED": "16", "LAG": "112", "BEHIND": "2s", "STATUS": "Balanced",
    }  # fmt: skip
    wide = api.said("get", "cg", "--output", "wide")
    assert "Everybody owns what is due, and nothing moves." in wide


async def test_what_is_not_known_is_shown_as_nothing(api: Kubectl, kube: Kube) -> None:
    await told(api, kube, SITUATIONS["nothing is known yet"]().told)
    jsonpath = "{.status.lag}{.status.owned}{.status.behind}"
    assert api.said("get", "cg", NAME, "--output", f"jsonpath={jsonpath}") == ""
