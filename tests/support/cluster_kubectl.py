"""kubectl against one cluster, for tests: what it says, and what is waited for.

Rules: each call names its kubeconfig and its namespace, so nothing depends on the settings of the
machine. A call that fails is an assertion with all that was said.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.wait import wait_until

ANSWER_SECONDS = 60.0
FORWARDED = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+)")


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One cluster and one namespace of it."""

    program: Path
    kubeconfig: Path
    namespace: str = "default"

    def command(self, *arguments: str) -> list[str]:
        """How it is started."""
        return [
            str(self.program), "--kubeconfig", str(self.kubeconfig), "--namespace", self.namespace,
            *arguments,
        ]  # fmt: skip

    def tried(
        self, *arguments: str, stdin: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> subprocess.CompletedProcess[str]:
        """Run it; whether it went well is for the caller to see."""
        return subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip

    def said(self, *arguments: str, stdin: str | None = None) -> str:
        """What it prints, where all goes well."""
        ran = self.tried(*arguments, stdin=stdin)
        assert ran.returncode == 0, f"kubectl {' '.join(arguments)}: {ran.stderr}{ran.stdout}"
        return ran.stdout

    def refusal(self, *arguments: str, stdin: str | None = None) -> str:
        """What it complains of, where it must be refused."""
        ran = self.tried(*arguments, stdin=stdin)
        assert ran.returncode != 0, f"kubectl {' '.join(arguments)} was let through: {ran.stdout}"
        return ran.stderr

    def read(self, *arguments: str) -> Any:
        """What it gets, as values."""
        return json.loads(self.said("get", *arguments, "--output", "json"))

    def apply(self, *documents: dict[str, Any]) -> None:
        self.said("apply", "--filename", "-", stdin=as_list(documents))

    def wait_until_ready(self, *names: str, seconds: float = ANSWER_SECONDS) -> None:
        """Deployments have all the pods that they ask for."""
        for name in names:
            ran = self.tried(
                "rollout", "status", f"deployment/{name}", f"--timeout={seconds - 5:.0f}s",
                seconds=seconds,
            )  # fmt: skip
            assert ran.returncode == 0, f"{name}: {ran.stderr}\n{self._told_of_pods()}"

    def container_state(self, pod: str) -> dict[str, Any]:
        """The state of a pod's one container; empty before the node has said anything."""
        statuses = self.read("pod", pod)["status"].get("containerStatuses", [{}])
        state: dict[str, Any] = statuses[0].get("state", {})
        return state

    def until_ended(self, pod: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """How a pod's container ended: its exit code and the reason."""

        def ended() -> dict[str, Any] | None:
            found: dict[str, Any] | None = self.container_state(pod).get("terminated")
            return found

        state = wait_until(ended, seconds, f"the pod {pod} to end", self._told_of_pods)
        assert state is not None
        return state

    def log(self, name: str) -> str:
        return self.said("logs", name)

    @contextlib.contextmanager
    def followed(self, name: str) -> Iterator[Callable[[], str]]:
        """Reads a log on to the end of what writes it; the value gives all that was read."""
        command = self.command("logs", "--follow", name)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield lambda: process.communicate(timeout=ANSWER_SECONDS)[0]
            finally:
                process.terminate()

    @contextlib.contextmanager
    def speaking(self, *arguments: str) -> Iterator[Iterator[str]]:
        """What a call prints, line by line while it runs; the block waits for its end."""
        with subprocess.Popen(
            self.command(*arguments), stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            yield iter(process.stdout)
            process.communicate(timeout=ANSWER_SECONDS)

    @contextlib.contextmanager
    def forwarded(self, target: str, port: int) -> Iterator[int]:
        """A port of this machine that leads to a Service or a pod."""
        command = self.command("port-forward", target, f":{port}")
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                found = FORWARDED.search(line)
                assert found is not None, f"{target} cannot be forwarded: {line!r}"
                yield int(found[1])
            finally:
                process.terminate()

    @contextlib.contextmanager
    def new_namespace(self, what_for: str, profile: str = "restricted") -> Iterator[Kubectl]:
        """A namespace in which every pod must keep to the profile; it goes afterwards."""
        name = f"{what_for}-{uuid.uuid4().hex[:6]}"
        labels = {"pod-security.kubernetes.io/enforce": profile}
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        inside = replace(self, namespace=name)
        try:
            wait_until(
                lambda: inside.tried("get", "serviceaccount", "default").returncode == 0,
                ANSWER_SECONDS,
                f"the namespace {name} to have its ServiceAccount",
            )
            yield inside
        finally:
            self.said("delete", "namespace", name, "--wait=false")

    def _told_of_pods(self) -> str:
        events = self.tried("get", "events", "--sort-by", ".lastTimestamp").stdout
        return self.tried("get", "pods", "--output", "wide").stdout + events[-3000:]


Documents = tuple[dict[str, Any], ...]


def as_list(documents: Documents) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(documents)})
