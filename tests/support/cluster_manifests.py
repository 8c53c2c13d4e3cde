"""What the cluster tests run: pods of our image that keep to the restricted profile, and servers.

Rules: every pod is nobody in particular, on a read-only root, with no privilege and a limit. The
images are those that `make cluster` puts on the nodes, or those that the environment names.
"""

from __future__ import annotations

import os
from typing import Any

from support.azurite import ACCOUNT, ACCOUNT_KEY

TIDEGATE = os.environ.get("TIDEGATE_IMAGE", "tidegate.local/tidegate:dev")
SPARK = os.environ.get("TIDEGATE_SPARK_IMAGE", "tidegate.local/spark:dev")
HUB = os.environ.get("TIDEGATE_HUB_IMAGE", "tidegate.local/hub:dev")
AZURITE = os.environ.get("TIDEGATE_AZURITE_IMAGE", "tidegate.local/azurite:dev")
HUB_PORT, AZURITE_PORT = 5672, 10000

Document = dict[str, Any]


def hub_connection(host: str, port: int = HUB_PORT) -> str:
    """The connection string of a hub that checks no key."""
    return (
        f"Endpoint=sb://{host}:{port};SharedAccessKeyName=RootManageSharedAccessKey;"
        "SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true"
    )


def azurite_connection(host: str, port: int = AZURITE_PORT) -> str:
    """The connection string of an Azurite anywhere."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
        f"BlobEndpoint=http://{host}:{port}/{ACCOUNT};"
    )


def container(image: str = TIDEGATE, memory: str = "256Mi", **more: Any) -> Document:
    """A container that asks for nothing that the restricted profile refuses."""
    return {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        **more,
    }


def python(program: str, **more: Any) -> Document:
    """A container of our image that runs a Python program."""
    return container(command=["tini", "--", "python", "-c", program], **more)


def pod_spec(main: Document, **more: Any) -> Document:
    return {
        "containers": [main],
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "terminationGracePeriodSeconds": 10,
        **more,
    }


def pod(name: str, main: Document, **more: Any) -> Document:
    """A pod that runs once."""
    spec = pod_spec(main, restartPolicy="Never", **more)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, main: Document, replicas: int = 1, **more: Any) -> Document:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod_spec(main, **more)},
        },
    }


def service(name: str, port: int) -> Document:
    """The Service by whose name the pods of the Deployment of that name are reached."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": port}]},
    }


def config_map(name: str, files: dict[str, str]) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": files}


def hub_and_azurite(hub: str) -> tuple[Document, ...]:
    """Both servers, each with its Service; the hub has the one event hub that is written so."""
    scratch = [{"name": "scratch", "emptyDir": {}}]
    mounts = [{"name": "scratch", "mountPath": "/tmp"}]

    def ready_at(port: int) -> Document:
        return {"tcpSocket": {"port": port}, "periodSeconds": 1}

    arguments = ["hub", "--host", "0.0.0.0", "--hub", hub]
    return (
        deployment("hub", container(HUB, args=arguments, readinessProbe=ready_at(HUB_PORT))),
        service("hub", HUB_PORT),
        deployment(
            "azurite",
            container(AZURITE, volumeMounts=mounts, readinessProbe=ready_at(AZURITE_PORT)),
            volumes=scratch,
        ),
        service("azurite", AZURITE_PORT),
    )
