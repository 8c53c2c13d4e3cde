"""The operator as a process of its own, started as people start it, on any control plane.

Rules: it is ready when it says so itself; all that it said is kept and shown where a test fails; it
never outlives its test.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from support.cluster_kubectl import Kubectl
from support.tree import ROOT
from support.wait import wait_until
from tidegate_operator.local.ports import free_port

READY_SECONDS = 120.0
STOP_SECONDS = 20.0
IMAGE = "none.example/tidegate:1"
LEASE = "tidegate-operator"


class OperatorProcess:
    """One run of `python -m tidegate_operator run`, for one namespace."""

    def __init__(
        self,
        inside: Kubectl,
        folder: Path,
        name: str,
        kubeconfig: Path,
        within: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        """`within` are the first words of a command that runs it, `options` its last ones."""
        folder.mkdir(exist_ok=True, parents=True)
        self.name = name
        self.port = free_port()
        self._log = folder / f"{name}.log"
        arguments = [
            "--namespace", inside.namespace, "--leader-namespace", inside.namespace,
            "--image", IMAGE, "--listen", f"127.0.0.1:{self.port}", "--log-format", "json",
        ]  # fmt: skip
        sources = os.pathsep.join(str(ROOT / each) for each in ("consumer", "operator"))
        environment = {**os.environ, "PYTHONPATH": sources, "KUBECONFIG": str(kubeconfig)}
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*within, sys.executable, "-m", "tidegate_operator", "run", *arguments, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env={**environment, "POD_NAME": name},
            )  # fmt: skip

    @property
    def said(self) -> str:
        """Its log so far."""
        return self._log.read_text(errors="replace")

    def asked(self, path: str) -> tuple[int, str]:
        """What one of its endpoints answers; 0 where nobody does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:  # not listening yet, or not any more
            return 0, ""
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.asked("/metrics")[1], re.MULTILINE)
        assert found is not None, f"there is no metric {name}"
        return float(found[1])

    def until_ready(self) -> OperatorProcess:
        def is_ready() -> bool:
            assert self.process.poll() is None, f"the operator ended: {self.said}"
            return self.asked("/readyz")[0] == 200

        wait_until(is_ready, READY_SECONDS, "the operator to be ready", lambda: self.said[-3000:])
        return self

    def leads(self) -> bool:
        status, said = self.asked("/readyz")
        return status == 200 and "; leads" in said

    def until_leading(self, seconds: float = READY_SECONDS) -> OperatorProcess:
        wait_until(self.leads, seconds, f"{self.name} to lead", lambda: self.said[-3000:])
        return self

    def errors(self) -> list[str]:
        """What it said at level error."""
        lines = [json.loads(line) for line in self.said.splitlines() if line.startswith("{")]
        return [line["message"] for line in lines if line["level"] == "error"]

    @property
    def cpu_seconds(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Asks it to end; gives its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)


@contextlib.contextmanager
def operator_process(
    inside: Kubectl,
    folder: Path,
    name: str = "one",
    kubeconfig: Path | None = None,
    within: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Iterator[OperatorProcess]:
    """An operator for the namespace; it is killed at the end unless it has ended before."""
    reached = kubeconfig or inside.kubeconfig
    operator = OperatorProcess(inside, folder, name, reached, within, options)
    try:
        yield operator
    finally:
        if operator.process.poll() is None:
            operator.kill()
        # Shown where the test fails.
        print(f"the operator {name} said:\n{operator.said[-8000:]}")


def kubeconfig_through(kubeconfig: Path, port: int, folder: Path) -> Path:
    """The same cluster, by way of another port of loopback."""
    config = json.loads(kubeconfig.read_text(encoding="utf-8"))
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = folder / "kubeconfig-through"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def port_of(kubeconfig: Path) -> int:
    config = json.loads(kubeconfig.read_text(encoding="utf-8"))
    return int(config["clusters"][0]["cluster"]["server"].rpartition(":")[2])
