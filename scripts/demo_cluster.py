"""Where the demo runs: a cluster of kind, or the one of KUBECONFIG.

Everything is in the namespace `homes-demo`: the chart with its hub and storage, the console, and
both groups, with their handlers in ConfigMaps. Homes and the residents' page run here, and reach
hub and storage by `kubectl port-forward`.

Rules: standard library only. The namespace is removed at the end; the cluster stays.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from demo_groups import is_drained, line_of
from demo_programs import EXAMPLE, ROOT, DemoError, Program, show, surroundings
from demo_settings import DESK, READY_S, Settings, desk_of

NAMESPACE, RELEASE = "homes-demo", "demo"
SECRET = "tidegate-embedded"
_BIN = Path(os.environ.get("TIDEGATE_CACHE") or Path("~/.cache/tidegate").expanduser())
_HANDLERS = {"alarms": "alarms.py:handle", "activity": "activity.py:handle"}
_PIPELINE = "pipeline.py:pipeline"


def kubectl(*arguments: str, stdin: str = "", namespace: str = NAMESPACE) -> str:
    """Raises DemoError with its own words."""
    return _ran("kubectl", "--namespace", namespace, *arguments, stdin=stdin)


def _ran(program: str, *arguments: str, stdin: str = "") -> str:
    found = shutil.which(program, path=_path())
    if found is None:
        raise DemoError(f"{program} is not on the PATH: `make cluster` brings it")
    told = subprocess.run(
        [found, *arguments], input=stdin, env=_environment(), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if told.returncode:
        raise DemoError(f"{program} {' '.join(arguments[:4])}: {told.stderr.strip()[-600:]}")
    return told.stdout


def _path() -> str:
    return f"{_BIN / 'bin'}{os.pathsep}{os.environ['PATH']}"


def _environment() -> dict[str, str]:
    name = os.environ.get("CLUSTER") or "tidegate"
    config = os.environ.get("KUBECONFIG") or str(_BIN / "clusters" / f"{name}.kubeconfig")
    return {**os.environ, "PATH": _path(), "KUBECONFIG": config}


class ClusterGroups:
    """The groups, as `kubectl` shows and changes them."""

    def all(self) -> dict[str, dict[str, Any]]:
        """By name; nothing while the API server does not answer."""
        try:
            found = json.loads(kubectl("get", "consumergroups", "--output", "json"))
        except DemoError:
            return {}
        return {each["metadata"]["name"]: each for each in found["items"]}

    def line(self) -> str:
        return line_of(self.all())

    def is_drained(self) -> bool:
        return is_drained(self.all())

    def toggle_pause(self, name: str) -> bool:
        """Whether it is paused from now on."""
        is_paused = not (self.all().get(name, {}).get("spec") or {}).get("paused", False)
        change = json.dumps({"spec": {"paused": is_paused}})
        kubectl("patch", "consumergroup", name, "--type", "merge", "--patch", change)
        return is_paused

    def kill_one(self, dice: random.Random) -> str:
        """Takes a member's pod away at once, as a node that is lost does; its name, or ''.

        Nothing that runs in a container may kill its first process, so that it is the pod: the
        consumer gets SIGKILL with no time to write or to give a lease back, and another one comes.
        """
        told = kubectl("get", "pods", "--selector", "tidegate.dev/group", "--output", "name")
        names = [each.removeprefix("pod/") for each in told.split()]
        if not names:
            return ""
        name = dice.choice(names)
        try:
            kubectl("delete", "pod", name, "--grace-period", "0", "--force", "--wait=false")
        except DemoError:
            return ""
        return name


class ClusterPlace:
    """See the module."""

    def __init__(self, settings: Settings, _folder: Path) -> None:
        self._settings = settings
        self.groups = ClusterGroups()
        self._is_made = False

    def start(self, programs: list[Program], homes: int) -> tuple[str, str]:
        """The connection strings of storage and hub for this machine. Raises DemoError."""
        self._make_cluster()
        self._is_made = True
        self._install(homes)
        hub, storage = _free_port(), _free_port()
        for name, here, there in (
            ("service/tidegate-hub", hub, 5672),
            ("service/tidegate-azurite", storage, 10000),
            (f"service/{RELEASE}-tidegate-operator", self._settings.console_port, 8081),
        ):
            programs.append(_way(name, here, there))
        events = self._secret("events").replace(":5672", f":{hub}")
        blobs = self._secret("storage").replace(":10000", f":{storage}")
        host = f".{NAMESPACE}.svc"
        return (
            blobs.replace(f"tidegate-azurite{host}", "127.0.0.1"),
            events.replace(f"tidegate-hub{host}", "localhost"),
        )

    def show(self) -> None:
        """How it is looked at."""
        show(f"demo: the console       http://127.0.0.1:{self._settings.console_port}")
        token = kubectl("create", "token", "viewer", "--duration", "8h").strip()
        show(f"demo: its token         {token}")
        config = _environment()["KUBECONFIG"]
        show(f"demo: and in a terminal KUBECONFIG={config} kubectl -n {NAMESPACE} get cg")

    def go_over(self) -> None:
        """The image of Spark is there from the start."""

    def close(self) -> None:
        """What was installed goes; the cluster stays."""
        if not self._is_made:
            return
        try:
            kubectl("delete", "consumergroups", "--all", "--timeout", "90s")
            _ran("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found")
            kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")
        except DemoError as problem:
            show(f"demo: not all of it is gone: {problem}")

    def _make_cluster(self) -> None:
        if os.environ.get("KUBECONFIG"):
            return
        command = [sys.executable, str(ROOT / "cluster" / "manage.py"), "up"]
        command += ["--name", os.environ.get("CLUSTER") or "tidegate"]
        command += ["--spark"] if self._settings.engine == "spark" else []
        if subprocess.run(command, check=False).returncode:
            raise DemoError("the cluster cannot be made: see above")

    def _install(self, homes: int) -> None:
        values = {
            "embedded": True,
            "console": {"enabled": True},
            "watch": {"namespaces": [NAMESPACE]},
            "embeddedHub": {"hubs": [f"telemetry:16:{','.join(_HANDLERS)}"]},
        }
        show("demo: installing the chart, with hub and storage")
        chart = ROOT / "charts" / "tidegate"
        # As docs/helm.md says: Helm leaves the kind alone where an older one is there.
        crds = str(chart / "crds")
        kubectl("apply", "--server-side", "--force-conflicts", "--filename", crds)
        _ran(
            "helm", "upgrade", RELEASE, str(chart), "--install", "--skip-crds",
            "--namespace", NAMESPACE, "--create-namespace", "--wait", "--timeout", "3m",
            "--values", "-", stdin=json.dumps(values),
        )  # fmt: skip
        for document in documents(self._settings.engine, homes):
            kubectl("apply", "--server-side", "--filename", "-", stdin=json.dumps(document))

    def _secret(self, key: str) -> str:
        form = f"go-template={{{{.data.{key} | base64decode}}}}"
        return kubectl("get", "secret", SECRET, "--output", form).strip()


def documents(engine: str, homes: int) -> list[dict[str, Any]]:
    """Groups, handlers, and who may look. Pure but for the example's files."""
    viewer = {"name": "viewer", "namespace": NAMESPACE}
    found: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": viewer},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": viewer,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view",
            },
            "subjects": [{"kind": "ServiceAccount", **viewer}],
        },
    ]  # fmt: skip
    for name, handler in _HANDLERS.items():
        is_on_spark = name == "activity" and engine == "spark"
        code = _PIPELINE if is_on_spark else handler
        file = code.partition(":")[0]
        data = {file: (EXAMPLE / file).read_text(encoding="utf-8")}
        metadata = {"name": f"{name}-handler", "namespace": NAMESPACE}
        found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        found.append(_group(name, code, homes, is_on_spark=is_on_spark))
    return found


