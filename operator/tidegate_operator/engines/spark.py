"""The Spark engine: a driver, what it may do, and what its executors are made of.

Rules: pure. The driver is a Deployment of one pod: Kubernetes begins it again where it ends, in
place and after a pause that doubles, and a change brings a new one beside it before the old one
goes. Executors are made by Spark, in a StatefulSet that the driver's pod owns and that goes with
it. The driver's Role has what Spark was seen to ask for, and nothing else: no Secret, and nothing
that it did not make can be deleted.
"""

from __future__ import annotations

import json

from tidegate.spark.session_conf import UI_PORT
from tidegate_operator.engines.inputs import (
    ASKED,
    EXECUTORS,
    LEDGER,
    TEMPLATE,
    RenderInput,
    hash_of,
    metadata_of,
    selector_of,
)
from tidegate_operator.engines.pod import PORT, PORT_NAME, group_map
from tidegate_operator.engines.spark_pods import (
    COUNT_FILE,
    EXECUTOR_FILE,
    UI_NAME,
    driver_account,
    driver_template,
    executor_account,
    executor_file,
    role_labels,
)
from tidegate_operator.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.model import GroupKey
from tidegate_operator.pod_nouns import Role

# What the driver asks the API for. The operator itself must have all of it: nobody can give what he
# does not have. The chart's role says the same.
RULES: tuple[Document, ...] = (
    # Executors are watched, get a number as a label; its own pod gets a note.
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": ["create"]},
)


class SparkEngine:
    """See the module."""

    def manifests(self, wanted: RenderInput) -> tuple[Document, ...]:
        """In the order in which they are applied. Raises TemplateError."""
        deployment = _deployment(wanted)
        accounts = () if wanted.service_account is not None else tuple(_accounts(wanted))
        return (
            *accounts,
            _role(wanted),
            _role_binding(wanted),
            _config_map(wanted),
            _service(wanted),
            _ui_service(wanted),
            _budget(wanted),
            deployment,
        )

    def names(self, key: GroupKey) -> tuple[ObjectName, ...]:
        found = (
            (SERVICE_ACCOUNT, key.name),
            (SERVICE_ACCOUNT, f"{key.name}-executor"),
            (ROLE, f"{key.name}-driver"),
            (ROLE_BINDING, f"{key.name}-driver"),
            (CONFIG_MAP, group_map(key)),
            (SERVICE, key.name),
            (SERVICE, f"{key.name}-ui"),
            (DISRUPTION_BUDGET, key.name),
            (DEPLOYMENT, key.name),
        )
        return tuple(ObjectName(kind, key.namespace, name) for kind, name in found)


def _accounts(wanted: RenderInput) -> list[Document]:
    """Of the driver, and of executors: Azure may know both, Kubernetes the driver alone."""
    found = []
    for name in (driver_account(wanted), executor_account(wanted)):
        account = _document(SERVICE_ACCOUNT, wanted, {"automountServiceAccountToken": False}, name)
        if wanted.service_account_annotations:
            account["metadata"]["annotations"] = dict(wanted.service_account_annotations)
        found.append(account)
    return found


def _role(wanted: RenderInput) -> Document:
    return _document(ROLE, wanted, {"rules": list(RULES)}, _driver_name(wanted))


def _role_binding(wanted: RenderInput) -> Document:
    subject = {
        "kind": SERVICE_ACCOUNT.name,
        "name": driver_account(wanted),
        "namespace": wanted.key.namespace,
    }
    role = {"apiGroup": ROLE.group, "kind": ROLE.name, "name": _driver_name(wanted)}
    rest = {"roleRef": role, "subjects": [subject]}
    return _document(ROLE_BINDING, wanted, rest, _driver_name(wanted))


def _config_map(wanted: RenderInput) -> Document:
    data = {
        "group.yaml": wanted.group_yaml,
        EXECUTOR_FILE: executor_file(wanted),
        COUNT_FILE: str(wanted.executors),
    }
    return _document(CONFIG_MAP, wanted, {"data": data}, group_map(wanted.key))


def _service(wanted: RenderInput) -> Document:
    """Headless, for metrics: of the driver, also while it is not ready."""
    port = {"name": PORT_NAME, "port": PORT, "protocol": "TCP", "targetPort": PORT_NAME}
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": [port],
        "selector": role_labels(wanted.key, Role.DRIVER),
    }
    return _document(SERVICE, wanted, {"spec": spec})


def _ui_service(wanted: RenderInput) -> Document:
    """Spark's own pages, with an address, for an Ingress or kubectl port-forward."""
    port = {"name": UI_NAME, "port": UI_PORT, "protocol": "TCP", "targetPort": UI_NAME}
    spec = {"ports": [port], "selector": role_labels(wanted.key, Role.DRIVER)}
    return _document(SERVICE, wanted, {"spec": spec}, f"{wanted.key.name}-ui")


def _budget(wanted: RenderInput) -> Document:
    """One pod at a time, driver or executor; one that is not ready holds up no drain."""
    spec = {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": selector_of(wanted.key)},
    }
    return _document(DISRUPTION_BUDGET, wanted, {"spec": spec})


def _deployment(wanted: RenderInput) -> Document:
    spec = {
        "selector": {"matchLabels": role_labels(wanted.key, Role.DRIVER)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        },
        "revisionHistoryLimit": 3,
        "template": driver_template(wanted),
    }
    found = _document(DEPLOYMENT, wanted, {"spec": spec})
    found["metadata"]["annotations"] = {
        LEDGER: wanted.ledger,
        ASKED: wanted.asked,
        TEMPLATE: hash_of(json.dumps(spec["template"], sort_keys=True)),
        EXECUTORS: str(wanted.executors),
    }
    return found


def _driver_name(wanted: RenderInput) -> str:
    return f"{wanted.key.name}-driver"


def _document(kind: Kind, wanted: RenderInput, rest: Document, name: str = "") -> Document:
    metadata = metadata_of(wanted, name or wanted.key.name)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **rest}
