"""The CustomResourceDefinition of ConsumerGroup, made from the typed settings.

    python -m tidegate_operator.crd FILE...        writes it to these files; without any, prints it

Rules: pure but for that. crds/consumergroups.yaml is what this writes, and a test holds them the
same.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from tidegate.group_file.reading import API_VERSION, KIND
from tidegate_operator.spec_rules import NAME_RULE
from tidegate_operator.spec_schema import spec_schema, status_schema

_HEAD = "# Made from the code, by `python -m tidegate_operator.crd`: see docs/consumergroup.md.\n"
_GROUP, _, _VERSION = API_VERSION.partition("/")

PLURAL = "consumergroups"
CRD_NAME = f"{PLURAL}.{_GROUP}"

# Name, JSON path, type, meaning; those with a priority are shown with `--output wide`.
COLUMNS: tuple[tuple[str, str, str, str, int], ...] = (
    ("Source", ".status.source", "string", "Where events come from.", 0),
    ("Engine", ".spec.engine", "string", "What runs the handler.", 0),
    ("Ready", ".status.ready", "string", "Consumers that have joined, of those wanted.", 0),
    ("Wanted", ".status.wanted", "integer", "How many consumers there are to be.", 0),
    ("Partitions", ".status.partitions", "integer", "Partitions of the source.", 0),
    ("Owned", ".status.owned", "integer", "Partitions that have an owner.", 0),
    ("Lag", ".status.lag", "integer", "Events not yet handled.", 0),
    ("Behind", ".status.behind", "string", "How long the oldest of them has waited.", 0),
    ("Status", ".status.state", "string", "How it stands.", 0),
    ("Age", ".metadata.creationTimestamp", "date", "Since when there is this group.", 0),
    ("Deleted", ".metadata.deletionTimestamp", "date", "Since when it is being deleted.", 0),
    ("Hub", ".spec.source.eventHubs.hub", "string", "The event hub.", 1),
    ("Consumer Group", ".spec.source.eventHubs.consumerGroup", "string", "The hub's group.", 1),
    ("Container", ".spec.source.cosmos.container", "string", "The Cosmos container.", 1),
    ("Observed", ".status.observedTime", "date", "When the operator saw it like this.", 1),
    ("Message", ".status.message", "string", "Why it is so.", 1),
)


def definition() -> dict[str, Any]:
    """The whole document."""
    version = {
        "name": _VERSION,
        "served": True,
        "storage": True,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [_column(*each) for each in COLUMNS],
        "schema": {"openAPIV3Schema": _schema()},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD_NAME},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["cg"],
                "categories": ["tidegate"],
            },
            "versions": [version],
        },
    }


def _column(name: str, path: str, kind: str, text: str, priority: int) -> dict[str, Any]:
    found = {"name": name, "jsonPath": path, "type": kind, "description": text}
    return {**found, "priority": priority} if priority else found


def _schema() -> dict[str, Any]:
    return {
        "type": "object",
        "description": (
            "Everybody who shares the work on one source: consumers, as many as are wanted, which "
            "balance its partitions among themselves and keep their positions in one ledger."
        ),
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec_schema(),
            "status": status_schema(),
        },
        "x-kubernetes-validations": [NAME_RULE.document],
    }


class _Dumper(yaml.SafeDumper):
    """Writes a part that stands in two places twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def text() -> str:
    """The file."""
    body = yaml.dump(definition(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return _HEAD + body


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(text(), encoding="utf-8")
    if not sys.argv[1:]:
        print(text(), end="")
