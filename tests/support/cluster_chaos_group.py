"""The group of cluster_chaos.py, its hub, and the ways by which it reaches hub and storage.

Rules: the sender and whoever looks on have ways of their own, to which nothing is done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azure.storage.blob import ContainerClient

from support.cluster_chaos import (
    ADMIN_PORT,
    CALL_S,
    CONTROL_PORT,
    HUB_PORT,
    MEMORY,
    NAME,
    PARTITIONS,
    PODS,
    SENDER,
    SERVER,
    SETTLED_S,
    STOP,
    STORAGE,
    STORAGE_PORT,
    WAYS,
    Chaos,
    Ports,
)
from support.cluster_counting import CHECKPOINT_S, sender_pod
from support.cluster_group import a_group
from support.cluster_manifests import HUB as IMAGE
from support.cluster_manifests import config_map, container, deployment, hub_connection, service
from support.cluster_release import SECRET, Release, event_hubs, ledger
from support.cluster_ways import steady_way
from support.ledger_watch import LedgerWatch, ledger_watch

_HERE = Path(__file__).parent


def _servers(namespace: str) -> tuple[dict[str, Any], ...]:
    """A hub of its own, and the ways to it and to the release's storage."""
    hub = [
        "hub", "--host", "0.0.0.0", "--hub", f"{NAME}:{PARTITIONS}", "--check-sas",
        "--admin-host", "0.0.0.0", "--admin-port", str(ADMIN_PORT),
    ]  # fmt: skip
    ways = [
        "--control", f"0.0.0.0:{CONTROL_PORT}",
        "--tcp", f"hub=0.0.0.0:{HUB_PORT}={SERVER}.{namespace}.svc:{HUB_PORT}",
        "--http", f"storage=0.0.0.0:{STORAGE_PORT}={STORAGE}.{namespace}.svc:{STORAGE_PORT}",
    ]  # fmt: skip
    way = container(
        command=["tini", "--", "python", "-m", "tidegate_operator.conformance.proxy_pod", *ways],
        readinessProbe=_ready(CONTROL_PORT),
    )
    both = service(WAYS, HUB_PORT)
    both["spec"]["ports"] = [
        {"name": name, "port": port}
        for name, port in (("hub", HUB_PORT), ("storage", STORAGE_PORT))
    ]
    return (
        deployment(SERVER, container(IMAGE, args=hub, readinessProbe=_ready(HUB_PORT))),
        service(SERVER, HUB_PORT),
        deployment(WAYS, way),
        both,
    )


def _ready(port: int) -> dict[str, Any]:
    return {"tcpSocket": {"port": port}, "periodSeconds": 1}


def secret(events: str, storage: str) -> dict[str, Any]:
    """What the group's pods and its operator know."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME},
        "stringData": {"events": events, "storage": storage},
    }


def _template() -> dict[str, Any]:
    """On every node, with a limit to outgrow, and a way to write down what was seen."""
    seen = {"name": SECRET, "key": "storage"}
    consumer = {
        "name": "consumer",
        "env": [{"name": "SEEN", "valueFrom": {"secretKeyRef": seen}}],
        "resources": {
            "requests": {"cpu": "50m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": MEMORY},
        },
    }
    tolerations = [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]
    return {"spec": {"containers": [consumer], "tolerations": tolerations}}


def _spec(**more: Any) -> dict[str, Any]:
    return {
        "source": event_hubs(NAME, connectionString={"secret": NAME, "key": "events"}),
        "ledger": ledger(NAME, connectionString={"secret": NAME, "key": "storage"}),
        "handler": {"configMap": "chaos-handler", "code": "handler.py:handle"},
        "delivery": {
            "checkpoint": {"everySeconds": CHECKPOINT_S},
            "timeoutSeconds": CALL_S,
            "onFailure": "deadLetter",
            "attempts": 2,
            "backoff": {"firstSeconds": 0.1},
        },
        "scaling": {"min": 1, "max": 6},
        "replicas": PODS,
        "template": _template(),
        **more,
    }


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


@contextlib.contextmanager
def chaos_group(release: Release, folder: Path, storage: str) -> Iterator[Chaos]:
    """The group with its pods, reading what its sender sends."""
    inside = release.inside
    with contextlib.ExitStack() as stack:
        blobs = ContainerClient.from_connection_string(storage, f"{NAME}-seen")
        stack.enter_context(blobs).create_container()
        for partition in range(PARTITIONS):
            blobs.get_blob_client(str(partition)).create_append_blob()
        inside.apply(*_servers(release.namespace), *_known(release))
        inside.wait_until_ready(SERVER, WAYS)
        for name in (SERVER, WAYS):
            stack.callback(inside.tried, "delete", f"deployment/{name}", "--wait=false")
        ports = Ports(
            stack.enter_context(steady_way(inside, f"deployment/{SERVER}", ADMIN_PORT)),
            stack.enter_context(steady_way(inside, f"deployment/{SERVER}", HUB_PORT)),
            stack.enter_context(steady_way(inside, f"deployment/{WAYS}", CONTROL_PORT)),
        )
        group = stack.enter_context(a_group(release, NAME, hub=NAME, **_spec()))
        group.until_settled(PODS, SETTLED_S)
        inside.apply(_sender(hub_connection(f"{SERVER}.{release.namespace}.svc")))
        watch: LedgerWatch = stack.enter_context(ledger_watch(storage, NAME))
        itself = ContainerClient.from_connection_string(storage, NAME)
        stack.enter_context(itself)
        file = folder / "seen.log"
        chaos = Chaos(group, file, blobs, watch, container=itself, ports=ports)
        chaos.until_read_on()
        yield chaos


def _known(release: Release) -> tuple[dict[str, Any], ...]:
    """What pods and operator know of hub and storage, and the code that they run."""
    ways = f"{WAYS}.{release.namespace}.svc"
    storage = release.secret("storage").replace(f"{STORAGE}.{release.namespace}.svc", ways)
    handler = {
        "handler.py": _text("chaos_handler.py"),
        "appending.py": _text("appending_handler.py"),
    }
    return (
        secret(hub_connection(ways), storage),
        config_map("chaos-handler", handler),
        config_map(SENDER, {"sender.py": _text("endless_sender.py")}),
    )


def _sender(events: str) -> dict[str, Any]:
    """By a way of its own, to which nothing is done: events come all the time."""
    found = sender_pod(SENDER, NAME, str(PARTITIONS), STOP)
    spec: Any = found["spec"]
    spec["containers"][0]["env"] = [{"name": "EVENTS", "value": events}]
    return found
