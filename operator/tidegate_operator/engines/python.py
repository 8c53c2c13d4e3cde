"""The Python engine: a Deployment of consumers, and what they need around them.

Rules: pure. What a pod reads comes before the Deployment that makes pods. The Deployment says
nothing of its replicas: those are written on their own, fenced, and no other field is.
"""

from __future__ import annotations

import json

from tidegate_operator.engines.inputs import (
    ASKED,
    LEDGER,
    TEMPLATE,
    RenderInput,
    hash_of,
    metadata_of,
    selector_of,
)
from tidegate_operator.engines.pod import PORT, PORT_NAME, group_map
from tidegate_operator.engines.template import template_of
from tidegate_operator.kinds import (
    CONFIG_MAP,
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    SERVICE,
    SERVICE_ACCOUNT,
    Document,
    Kind,
    ObjectName,
)
from tidegate_operator.model import GroupKey


class PythonEngine:
    """See the module."""

    def manifests(self, wanted: RenderInput) -> tuple[Document, ...]:
        """In the order in which they are applied. Raises TemplateError."""
        deployment = _deployment(wanted)
        account = () if wanted.service_account is not None else (_service_account(wanted),)
        return (*account, _config_map(wanted), _service(wanted), _budget(wanted), deployment)

    def names(self, key: GroupKey) -> tuple[ObjectName, ...]:
        kinds = (SERVICE_ACCOUNT, SERVICE, DISRUPTION_BUDGET, DEPLOYMENT)
        return (
            ObjectName(CONFIG_MAP, key.namespace, group_map(key)),
            *(ObjectName(kind, key.namespace, key.name) for kind in kinds),
        )


def _service_account(wanted: RenderInput) -> Document:
    found = _document(SERVICE_ACCOUNT, wanted, {"automountServiceAccountToken": False})
    if wanted.service_account_annotations:
        found["metadata"]["annotations"] = dict(wanted.service_account_annotations)
    return found


def _config_map(wanted: RenderInput) -> Document:
    data = {"group.yaml": wanted.group_yaml}
    return _document(CONFIG_MAP, wanted, {"data": data}, group_map(wanted.key))


def _service(wanted: RenderInput) -> Document:
    """Headless, for metrics: of all pods, also of those that are not ready."""
    port = {"name": PORT_NAME, "port": PORT, "protocol": "TCP", "targetPort": PORT_NAME}
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": [port],
        "selector": selector_of(wanted.key),
    }
    return _document(SERVICE, wanted, {"spec": spec})


def _budget(wanted: RenderInput) -> Document:
    """One pod at a time; one that is not ready holds up no drain."""
    spec = {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": selector_of(wanted.key)},
    }
    return _document(DISRUPTION_BUDGET, wanted, {"spec": spec})


def _deployment(wanted: RenderInput) -> Document:
    spec = {
        "selector": {"matchLabels": selector_of(wanted.key)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        },
        "revisionHistoryLimit": 3,
        "template": template_of(wanted),
    }
    found = _document(DEPLOYMENT, wanted, {"spec": spec})
    found["metadata"]["annotations"] = {
        LEDGER: wanted.ledger,
        ASKED: wanted.asked,
        TEMPLATE: hash_of(json.dumps(spec["template"], sort_keys=True)),
    }
    return found


def _document(kind: Kind, wanted: RenderInput, rest: Document, name: str = "") -> Document:
    metadata = metadata_of(wanted, name or wanted.key.name)
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **rest}
