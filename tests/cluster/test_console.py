"""The console on a real API server: tokens of accounts, and what their roles let them list.

The console runs with the rights that the chart gives it, and with no others.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
import yaml

from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.helm_chart import NAMESPACE, Helm, of_kind
from support.wait import wait_until
from tidegate.ops.serving import Address
from tidegate_operator.kinds import Document
from tidegate_operator.kube import Kube, connect
from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import ByKubernetes
from tidegate_operator.page.serving import RunningConsole, serve_console
from unit.operator.plugin_groups import group

RIGHTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
SEEN, UNSEEN = GroupKey("alpha", "seen"), GroupKey("beta", "unseen")


class TwoGroups:
    """One in each of two namespaces."""

    def documents(self) -> Iterator[tuple[GroupKey, Document]]:
        for key in (SEEN, UNSEEN):
            document = group()
            document["metadata"] |= {"namespace": key.namespace, "name": key.name}
            yield key, document


@pytest.fixture(scope="module")
def api(
    kube_programs: Path, helm_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    """A control plane with the rights of a release, and three people with accounts."""
    folder = tmp_path_factory.mktemp("kube") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        for namespace in (NAMESPACE, "alpha", "beta"):
            api.said("create", "namespace", namespace)
        helm = Helm(helm_program, tmp_path_factory.mktemp("helm"))
        rights = of_kind(helm.rendered(console={"enabled": True}), *RIGHTS)
        stream = "---\n".join(json.dumps(each) + "\n" for each in rights)
        inside = replace(api, namespace=NAMESPACE)
        inside.said("apply", "--server-side", "-f", "-", stdin=stream)
        for name in ("nobody", "one", "every"):
            api.said("-n", "alpha", "create", "serviceaccount", name)
        view, account = "--clusterrole=view", "--serviceaccount=alpha:"
        api.said("-n", "alpha", "create", "rolebinding", "one", view, f"{account}one")
        api.said("create", "clusterrolebinding", "every", view, f"{account}every")
        who = "--as=system:serviceaccount:alpha:every"
        asked = ("auth", "can-i", "list", "consumergroups.tidegate.dev", who)
        # What `view` allows is put together by a controller.
        wait_until(lambda: api.tried(*asked).stdout.strip() == "yes", 60, "the role `view`")
        yield api


def token_of(api: Kubectl, name: str, namespace: str = "alpha") -> str:
    return api.said("-n", namespace, "create", "token", name).strip()


@pytest.fixture
async def kube(api: Kubectl, tmp_path: Path) -> AsyncIterator[Kube]:
    """The API as the operator of the release may ask it."""
    settings = yaml.safe_load(api.kubeconfig.read_text(encoding="utf-8"))
    settings["users"][0]["user"] = {"token": token_of(api, "tidegate-operator", NAMESPACE)}
    file = tmp_path / "operator.kubeconfig"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    client = connect(kubeconfig=str(file))
    yield client
    await client.close()


@pytest.fixture
async def console(kube: Kube) -> AsyncIterator[RunningConsole]:
    served = await serve_console(
        Address("127.0.0.1", 0),
        TwoGroups(),
        ByKubernetes(kube),
        lambda: 1_800_000_000.0,
        lambda: True,
    )
    yield served
    await served.close()


async def seen_by(console: RunningConsole, token: str) -> tuple[int, list[str]]:
    """What the groups' page begins with for whoever has this token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{console.url}/live") as answer,
    ):
        if answer.status != 200:
            return answer.status, []
        async for line in answer.content:
            name, _, value = line.decode().partition(": ")
            if name == "data":
                return 200, [each["name"] for each in json.loads(value)]
    raise AssertionError("the stream ended")


@pytest.mark.parametrize(
    ("who", "groups"), [("nobody", []), ("one", ["seen"]), ("every", ["seen", "unseen"])]
)
async def test_who_may_list_groups_sees_them(
    api: Kubectl, console: RunningConsole, who: str, groups: list[str]
) -> None:
    assert await seen_by(console, token_of(api, who)) == (200, groups)


async def test_what_is_no_token_of_the_cluster_lets_nobody_in(
    api: Kubectl, console: RunningConsole
) -> None:
    token = token_of(api, "every")
    for wrong in ("x", token[:-4] + "AAAA", token + "A"):
        assert await seen_by(console, wrong) == (401, [])
    for_another = api.said("-n", "alpha", "create", "token", "every", "--audience=elsewhere")
    assert await seen_by(console, for_another.strip()) == (401, [])
