"""Objects and answers of Kubernetes as its API server gives them, for the fuzzer to start from."""

from __future__ import annotations

from typing import Any

_META = {
    "name": "g-0",
    "namespace": "n",
    "uid": "u",
    "resourceVersion": "5",
    "generation": 2,
    "creationTimestamp": "2026-11-19T10:00:00Z",
    "labels": {
        "tidegate.dev/group": "g",
        "tidegate.dev/role": "consumer",
        "pod-template-hash": "abc",
        "spark-exec-id": "1",
    },
    "annotations": {
        "controller.kubernetes.io/pod-deletion-cost": "5",
        "deployment.kubernetes.io/revision": "2",
        "tidegate.dev/spark": '{"applicationId":"a","startedAt":5,"executors":1,"batch":{"at":1}}',
    },
    "ownerReferences": [{"uid": "o", "name": "rs", "controller": True}],
}

_ENDED = {
    "startedAt": "2026-11-19T10:00:00Z",
    "finishedAt": "2026-11-19T10:00:09Z",
    "exitCode": 137,
    "reason": "OOMKilled",
    "message": "m",
}

OBJECTS: tuple[dict[str, Any], ...] = (
    {
        "metadata": _META,
        "spec": {"nodeName": "node"},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "PodScheduled", "status": "False", "message": "no room"},
            ],
            "containerStatuses": [
                {
                    "name": "consumer",
                    "restartCount": 2,
                    "state": {"running": {"startedAt": "2026-11-19T10:00:00Z"}},
                    "lastState": {"terminated": _ENDED},
                },
                {
                    "name": "driver",
                    "restartCount": 0,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "m"}},
                },
            ],
        },
    },
    {
        "metadata": _META,
        "spec": {"replicas": 3},
        "status": {
            "observedGeneration": 2,
            "conditions": [{"type": "ReplicaFailure", "status": "True", "message": "quota"}],
        },
    },
    {
        "metadata": _META,
        "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 15, "leaseTransitions": 2},
    },
)

# Fields that the API server makes sure of.
NEEDED = (
    "metadata",
    "name",
    "namespace",
    "resourceVersion",
    "type",
    "status",
    "partition",
    "reason",
    "message",
    "ready",
    "partitions",
    "weight",
    "leaving",
)

STATUS: dict[str, Any] = {
    "kind": "Status",
    "status": "Failure",
    "message": 'pods is forbidden: User "system:serviceaccount:n:s" cannot list resource "pods" in '
    'API group "" in the namespace "n"',
    "reason": "Forbidden",
    "details": {"name": "g", "causes": [{"field": "spec", "message": "no", "reason": "a"}]},
    "code": 403,
}

GROUP: dict[str, Any] = {
    "metadata": {
        "namespace": "n",
        "name": "g",
        "generation": 2,
        "uid": "u",
        "annotations": {"tidegate.dev/note": "a note"},
    },
    "spec": {
        "engine": "python",
        "paused": False,
        "pausedPartitions": ["1"],
        "pins": {"0": "g-0"},
        "delivery": {"onFailure": "retry", "deadLetters": {"blob": {"container": "c"}}},
    },
    "status": {
        "observedGeneration": 2,
        "source": "eventhubs",
        "state": "Balanced",
        "ready": "2/2",
        "wanted": 2,
        "replicas": 2,
        "partitions": 2,
        "owned": 2,
        "lag": 1203,
        "lagKind": "exact",
        "lagPartitions": 2,
        "behind": "2s",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "AllPodsReady",
                "message": "",
                "lastTransitionTime": "2026-11-19T10:00:00Z",
            },
            {"type": "Stuck", "status": "True", "reason": "Stuck", "message": "m"},
        ],
        "members": [
            {"name": "g-0", "ready": True, "partitions": 2, "weight": 1.0, "leaving": False},
        ],
        "partitionStates": [
            {
                "partition": "0",
                "owner": "g-0",
                "epoch": 3,
                "sequenceNumber": 5,
                "lag": 0,
                "lagKind": "exact",
                "behindSeconds": 0.5,
                "deadLettered": 1,
            },
            {"partition": "1", "epoch": 3, "lagKind": "unknown"},
        ],
        "scaling": {
            "mode": "Auto",
            "objective": "within 60s",
            "wanted": 2,
            "arriving": 5.5,
            "handling": 6.5,
            "perConsumer": 100.5,
        },
    },
}

REVIEWS: tuple[dict[str, Any], ...] = (
    {"authenticated": False, "error": "no"},
    {
        "authenticated": True,
        "user": {"username": "ben", "uid": "u", "groups": ["a"], "extra": {"a": ["b"]}},
        "audiences": ["a"],
    },
    {"allowed": True, "denied": False, "reason": "r"},
)
