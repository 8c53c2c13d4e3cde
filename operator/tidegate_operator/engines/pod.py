"""The pod that we would run for a group if the user said nothing about it.

Rules:
- It passes the restricted pod security standard: nobody in particular, a read-only root, no
  privilege.
- What it reads is mounted read-only under /etc/tidegate; only the keys of a Secret that the group
  names. What it writes is in its scratch volume and /tmp.
- It is ready when its member has joined the group, and alive while its loop answers. It stays both
  while a handler blocks the loop for as long as a call may take: Kubernetes ends first what is not
  ready, in a rollout in the place of the one that has handed over.
- A clean stop has time for the longest call and for the hand-over, and ends before Kubernetes
  ends it.
- What makes a consumer read its settings anew is in the annotations, so that a change rolls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tidegate_operator.engines.inputs import (
    PREFIX,
    RenderInput,
    SecretMount,
    hash_of,
    labels_of,
    selector_of,
)
from tidegate_operator.kinds import Document
from tidegate_operator.model import GroupKey
from tidegate_operator.spec_group_file import SECRETS_FOLDER

CONSUMER = "consumer"
PORT = 9090
PORT_NAME = "metrics"
# All that is mounted by us is below these, and our volumes' names begin so.
CONFIGURED = "/etc/tidegate"
SCRATCH = "/scratch"
VOLUMES = "tidegate-"
GROUP_FILE = f"{CONFIGURED}/group/group.yaml"
# The cluster autoscaler drains a node only if its pods name here all their volumes on its disk, as
# volumes that may be lost.
EVICTABLE = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
MEMBER, POD_UID, LEASE_FILE = OUR_ENV = ("TIDEGATE_MEMBER", "TIDEGATE_POD_UID", "TIDEGATE_SCRATCH")
# The images' user.
_USER = 65532
NOBODY: Document = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "fsGroup": _USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONFINED: Document = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
# After the last call: the last checkpoints and the hand-over, also where storage is slow.
_HAND_OVER_S = 30
# A consumer ends by itself so long before it would be killed; see --grace-s.
_MARGIN_S = 5
LEAST_TERMINATION_S = 2 * _MARGIN_S
_PROBED_EVERY_S = 10
_PROBE_TIMEOUT_S = 5
# Beyond the longest call.
_SILENT_PROBES = 3


def our_template(wanted: RenderInput) -> Document:
    """The pod template, but for the consumer's arguments: they follow from what is merged."""
    spec: Document = {
        "containers": [consumer_of(wanted)],
        "volumes": volumes_of(wanted),
        "serviceAccountName": wanted.service_account or wanted.key.name,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": termination_s(wanted),
        "securityContext": NOBODY,
        # Old pods that are on their way out do not count.
        "topologySpreadConstraints": [spread(selector_of(wanted.key), "pod-template-hash")],
    }
    metadata = {"labels": labels_of(wanted.key), "annotations": annotations_of(wanted)}
    return {"metadata": metadata, "spec": spec}


def spread(labels: Document, told_apart_by: str) -> Document:
    """Over the nodes, where that can be."""
    return {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
        "matchLabelKeys": [told_apart_by],
    }


def arguments(termination_s: int) -> list[str]:
    """The consumer's, in a pod that is given so long to end."""
    return [
        CONSUMER,
        GROUP_FILE,
        "--listen",
        f"0.0.0.0:{PORT}",
        "--grace-s",
        str(termination_s - _MARGIN_S),
        "--log-format",
        "json",
    ]


def termination_s(wanted: RenderInput) -> int:
    return math.ceil(wanted.handler_timeout_s + wanted.told_s) + _HAND_OVER_S


