"""Groups that no operator looks at: what says so, on a real API, by the operator's real process.

A bare control plane will do: nothing of this needs a pod that runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.operated_place import LATER, Place
from support.operator_process import OperatorProcess, operator_process
from support.wait import wait_until
from tidegate_hub.testing import RunningHub, running_hub
from tidegate_operator.freshness import BEAT_S, FINALIZER
from tidegate_operator.plugin.cli import carried_out


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("absent") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        yield api


@pytest.fixture(scope="module")
def telemetry() -> Iterator[RunningHub]:
    with running_hub() as hub:
        hub.add_hub("telemetry", 4)
        yield hub


@pytest.fixture
def place(api: Kubectl, azurite: str, telemetry: RunningHub) -> Iterator[Place]:
    """A group in a namespace."""
    with api.new_namespace("absent") as inside:
        place = Place(inside, azurite, telemetry.connection_string, f"c-{uuid4().hex[:12]}")
        place.put_secret()
        yield place


@pytest.fixture
def operator(place: Place, tmp_path: Path) -> Iterator[OperatorProcess]:
    with operator_process(place.inside, tmp_path) as operator:
        yield operator.until_leading()


class Plugin:
    """`kubectl consumergroup`, of one namespace."""

    def __init__(self, inside: Kubectl, capsys: pytest.CaptureFixture[str]) -> None:
        self._place = ["--kubeconfig", str(inside.kubeconfig), "-n", inside.namespace]
        self._capsys = capsys

    def said(self, *words: str) -> tuple[int, str]:
        """Its exit code, and what it prints."""
        self._capsys.readouterr()
        code = carried_out([*words, *self._place])
        return code, self._capsys.readouterr().out


def test_a_group_in_a_namespace_that_no_operator_watches_is_told_those_that_are(
    api: Kubectl, place: Place, operator: OperatorProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    with api.new_namespace("elsewhere") as elsewhere:
        other = Place(elsewhere, place.storage, place.events, place.container)
        other.put_secret()
        other.put_group("lonely")
        plugin = Plugin(elsewhere, capsys)
        for words in (("doctor",), ("doctor", "lonely")):
            code, said = plugin.said(*words)
            assert code == 1
            assert f"none watches namespace '{elsewhere.namespace}'" in said
            assert re.search(rf"{operator.name}\S* watches {place.inside.namespace}\.", said), said
        assert f"watches {place.inside.namespace}" in plugin.said("partitions", "lonely")[1]
        operator.kill()
        wait_until(
            lambda: "none runs in this cluster" in plugin.said("doctor", "lonely")[1], 90,
            "the Lease to run out",
        )  # fmt: skip


def test_a_status_says_how_old_it_is_and_is_written_again_while_it_says_the_same(
    place: Place, operator: OperatorProcess
) -> None:
    # Paused, it has no pods, of which there would be something new to write.
    place.put_group(paused=True)
    place.until("a status", lambda: observed(place))
    seen = [status(place)]

    def is_renewed() -> bool:
        """Whether nothing but its time has changed since the look before."""
        before, now = seen[-1], status(place)
        seen.append(now)
        is_newer = now["observedTime"] != before["observedTime"]
        return is_newer and now | {"observedTime": ""} == before | {"observedTime": ""}

    place.until("a newer time of the same status", is_renewed, BEAT_S + LATER)
    head, row = place.inside.said("get", "cg", "home", "--output", "wide").splitlines()
    assert re.match(r"\d+s ", row[head.index("OBSERVED") :]), (head, row)
    assert operator.errors() == []


def status(place: Place) -> dict[str, Any]:
    return dict((place.there("cg") or {}).get("status") or {})


def observed(place: Place) -> str:
    return str(status(place).get("observedTime", ""))


def test_a_group_that_is_deleted_says_so_although_no_operator_runs(
    place: Place, operator: OperatorProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    place.put_group(ledger={"onDelete": "Delete"})
    place.until("the finalizer", lambda: (place.there("cg") or {})["metadata"].get("finalizers"))
    place.until("a status", lambda: observed(place))
    operator.kill()
    place.inside.said("delete", "cg", "home", "--wait=false")
    head, row = place.inside.said("get", "cg", "home").splitlines()
    assert re.match(r"\d+s", row[head.index("DELETED") :]), (head, row)
    plugin = Plugin(place.inside, capsys)
    assert "home · Deleting ·" in plugin.said("partitions", "home")[1]
    wait_until(
        lambda: f"its finalizer {FINALIZER} keeps it" in plugin.said("doctor", "home")[1], 90,
        "what it waits for",
    )  # fmt: skip
    place.inside.said(
        "patch", "cg", "home", "--type=merge",
        "--patch", json.dumps({"metadata": {"finalizers": None}}),
    )  # fmt: skip
