"""Which rights were used, by an API server's audit log, and which are granted, by its Roles.

Rules: a right is a verb on a resource of an API group. Server-side apply is a patch, and where it
made the object the API server has asked for the right to create it as well. What was refused was
not granted, and is told apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Document = dict[str, Any]

# Requests of ServiceAccounts, when they have been answered; a watch, when it begins.
POLICY: Document = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts"]}],
}


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """Prints as people say it: 'patch deployments.apps'."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f".{self.group}" if self.group else "")


def audit_options(folder: Path) -> list[str]:
    """The API server's, for a log in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(POLICY), encoding="utf-8")
    return ["--audit-policy-file", str(policy), "--audit-log-path", str(folder / "audit.log")]


def used_and_refused(folder: Path, user: str) -> tuple[set[Right], set[Right]]:
    """Of one user, so far."""
    used: set[Right] = set()
    refused: set[Right] = set()
    for line in (folder / "audit.log").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        about = event.get("objectRef")
        if event["user"]["username"] != user or about is None:
            continue
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        right = Right(about.get("apiGroup", ""), resource, event["verb"])
        code = event["responseStatus"].get("code", 0)
        if code == 403:
            refused.add(right)
            continue
        used.add(right)
        if right.verb == "patch" and code == 201:
            used.add(Right(right.group, right.resource, "create"))
    return used, refused


def granted(roles: Iterable[Document]) -> set[Right]:
    """By Roles and ClusterRoles together."""
    return {
        Right(group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def without(role: Document, right: Right) -> Document:
    """The same role without one right."""
    rules = []
    for rule in role["rules"]:
        is_of_it = right.group in rule["apiGroups"] and right.resource in rule["resources"]
        verbs = [verb for verb in rule["verbs"] if not is_of_it or verb != right.verb]
        if verbs:
            rules.append({**rule, "verbs": verbs})
    return {**role, "rules": rules}