def annotations_of(wanted: RenderInput) -> dict[str, str]:
    found = {
        f"{PREFIX}group-hash": hash_of(wanted.group_yaml),
        EVICTABLE: f"{VOLUMES}scratch,tmp",
    }
    if wanted.handler_config_map is not None:
        found[f"{PREFIX}handler-hash"] = wanted.handler_hash
    if wanted.secrets:
        said = (f"{secret.name}={secret.hash}" for secret in _by_name(wanted))
        found[f"{PREFIX}secrets"] = ",".join(said)
    return found


def consumer_of(wanted: RenderInput) -> Document:
    longest_call_s = wanted.handler_timeout_s + wanted.told_s
    return {
        "name": CONSUMER,
        "image": wanted.image,
        "imagePullPolicy": wanted.pull_policy,
        "env": [
            {"name": MEMBER, "valueFrom": field_of("metadata.name")},
            {"name": POD_UID, "valueFrom": field_of("metadata.uid")},
            {"name": LEASE_FILE, "value": f"{SCRATCH}/leases"},
        ],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        # A handler's imports may take their time.
        "startupProbe": {**_asked("/healthz"), "periodSeconds": 1, "failureThreshold": 300},
        "readinessProbe": {
            **_asked("/readyz"),
            "periodSeconds": 1,
            "failureThreshold": math.ceil(longest_call_s / _PROBE_TIMEOUT_S) + _SILENT_PROBES,
        },
        "livenessProbe": {
            **_asked("/healthz"),
            "periodSeconds": _PROBED_EVERY_S,
            "failureThreshold": math.ceil(longest_call_s / _PROBED_EVERY_S) + _SILENT_PROBES,
        },
        "resources": {
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": CONFINED,
        # Where it wrote no last words, the end of its log.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": f"{VOLUMES}group", "mountPath": f"{CONFIGURED}/group", "readOnly": True},
            {"name": f"{VOLUMES}scratch", "mountPath": SCRATCH},
            {"name": "tmp", "mountPath": "/tmp"},
            *(
                {"name": volume, "mountPath": f"{SECRETS_FOLDER}/{secret.name}", "readOnly": True}
                for volume, secret in _secret_volumes(wanted)
            ),
        ],
    }


def _asked(path: str) -> Document:
    return {"httpGet": {"path": path, "port": PORT_NAME}, "timeoutSeconds": _PROBE_TIMEOUT_S}


def field_of(path: str) -> Document:
    return {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}


def volumes_of(wanted: RenderInput, *, files: Sequence[str] = ()) -> list[Document]:
    """`files`: of our ConfigMap these alone; whatever else it holds changes no volume."""
    ours: Document = {"name": group_map(wanted.key)}
    if files:
        ours["items"] = [{"key": file, "path": file} for file in files]
    # Ours comes last: a group.yaml among the handler's files does not take its place.
    handler = wanted.handler_config_map
    sources = [*([] if handler is None else [{"name": handler}]), ours]
    secrets = [
        {
            "name": volume,
            "secret": {
                "secretName": secret.name,
                "items": [{"key": key, "path": key} for key in sorted(secret.keys)],
                # Readable by the image's group alone.
                "defaultMode": 0o440,
            },
        }
        for volume, secret in _secret_volumes(wanted)
    ]
    return [
        {
            "name": f"{VOLUMES}group",
            "projected": {"sources": [{"configMap": source} for source in sources]},
        },
        {"name": f"{VOLUMES}scratch", "emptyDir": {}},
        {"name": "tmp", "emptyDir": {}},
        *secrets,
    ]


def group_map(key: GroupKey) -> str:
    """The name of the ConfigMap that holds group.yaml."""
    return f"{key.name}-group"


def _secret_volumes(wanted: RenderInput) -> list[tuple[str, SecretMount]]:
    """Numbered: a Secret's name may be longer than a volume's, and have dots."""
    return [(f"{VOLUMES}secret-{at}", secret) for at, secret in enumerate(_by_name(wanted))]


def _by_name(wanted: RenderInput) -> list[SecretMount]:
    return sorted(wanted.secrets, key=lambda secret: secret.name)
