"""The pods of the Spark engine: the driver, and the template from which Spark makes executors.

Rules: as in pod.py. The driver is a consumer of another image with more to say: who it is to Spark,
and of what its executors are made. It alone is let at the Kubernetes API. Executors are let at
nothing; they get what they read from the driver. Spark adds to their template what they run.

What CPU they ask for is a quarter of their cores, so that a first try fits on a small cluster; the
memory is what Spark was told, and is the limit, too.
"""

from __future__ import annotations

from typing import Any

import yaml

from tidegate.group_file.spark_spec import ProcessSpec
from tidegate.spark import session_conf as told
from tidegate_operator.engines.inputs import (
    PREFIX,
    ROLE_LABEL,
    RenderInput,
    hash_of,
    labels_of,
    selector_of,
)
from tidegate_operator.engines.pod import (
    CONFIGURED,
    CONFINED,
    EVICTABLE,
    LEASE_FILE,
    NOBODY,
    OUR_ENV,
    PORT,
    PORT_NAME,
    SCRATCH,
    annotations_of,
    consumer_of,
    field_of,
    group_map,
    spread,
    termination_s,
    volumes_of,
)
from tidegate_operator.engines.template import Outline, changed, with_arguments
from tidegate_operator.kinds import Document
from tidegate_operator.model import GroupKey
from tidegate_operator.pod_nouns import Role

# Files in the group's ConfigMap, beside group.yaml.
EXECUTOR_FILE = "tidegate-executor.yaml"
COUNT_FILE = "tidegate-executors"
UI_NAME = "ui"
# Where executors reach the driver: Spark's two, and the office's.
_DRIVER_PORTS = {"driver": told.DRIVER_PORT, "blocks": told.BLOCKS_PORT, "office": told.OFFICE_PORT}
_OUR_ENV = (
    *OUR_ENV,
    told.NAMESPACE,
    told.POD_IP,
    told.IMAGE,
    told.PULL_POLICY,
    told.ACCOUNT,
    told.TEMPLATE,
    told.EXECUTORS,
)
# Who is begun again in place is begun where it may write.
_WORKING = "/tmp"

DRIVER = Outline(
    "spec.spark.driver.template",
    Role.DRIVER,
    _OUR_ENV,
    (PORT, told.UI_PORT, *_DRIVER_PORTS.values()),
)
EXECUTOR = Outline("spec.spark.executor.template", Role.EXECUTOR)


def role_labels(key: GroupKey, role: Role) -> dict[str, str]:
    """By which the pods of a role are found."""
    return {**selector_of(key), ROLE_LABEL: str(role)}


def driver_account(wanted: RenderInput) -> str:
    return wanted.service_account or wanted.key.name


def executor_account(wanted: RenderInput) -> str:
    """One of its own, which may nothing; the user's own is for both."""
    return wanted.service_account or f"{wanted.key.name}-executor"


def driver_template(wanted: RenderInput) -> Document:
    """The driver's pod template as it is applied. Raises TemplateError."""
    annotations = annotations_of(wanted)
    annotations[f"{PREFIX}executor-hash"] = hash_of(executor_file(wanted))
    labels = {**labels_of(wanted.key), ROLE_LABEL: str(Role.DRIVER)}
    ours: Document = {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "containers": [_driver(wanted)],
            # Without how many executors there are: a file that changes has the volume replaced.
            "volumes": volumes_of(wanted, files=("group.yaml", EXECUTOR_FILE)),
            "serviceAccountName": driver_account(wanted),
            "automountServiceAccountToken": True,
            "terminationGracePeriodSeconds": termination_s(wanted),
            "securityContext": NOBODY,
        },
    }
    theirs = wanted.spark.driver.template or {}
    return with_arguments(changed(ours, theirs, DRIVER, wanted.profile), DRIVER)


def executor_file(wanted: RenderInput) -> str:
    """The pod that Spark makes executors of, as the driver reads it. Raises TemplateError."""
    theirs = wanted.spark.executor.template or {}
    template = changed(_executor(wanted), theirs, EXECUTOR, wanted.profile)
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    return yaml.safe_dump(pod, sort_keys=False, allow_unicode=True, width=100)


def _driver(wanted: RenderInput) -> Document:
    container = consumer_of(wanted)
    variables: dict[str, Any] = {item["name"]: item for item in container["env"]}
    for name, value in (
        # A folder: each member has a file in it.
        (LEASE_FILE, SCRATCH),
        (told.NAMESPACE, wanted.key.namespace),
        (told.IMAGE, wanted.image),
        (told.PULL_POLICY, wanted.pull_policy),
        (told.ACCOUNT, executor_account(wanted)),
        (told.TEMPLATE, f"{CONFIGURED}/group/{EXECUTOR_FILE}"),
    ):
        variables[name] = {"name": name, "value": value}
    count = {"name": group_map(wanted.key), "key": COUNT_FILE}
    for name, source in (
        (told.POD_IP, field_of("status.podIP")),
        # Read when a driver begins; a change of it replaces nobody.
        (told.EXECUTORS, {"configMapKeyRef": count}),
    ):
        variables[name] = {"name": name, "valueFrom": source}
    ports = {PORT_NAME: PORT, UI_NAME: told.UI_PORT, **_DRIVER_PORTS}
    return {
        **container,
        "name": str(Role.DRIVER),
        "env": list(variables.values()),
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()
        ],
        "resources": _resources(wanted.spark.driver),
        "workingDir": _WORKING,
    }


def _executor(wanted: RenderInput) -> Document:
    labels = {**labels_of(wanted.key), ROLE_LABEL: str(Role.EXECUTOR)}
    # Spark adds the second volume.
    annotations = {EVICTABLE: "tmp,spark-local-dir-1"}
    return {
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "containers": [
                {
                    "name": str(Role.EXECUTOR),
                    "workingDir": _WORKING,
                    "securityContext": CONFINED,
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                    "volumeMounts": [{"name": "tmp", "mountPath": _WORKING}],
                }
            ],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
            "automountServiceAccountToken": False,
            "securityContext": NOBODY,
            "topologySpreadConstraints": [
                spread(role_labels(wanted.key, Role.EXECUTOR), "spark-app-selector")
            ],
        },
    }


def _resources(process: ProcessSpec) -> Document:
    memory = f"{process.memory_mib + process.overhead_mib}Mi"
    return {
        "requests": {"cpu": f"{process.cores * told.CPU_OF_CORE}m", "memory": memory},
        "limits": {"memory": memory},
    }
