"""Somebody who may do what some Roles say and nothing else, for tests of rights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.cluster_kubectl import Kubectl


def role_holder(inside: Kubectl, name: str, roles: list[dict[str, Any]], file: Path) -> Path:
    """A kubeconfig of a new ServiceAccount that is bound to these Roles."""
    inside.said("create", "serviceaccount", name)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": inside.namespace}
    for role in roles:
        reference = {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
            "name": role["metadata"]["name"],
        }  # fmt: skip
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": role["metadata"], "roleRef": reference, "subjects": [subject],
        }  # fmt: skip
        inside.apply(role, binding)
    token = inside.said("create", "token", name).strip()
    config = json.loads(inside.said("config", "view", "--raw", "--minify", "--output", "json"))
    config["users"] = [{"name": name, "user": {"token": token}}]
    for context in config["contexts"]:
        context["context"]["user"] = name
    file.write_text(json.dumps(config), encoding="utf-8")
    return file
