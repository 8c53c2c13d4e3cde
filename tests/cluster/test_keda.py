"""KEDA's own operator sizes a group by the example in examples/keda, from zero to one and further.

KEDA comes from its Go module (github.com/kedacore/keda/v2): `go build ./cmd/operator` in its source
makes `keda-operator`. TIDEGATE_KEDA names that program, TIDEGATE_KEDA_CRDS `config/crd/bases`.
Without a metrics server of KEDA the HorizontalPodAutoscaler that KEDA makes gets no metric: here
KEDA itself writes the size between 0 and 1, and its HorizontalPodAutoscaler reads `/scale`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from azure.eventhub import EventData, EventHubProducerClient

from support.certificates import make_certificates
from support.cluster_groups import control_plane_with_groups
from support.operated_place import LATER, Place
from support.operator_process import OperatorProcess, operator_process
from support.tree import ROOT
from tidegate_hub.testing import RunningHub, running_hub
from tidegate_operator.local.ports import free_port

EXAMPLE = ROOT / "examples" / "keda" / "home-activity.yaml"
NAME = "home-activity"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def keda() -> tuple[Path, Path]:
    """KEDA's operator, and the folder of its kinds."""
    program, kinds = os.environ.get("TIDEGATE_KEDA"), os.environ.get("TIDEGATE_KEDA_CRDS")
    if not program or not kinds:
        pytest.skip("TIDEGATE_KEDA and TIDEGATE_KEDA_CRDS are not set: see the module")
    return Path(program), Path(kinds)


@pytest.fixture
def hub() -> Iterator[RunningHub]:
    with running_hub() as hub:
        hub.add_hub("telemetry", 4)
        yield hub


@contextlib.contextmanager
def keda_running(program: Path, place: Place, folder: Path) -> Iterator[Path]:
    """KEDA's operator for the namespace; gives its log."""
    folder.mkdir()
    made = make_certificates(folder)
    for source, name in (
        (made.authority, "ca.crt"), (made.certificate, "tls.crt"), (made.private_key, "tls.key"),
    ):  # fmt: skip
        (folder / name).write_bytes(source.read_bytes())
    log = folder / "keda.log"
    options = {
        "metrics-bind-address": f"127.0.0.1:{free_port()}",
        "health-probe-bind-address": f"127.0.0.1:{free_port()}",
        "metrics-service-bind-address": f"127.0.0.1:{free_port()}",
        "cert-dir": str(folder),
        "enable-webhook-patching": "false",
        "enable-apiservice-patching": "false",
    }
    here = place.inside.namespace
    environment = {
        **os.environ, "KUBECONFIG": str(place.inside.kubeconfig), "WATCH_NAMESPACE": here,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": here, "POD_NAMESPACE": here,
    }  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program), *(f"--{name}={value}" for name, value in options.items())],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment,
        )  # fmt: skip
    try:
        yield log
    finally:
        process.kill()
        process.wait()
        print(f"KEDA's last words:\n{log.read_text(errors='replace')[-4000:]}")


def example(place: Place, operator: OperatorProcess) -> tuple[dict[str, Any], dict[str, Any]]:
    """The example as it is, but for its namespace, its ledger and the operator's address."""
    group, scaled = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    here = place.inside.namespace
    for each in (group, scaled):
        each["metadata"]["namespace"] = here
    group["spec"]["ledger"] |= {"container": place.container, "create": True}
    (trigger,) = scaled["spec"]["triggers"]
    path = trigger["metadata"]["url"].rpartition("/groups/")[2].partition("/")[2]
    trigger["metadata"]["url"] = f"http://127.0.0.1:{operator.port}/groups/{here}/{path}"
    # Two minutes shorter than KEDA's own.
    scaled["spec"]["cooldownPeriod"] = 180
    return group, scaled


def conditions(place: Place, kind: str, name: str) -> dict[str, str]:
    status = (place.there(kind, name) or {}).get("status") or {}
    return {each["type"]: each["status"] for each in status.get("conditions", ())}


def test_the_example_as_it_stands_is_sized_by_keda(
    keda: tuple[Path, Path], kube_programs: Path, azurite: str, hub: RunningHub, tmp_path: Path
) -> None:
    program, kinds = keda
    with contextlib.ExitStack() as stack:
        api = stack.enter_context(control_plane_with_groups(kube_programs, tmp_path / "state"))
        api.said("apply", "--server-side", "-f", str(kinds))
        inside = stack.enter_context(api.new_namespace("homes"))
        place = Place(inside, azurite, hub.connection_string, f"c-{uuid4().hex[:12]}")
        place.put_secret()
        operator = stack.enter_context(operator_process(inside, tmp_path / "operator"))
        operator.until_leading()
        group, scaled = example(place, operator)
        inside.apply(group, scaled)
        stack.enter_context(keda_running(program, place, tmp_path / "keda"))
        place.until(
            "KEDA to take the ScaledObject",
            lambda: conditions(place, "scaledobject", NAME).get("Ready") == "True",
            LATER,
        )
        autoscaler = f"keda-hpa-{NAME}"
        place.until("its autoscaler", lambda: place.there("hpa", autoscaler), LATER)
        # The first pod is KEDA's to make: the operator's advice is 1 as soon as an event waits.
        with EventHubProducerClient.from_connection_string(
            hub.connection_string, eventhub_name="telemetry"
        ) as producer:
            producer.send_batch([EventData("x") for _ in range(10)])
        place.until("a pod", lambda: place.replicas(NAME) == 1, 2 * LATER)
        assert inside.read("cg", NAME)["spec"]["replicas"] == 1
        place.until(
            "the autoscaler to read the size",
            lambda: conditions(place, "hpa", autoscaler).get("AbleToScale") == "True",
            2 * LATER,
        )
