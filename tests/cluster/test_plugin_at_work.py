"""`kubectl consumergroup` on a real API server and Azurite: what it shows, writes, may not do."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from support.azurite import running_azurite
from support.cluster_groups import Document, control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.operated_place import Place
from tidegate.commands.wiring import new_ledger
from tidegate.model import Position
from tidegate.ports import CreateOwnership, WriteCheckpoint
from tidegate_operator.secrets import Sight
from tidegate_operator.spec import read_spec
from unit.operator.plugin_groups import group as shown

EVENTS = "Endpoint=sb://hub.example/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8="
NAME = "home"
FOLDER_OF_PLUGIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("plugin") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        yield api


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_azurite(tmp_path_factory.mktemp("azurite")) as connection_string:
        yield connection_string


@pytest.fixture
def place(api: Kubectl, storage: str) -> Iterator[Place]:
    """A namespace with a group of four partitions and two members, as an operator has told it."""
    with api.new_namespace("plugin") as inside:
        place = Place(inside, storage, EVENTS, f"c-{uuid4().hex[:12]}")
        place.put_secret()
        place.put_group()
        status = json.dumps({"status": shown()["status"]})
        inside.said("patch", "cg", NAME, "--subresource=status", "--type=merge", "-p", status)
        yield place


def asked(place: Place, *words: str, who: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What kubectl says, which finds the plugin on the PATH."""
    kubeconfig = who or place.inside.kubeconfig
    path = f"{FOLDER_OF_PLUGIN}{os.pathsep}{os.environ['PATH']}"
    command = [str(place.inside.program), "consumergroup", *words, "-n", place.inside.namespace]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PATH": path, "KUBECONFIG": str(kubeconfig)},
    )  # fmt: skip


def said(place: Place, *words: str) -> str:
    ran = asked(place, *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def spec(place: Place) -> Document:
    found: Document = place.inside.read("cg", NAME)["spec"]
    return found


def test_kubectl_finds_it_and_it_shows_what_the_operator_told(place: Place) -> None:
    lines = said(place, "partitions", NAME).splitlines()
    assert lines[0].startswith(f"{place.inside.namespace}/{NAME} · Balanced · 2/2 ready")
    assert [line.split()[:2] for line in lines[3:]] == [
        ["0", "home-a"], ["1", "home-b"], ["2", "home-a"], ["3", "home-b"],
    ]  # fmt: skip


def test_a_ledger_that_no_operator_has_told_of_is_read_with_the_persons_own_rights(
    place: Place,
) -> None:
    document = place.inside.read("cg", NAME)
    values = {("azure", "events"): place.events, ("azure", "storage"): place.storage}
    setup = Sight(values, {"azure": "1"}, "", ()).setup_of(NAME, read_spec(document))

    async def handled() -> None:
        ledger = new_ledger(setup)
        for partition in ("0", "1"):
            await ledger.perform(CreateOwnership(partition))
            await ledger.perform(WriteCheckpoint(partition, None, Position("5", 41), 1, "n"))
        await ledger.close()

    asyncio.run(handled())
    told = json.loads(said(place, "partitions", NAME, "--from-ledger", "-o", "json"))
    states = {each["partition"]: each for each in told["partitionStates"]}
    assert {partition: each["sequenceNumber"] for partition, each in states.items()} == {
        "0": 41, "1": 41,
    }  # fmt: skip


def test_pausing_and_pinning_change_the_spec_and_nothing_of_anybody_else(place: Place) -> None:
    before = spec(place)
    assert "paused" in said(place, "pause", NAME)
    assert spec(place) == {**before, "paused": True}
    said(place, "resume", NAME)
    said(place, "pause", NAME, "--partition", "3", "--partition", "1")
    assert spec(place)["pausedPartitions"] == ["1", "3"]
    said(place, "resume", NAME, "--partition", "3")
    assert spec(place)["pausedPartitions"] == ["1"]
    said(place, "resume", NAME, "--partition", "1")
    said(place, "move", NAME, "2", "--to", "home-b", "--limit-s", "0")
    assert spec(place)["pins"] == {"2": "home-b"}
    # Who applied the group applies it again: what the plugin wrote is not taken back.
    place.put_group()
    assert spec(place)["pins"] == {"2": "home-b"}
    said(place, "move", NAME, "2", "--unpin")
    after = spec(place)
    assert {key: value for key, value in after.items() if value not in ({}, [])} == before
    managers = {
        each["manager"]
        for each in place.inside.read("cg", NAME, "--show-managed-fields")["metadata"][
            "managedFields"
        ]
    }
    assert "kubectl-consumergroup" in managers


def test_what_is_not_there_is_answered_with_what_was_meant(place: Place) -> None:
    ran = asked(place, "partitions", "hme")
    assert ran.returncode == 1
    assert f"there is no group 'hme' in namespace '{place.inside.namespace}': did you mean" in (
        ran.stderr
    )
    ran = asked(place, "pause", NAME, "--partition", "7")
    assert ran.returncode == 78
    assert "has no partition '7'; it has 0-3" in ran.stderr
    assert spec(place).get("pausedPartitions") is None


def test_who_may_only_look_is_told_what_is_missing(place: Place, tmp_path: Path) -> None:
    inside = place.inside
    inside.said("create", "serviceaccount", "ann")
    inside.said(
        "create", "role", "look", "--verb=get,list", "--resource=consumergroups.tidegate.dev"
    )
    account = f"--serviceaccount={inside.namespace}:ann"
    inside.said("create", "rolebinding", "ann", "--role=look", account)
    config = json.loads(inside.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = {"token": inside.said("create", "token", "ann").strip()}
    of_ann = tmp_path / "kubeconfig"
    of_ann.write_text(json.dumps(config), encoding="utf-8")
    assert asked(place, "partitions", NAME, who=of_ann).returncode == 0
    ran = asked(place, "pause", NAME, who=of_ann)
    assert ran.returncode == 1
    assert "may not patch consumergroups.tidegate.dev" in ran.stderr
    ran = asked(place, "partitions", NAME, "--from-ledger", who=of_ann)
    assert "may not get secrets" in ran.stderr
