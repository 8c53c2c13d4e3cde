"""The kinds of Kubernetes objects that the operator reads or writes, and where the API has them.

Rules: pure; a kind that is not here is not touched. An object's name says its kind, its namespace
and what it is called, and nothing else identifies it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

# An object as the API gives and takes it.
Document = dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A kind of the API. They live in namespaces, but for reviews, which are kept nowhere."""

    api_version: str
    name: str
    plural: str

    @property
    def group(self) -> str:
        """'' for the core kinds."""
        return self.api_version.rpartition("/")[0]

    @property
    def resource(self) -> str:
        """As `kubectl get` and roles name it: deployments.apps."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str, name: str, part: str = "") -> str:
        """Where the API has one object, or a part of it such as its status.

        Raises ValueError where there is no name: that would be all of them.
        """
        if not namespace or not name:
            raise ValueError(f"one of the {self.plural} was asked for without its name")
        return self.list_path(namespace) + "".join(_step(step) for step in (name, part) if step)

    def list_path(self, namespace: str | None = None) -> str:
        """Where the API has all of them: of a namespace, or of all namespaces."""
        root = ("/apis/" if self.group else "/api/") + self.api_version
        inside = "" if namespace is None else f"/namespaces{_step(namespace)}"
        return f"{root}{inside}/{self.plural}"


@dataclass(frozen=True, slots=True, order=True)
class ObjectName:
    """Which object."""

    kind: Kind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


ACCESS_REVIEW = Kind("authorization.k8s.io/v1", "SubjectAccessReview", "subjectaccessreviews")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
CONSUMER_GROUP = Kind("tidegate.dev/v1alpha1", "ConsumerGroup", "consumergroups")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
EVENT = Kind("v1", "Event", "events")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
NETWORK_POLICY = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")
POD = Kind("v1", "Pod", "pods")
REPLICA_SET = Kind("apps/v1", "ReplicaSet", "replicasets")
ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")
SECRET = Kind("v1", "Secret", "secrets")
SERVICE = Kind("v1", "Service", "services")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
STATEFUL_SET = Kind("apps/v1", "StatefulSet", "statefulsets")
TOKEN_REVIEW = Kind("authentication.k8s.io/v1", "TokenReview", "tokenreviews")

ALL = (
    CONFIG_MAP,
    CONSUMER_GROUP,
    DEPLOYMENT,
    DISRUPTION_BUDGET,
    EVENT,
    LEASE,
    NETWORK_POLICY,
    POD,
    REPLICA_SET,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
# What is made for pods, and what they start without.
BESIDE_PODS = frozenset((DISRUPTION_BUDGET, SERVICE))
_KINDS = {(kind.api_version, kind.name): kind for kind in ALL}


def name_of(document: Document) -> ObjectName:
    """Which object a document is. Raises KeyError for a kind that is not ours to touch."""
    kind = _KINDS[document["apiVersion"], document["kind"]]
    meta = document["metadata"]
    return ObjectName(kind, meta["namespace"], meta["name"])


def _step(name: str) -> str:
    return f"/{quote(name, safe='')}"