def _group(name: str, code: str, homes: int, *, is_on_spark: bool) -> dict[str, Any]:
    hub = {"hub": "telemetry", "consumerGroup": name, "start": "earliest"}
    hub["connectionString"] = {"secret": SECRET, "key": "events"}  # type: ignore[assignment]
    spec: dict[str, Any] = {
        "source": {"eventHubs": hub},
        "ledger": {
            "container": "ledger",
            "create": True,
            "connectionString": {"secret": SECRET, "key": "storage"},
        },
        "handler": {"configMap": f"{name}-handler", "code": code},
        "delivery": {"onFailure": "deadLetter"},
        "scaling": {"min": 1, "max": 4, "objective": {"within": "20s"}},
    }
    if is_on_spark:
        spec["engine"] = "spark"
        spec["spark"] = {
            "schema": "home string, kind string, value bigint, alarm boolean, at double",
            "triggerSeconds": 2,
            "output": {"container": "slices", "prefix": "home-security"},
        }
    else:
        is_alarms = name == "alarms"
        spec["delivery"]["batch"] = (
            {"maxEvents": 200, "maxWaitSeconds": 0.2}
            if is_alarms
            else {"maxEvents": 20_000, "maxBytes": 16 << 20, "maxWaitSeconds": 2}
        )
        key = {"secretKeyRef": {"name": SECRET, "key": "storage"}}
        variable = (
            {"name": DESK, "value": desk_of(homes)}
            if is_alarms
            else {"name": "STORAGE", "valueFrom": key}
        )
        spec["template"] = {"spec": {"containers": [{"name": "consumer", "env": [variable]}]}}
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }


def _way(target: str, here: int, there: int) -> Program:
    """From a port of this machine into the cluster, as long as it lasts."""
    found = shutil.which("kubectl", path=_path()) or "kubectl"
    command = (found, "--namespace", NAMESPACE, "port-forward", target, f"{here}:{there}")
    way = Program(f"the way to {target}", command, lambda _: None, surroundings(**_environment()))
    way.until_said("Forwarding from", READY_S)
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", here), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            break
    return way


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
