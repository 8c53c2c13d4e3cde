"""The operator as a process on a real API: what it makes, mends, says and lets go, and when.

A bare control plane will do: its controllers make pods, and nothing runs them. Storage is Azurite,
and the hub is ours, both on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from support.cluster_groups import control_plane_with_groups
from support.cluster_kubectl import Kubectl
from support.fault_proxy import fault_proxy
from support.operated_place import LATER, MADE, SOON, Place
from support.operator_process import (
    IMAGE,
    OperatorProcess,
    kubeconfig_through,
    operator_process,
    port_of,
)
from support.wait import wait_until
from tidegate_hub.testing import RunningHub, running_hub

# A key that looks like one.
ROTATED = "YS1rZXktdGhhdC13YXMtcm90YXRlZA=="


@pytest.fixture(scope="module")
def api(kube_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    folder = tmp_path_factory.mktemp("operator") / "state"
    with control_plane_with_groups(kube_programs, folder) as api:
        yield api


@pytest.fixture(scope="module")
def telemetry() -> Iterator[RunningHub]:
    with running_hub() as hub:
        hub.add_hub("telemetry", 4)
        yield hub


@pytest.fixture
def place(api: Kubectl, azurite: str, telemetry: RunningHub) -> Iterator[Place]:
    with api.new_namespace("operator") as inside:
        yield Place(inside, azurite, telemetry.connection_string, f"c-{uuid4().hex[:12]}")


@pytest.fixture
def operator(place: Place, tmp_path: Path) -> Iterator[OperatorProcess]:
    with operator_process(place.inside, tmp_path) as operator:
        yield operator.until_leading()


def test_a_group_that_is_applied_has_all_it_needs_within_seconds(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group(scaling={"min": 2, "max": 4})
    place.until("two pods", lambda: len(place.inside.read("pods")["items"]) == 2)
    items = place.inside.read(MADE, "-l", "tidegate.dev/group=home")["items"]
    assert {item["kind"] for item in items} == {
        "ServiceAccount", "ConfigMap", "Service", "Deployment", "PodDisruptionBudget",
    }  # fmt: skip
    place.until(
        "its status, with what the hub has told",
        lambda: ((place.there("cg") or {}).get("status") or {}).get("partitions"),
    )
    status = (place.there("cg") or {})["status"]
    assert status["observedGeneration"] == 1 and status["partitions"] == 4
    assert place.condition("Ready")["status"] == "False"
    row = place.inside.said("get", "consumergroups").splitlines()
    assert row[0].split()[:4] == ["NAME", "SOURCE", "ENGINE", "READY"]
    assert row[1].split()[:4] == ["home", "eventhubs", "python", "0/2"]
    assert operator.errors() == []


def test_scaling_by_hand_reaches_the_deployment(place: Place, operator: OperatorProcess) -> None:
    place.put_secret()
    place.put_group()
    place.until("its Deployment", lambda: place.replicas() == 1)
    place.inside.said("scale", "cg/home", "--replicas=3")
    place.until("three replicas", lambda: place.replicas() == 3)
    place.inside.said("scale", "cg/home", "--replicas=1")
    # Pods that never joined have nothing to hand over.
    place.until("one replica", lambda: place.replicas() == 1)


def test_what_somebody_changes_or_deletes_is_put_right(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group()
    place.until("its Deployment", lambda: place.replicas() == 1)
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"consumer","image":"other:1"}]}}}}'
    place.inside.said("patch", "deployment", "home", "--patch", patch)

    def image() -> str:
        found = place.there("deployment") or {}
        return str(found["spec"]["template"]["spec"]["containers"][0]["image"])

    place.until("the image to be ours again", lambda: image() == IMAGE)
    place.inside.said("delete", "deployment", "home")
    place.until("the Deployment to be back", lambda: place.there("deployment"))


def test_what_nobody_watches_is_put_right_within_a_minute(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group()
    place.until("its Deployment", lambda: place.replicas() == 1)
    place.inside.said("delete", "configmap", "home-group")
    place.inside.said("delete", "serviceaccount", "home")
    begun = time.monotonic()
    place.until("the ServiceAccount", lambda: place.there("serviceaccount"), LATER)
    place.until("the ConfigMap", lambda: place.there("configmap", "home-group"))
    print(f"what was deleted was back after {time.monotonic() - begun:.0f} s")
    assert operator.errors() == []


def test_a_missing_secret_is_said_and_the_group_goes_on_when_it_comes(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_group()
    place.until("the reason", lambda: place.condition("Ready").get("reason") == "SecretMissing")
    assert "azure" in place.condition("Ready")["message"]
    assert place.there("deployment") is None
    place.put_secret()
    place.until("its Deployment", lambda: place.replicas() == 1)


def test_a_rotated_secret_is_rolled_out_and_is_in_no_log(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group()
    place.until("its Deployment", lambda: place.replicas() == 1)

    def annotation() -> str:
        found = place.there("deployment") or {}
        notes = found["spec"]["template"]["metadata"]["annotations"]
        return str(notes["tidegate.dev/secrets"])

    before = annotation()
    old = place.events.partition("SharedAccessKey=")[2].partition(";")[0]
    place.put_secret(events=place.events.replace(old, ROTATED))
    place.until("another annotation", lambda: annotation() != before, LATER)
    key = place.storage.partition("AccountKey=")[2].partition(";")[0]
    for secret in (key, old, ROTATED):
        assert secret and secret not in operator.said


def test_bad_groups_say_why_and_harm_no_other(place: Place, operator: OperatorProcess) -> None:
    place.put_secret()
    wrong = place.storage.replace("AccountKey=", "AccountKey=AAAA")
    place.put_secret("wrong", storage=wrong)
    secret = {"connectionString": {"secret": "wrong", "key": "storage"}}
    place.put_group("denied", ledger=secret)
    place.put_group("missing", ledger={"container": "c-not-there", "create": False})
    place.put_group("impossible", template={"spec": {"containers": [{"name": "consumer",
                    "command": ["sh"]}]}})  # fmt: skip
    place.put_group("spark", engine="spark")
    place.put_group("home")
    wanted = {
        "denied": "LedgerDenied", "missing": "LedgerMissing", "impossible": "TemplateImpossible",
        "spark": "EngineNotThere",
    }  # fmt: skip

    def reasons() -> dict[str, str]:
        return {name: place.condition("Ready", name).get("reason", "") for name in wanted}

    wait_until(lambda: reasons() == wanted, SOON, "the reasons", reasons)
    place.until("the good one", lambda: place.replicas("home") == 1)
    before = operator.cpu_seconds
    rounds = operator.metric("tidegate_operator_reconcile_seconds_count")
    place.until(
        "ten rounds more",
        lambda: operator.metric("tidegate_operator_reconcile_seconds_count") > rounds + 10,
        LATER,
    )
    print(f"ten rounds of five groups: {operator.cpu_seconds - before:.2f} s of CPU")
    assert operator.metric("tidegate_operator_failures_total") == 0


def test_a_deleted_group_takes_along_what_was_made_and_leaves_its_ledger(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group()
    place.until("its roster", lambda: place.there("deployment") and place.blobs())
    place.inside.said("delete", "cg", "home", "--wait=true", "--timeout=15s")
    place.until(
        "all of it to be gone",
        lambda: not place.inside.read(MADE, "-l", "tidegate.dev/group=home")["items"],
        LATER,
    )
    assert place.blobs()


def test_a_ledger_that_is_to_go_with_its_group_goes(
    place: Place, operator: OperatorProcess
) -> None:
    place.put_secret()
    place.put_group(ledger={"onDelete": "Delete"})
    place.until("its roster", lambda: place.there("deployment") and place.blobs())
    place.until("the finalizer", lambda: (place.there("cg") or {})["metadata"].get("finalizers"))
    place.inside.said("delete", "cg", "home", "--wait=true", "--timeout=60s")
    assert place.blobs() == []
    events = place.inside.said("get", "events")
    assert "LedgerErased" in events


def test_of_two_operators_one_acts_and_the_other_takes_over(
    place: Place, operator: OperatorProcess, tmp_path: Path
) -> None:
    place.put_secret()
    with operator_process(place.inside, tmp_path, "two") as two:
        two.until_ready()
        place.put_group()
        place.until("its Deployment", lambda: place.replicas() == 1)
        assert operator.leads() and not two.leads()
        assert operator.stop() == 0
        two.until_leading(8.0)
        place.inside.said("scale", "cg/home", "--replicas=2")
        place.until("two replicas", lambda: place.replicas() == 2)
        with operator_process(place.inside, tmp_path, "three") as three:
            three.until_ready()
            two.kill()
            # The Lease of one that was killed ends by itself.
            three.until_leading(30.0)
            place.inside.said("scale", "cg/home", "--replicas=3")
            place.until("three replicas", lambda: place.replicas() == 3)


def test_an_operator_that_starts_anew_changes_nothing(
    place: Place, operator: OperatorProcess, tmp_path: Path
) -> None:
    place.put_secret()
    place.put_group()
    place.until("its Deployment", lambda: place.replicas() == 1)
    place.until(
        "its status, with what the hub has told",
        lambda: ((place.there("cg") or {}).get("status") or {}).get("partitions"),
    )
    operator.stop()
    before = {kind: (place.there(kind) or {})["metadata"]["generation"]
              for kind in ("deployment", "cg")}  # fmt: skip
    with operator_process(place.inside, tmp_path, "anew") as anew:
        anew.until_leading()
        name = "tidegate_operator_reconcile_seconds_count"
        place.until("three rounds", lambda: anew.metric(name) >= 3, LATER)
        after = {kind: (place.there(kind) or {})["metadata"]["generation"] for kind in before}
        assert after == before


@pytest.mark.slow
def test_a_watch_that_falls_silent_is_noticed_and_the_operator_goes_on_acting(
    place: Place, tmp_path: Path
) -> None:
    place.put_secret()
    with fault_proxy(port_of(place.inside.kubeconfig), is_http=False) as proxy:
        kubeconfig = kubeconfig_through(place.inside.kubeconfig, proxy.port, tmp_path)
        with operator_process(place.inside, tmp_path, "cut", kubeconfig) as operator:
            operator.until_leading()
            place.put_group()
            place.until("its Deployment", lambda: place.replicas() == 1)
            proxy.freeze()
            place.inside.said("scale", "cg/home", "--replicas=2")
            place.until("two replicas", lambda: place.replicas() == 2, 90.0)
            assert operator.process.poll() is None
            assert operator.asked("/healthz")[0] == 200
