"""A group as the API server has it, for the tests of the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Document = dict[str, Any]
# Carries out the words of a command line; gives the exit code.
Run = Callable[..., int]
NAMESPACE, NAME = "homes", "home-activity"


def condition(type: str, status: str, reason: str, message: str = "") -> Document:
    return {"type": type, "status": status, "reason": reason, "message": message}


def state(partition: str, owner: str | None, **more: Any) -> Document:
    found = {"partition": partition, "epoch": 3, "sequenceNumber": 1999, "lag": 0,
             "lagKind": "exact", "behindSeconds": 0.0}  # fmt: skip
    return {**found, **({"owner": owner} if owner is not None else {}), **more}


def member(name: str, **more: Any) -> Document:
    return {"name": name, "ready": True, "partitions": 2, "weight": 1.0, "leaving": False, **more}


def group(*, spec: Document | None = None, status: Document | None = None) -> Document:
    """Four partitions, of two members, all of it well."""
    well: Document = {
        "observedGeneration": 2,
        "source": "eventhubs",
        "state": "Balanced",
        "ready": "2/2",
        "wanted": 2,
        "replicas": 2,
        "partitions": 4,
        "owned": 4,
        "lag": 1203,
        "lagKind": "exact",
        "lagPartitions": 4,
        "behind": "2s",
        "conditions": [
            condition("Ready", "True", "AllPodsReady"),
            condition("Balanced", "True", "Balanced"),
            condition("Scaling", "False", "AsWanted"),
            condition("Stuck", "False", "NotStuck"),
        ],
        "members": [member("home-a"), member("home-b")],
        "partitionStates": [state(str(at), f"home-{'ab'[at % 2]}") for at in range(4)],
    }
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"namespace": NAMESPACE, "name": NAME, "generation": 2, "uid": "u-1"},
        "spec": {
            "source": {
                "eventHubs": {
                    "hub": "telemetry",
                    "connectionString": {"secret": "servers", "key": "events"},
                }
            },
            "ledger": {
                "container": "ledger",
                "connectionString": {"secret": "servers", "key": "storage"},
            },
            "handler": {"code": "handler.py:handle", "configMap": "code"},
            **(spec or {}),
        },
        "status": well if status is None else status,
    }
