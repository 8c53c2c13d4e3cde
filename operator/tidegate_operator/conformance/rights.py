"""The rights that a run needs: as text, and as Roles for `kubectl apply`.

Rules: pure; one table for both, and for the test in which a run has these rights alone.
"""

from __future__ import annotations

from typing import Any

from tidegate_operator.kinds import Document

# API group, resources, verbs: in the namespace of the run.
OF_A_RUN = (
    ("tidegate.dev", ("consumergroups",), ("get", "list", "create", "patch", "delete")),
    ("", ("pods",), ("get", "list", "create", "delete")),
    ("", ("pods/proxy",), ("get", "create", "delete")),
    ("", ("pods/exec",), ("get", "create")),
    ("", ("services", "configmaps"), ("list", "create", "delete")),
    ("", ("secrets",), ("create",)),
    ("networking.k8s.io", ("networkpolicies",), ("get", "list", "create", "delete")),
    ("", ("events",), ("list",)),
    ("apps", ("deployments",), ("get",)),
)
# In the namespace of the operator that --operator names.
OF_THE_OPERATOR = (
    ("apps", ("deployments",), ("get", "patch")),
    ("", ("pods",), ("get", "list", "delete")),
    ("coordination.k8s.io", ("leases",), ("get",)),
)
_RBAC = "rbac.authorization.k8s.io"
NAME = "tidegate-conformance"


def _lines(rules: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]) -> list[str]:
    return [
        f"  {', '.join(f'{each}.{group}' if group else each for each in resources)}: "
        f"{', '.join(verbs)}"
        for group, resources, verbs in rules
    ]


RIGHTS = "\n".join(
    [*_lines(OF_A_RUN), "and with --operator, in its namespace:", *_lines(OF_THE_OPERATOR)]
)


def roles(namespace: str, operator_namespace: str = "") -> list[Document]:
    """The Roles that allow a run, to be bound to whoever runs it."""
    found = [_role(NAME, namespace, OF_A_RUN)]
    if operator_namespace:
        found.append(_role(f"{NAME}-operator", operator_namespace, OF_THE_OPERATOR))
    return found


def _role(name: str, namespace: str, rules: Any) -> Document:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": [
            {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
            for group, resources, verbs in rules
        ],
    }
