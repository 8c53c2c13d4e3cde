"""An executor of the image on Kubernetes: what Spark asks for is what our entry starts.

A bare control plane answers Spark's scheduler, and this test is the kubelet: it starts what the pod
says, with the jars that the image keeps.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from programs import kube_folder
from store import the_store
from support.cluster_control_plane import bare_control_plane
from support.cluster_kubectl import Kubectl
from support.wait import wait_until
from tidegate.spark.decommission import decommission

DRIVER = Path(__file__).with_name("kubernetes_driver.py")
STEP_SECONDS = 120.0
POD_OF_DRIVER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "driver"},
    "spec": {"containers": [{"name": "driver", "image": "nobody.example/spark"}]},
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4 * STEP_SECONDS)]


@pytest.fixture
def kubectl(tmp_path: Path) -> Iterator[Kubectl]:
    folder = Path(os.environ.get("TIDEGATE_KUBE") or kube_folder(the_store()))
    if not folder.exists():
        pytest.skip("Kubernetes was not compiled: run `python3 cluster/manage.py programs` once")
    with bare_control_plane(folder, tmp_path / "control-plane") as kubectl:
        kubectl.apply(POD_OF_DRIVER)
        yield kubectl


@contextlib.contextmanager
def running(
    log: Path, *words: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended with the test; what it says goes to a file."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *words], env=environment, stdin=subprocess.PIPE, stdout=output,
            stderr=subprocess.STDOUT, text=True, cwd=log.parent,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def environment_of(container: dict[str, Any], pod: str) -> dict[str, str]:
    """What a kubelet would set for it, on the address of this machine."""
    of_pod = {"metadata.name": pod, "status.podIP": "127.0.0.1"}
    found = {}
    for variable in container["env"]:
        source = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        found[variable["name"]] = of_pod[source] if source else variable.get("value", "")
    return found


def test_an_executor_starts_as_spark_asks_works_and_leaves_when_its_pod_is_to_end(
    kubectl: Kubectl, pruned_environment: Mapping[str, str], tmp_path: Path
) -> None:
    environment = {**pruned_environment, "KUBECONFIG": str(kubectl.kubeconfig)}
    config = json.loads(kubectl.kubeconfig.read_text(encoding="utf-8"))
    master = config["clusters"][0]["cluster"]["server"]
    log = tmp_path / "driver.log"

    def listed(kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = kubectl.read(kind, "-l", "spark-role=executor")["items"]
        return found

    with running(log, str(DRIVER), master, str(tmp_path), environment=environment) as driver:
        wait_until(
            lambda: listed("pods") or driver.poll() is not None,
            STEP_SECONDS,
            "the pod of an executor",
            log.read_text,
        )
        assert driver.poll() is None, log.read_text()[-3000:]
        (pod,) = listed("pods")
        (container,) = pod["spec"]["containers"]
        assert container["args"] == ["executor"]
        assert container["lifecycle"]["preStop"]["exec"]["command"] == ["/opt/decom.sh"]
        said = environment_of(container, pod["metadata"]["name"])
        # As the engine's settings have it: Spark makes a secret, and tells it in no other way.
        secret = said["_SPARK_AUTH_SECRET"]
        assert len(secret) >= 32
        others = [text for name, text in said.items() if name != "_SPARK_AUTH_SECRET"]
        assert not [text for text in (*others, log.read_text()) if secret in text]
        said["SPARK_CONF_DIR"] = str(tmp_path)
        said["SPARK_LOCAL_DIRS"] = str(tmp_path)
        entry = ("-I", "-m", "tidegate.spark.entry", *container["args"])
        log_of_executor = tmp_path / "executor.log"
        with running(
            log_of_executor, *entry, environment={**pruned_environment, **said}
        ) as executor:
            wait_until(
                lambda: '{"sum": 9900}' in log.read_text() or executor.poll() is not None,
                STEP_SECONDS,
                "the sum that Python on the executor makes",
                lambda: log.read_text()[-3000:] + log_of_executor.read_text()[-3000:],
            )
            assert executor.poll() is None, log_of_executor.read_text()[-3000:]
            processes = tmp_path / "processes"
            processes.mkdir()
            (processes / str(executor.pid)).symlink_to(Path("/proc") / str(executor.pid))
            told: list[str] = []
            assert decommission(processes, STEP_SECONDS, told.append), told
            assert executor.wait(STEP_SECONDS) == 0, log_of_executor.read_text()[-3000:]
