"""What an engine needs to know to write a group's manifests, and the names of what it writes.

Rules: pure and frozen; the same input gives the same manifests to the byte, so that nothing rolls
because the operator was started anew. Replicas are not here: they are written on their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tidegate.group_file.spark_spec import SparkSpec
from tidegate_operator.kinds import CONSUMER_GROUP, Document
from tidegate_operator.model import GroupKey
from tidegate_operator.pod_security import Profile
from tidegate_operator.spec import OperatorSpec, secrets_of
from tidegate_operator.spec_group_file import group_document

PREFIX = "tidegate.dev/"
GROUP_LABEL = f"{PREFIX}group"
# Says of a pod of Spark's whether it is the driver or an executor.
ROLE_LABEL = f"{PREFIX}role"
# Says of a Deployment which ledger its pods were made for.
LEDGER = f"{PREFIX}ledger"
# What its pods are made from, and what the user had asked for then: see turns.py.
TEMPLATE, ASKED = f"{PREFIX}template", f"{PREFIX}asked"
# Of a driver's Deployment: how many executors its driver begins with.
EXECUTORS = f"{PREFIX}executors"
MANAGED_BY = "app.kubernetes.io/managed-by"
OPERATOR = "tidegate"


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SecretMount:
    """The keys of a Secret that the consumer reads as files."""

    name: str
    keys: frozenset[str]
    # A salted hash of what is in them; '' while it is not there.
    hash: str = ""


@dataclass(frozen=True, slots=True)
class RenderInput:
    """A group, as far as its manifests say it."""

    key: GroupKey
    uid: str
    # The text of group.yaml, with the places of secrets instead of their names.
    group_yaml: str
    image: str
    pull_policy: str = "IfNotPresent"
    # Those of spec.delivery: how long one call may take, and how long one that was told to stop.
    handler_timeout_s: float = 300.0
    told_s: float = 10.0
    secrets: tuple[SecretMount, ...] = ()
    # The ConfigMap with the handler's files, and a hash of what is in it.
    handler_config_map: str | None = None
    handler_hash: str = ""
    # The user's own ServiceAccount; None where we make one, with these annotations.
    service_account: str | None = None
    service_account_annotations: Mapping[str, str] = field(default_factory=_nothing)
    # The pod template that is merged over ours.
    template: Mapping[str, Any] = field(default_factory=_nothing)
    # The profile that it must keep to.
    profile: Profile = Profile.BASELINE
    # Which ledger the pods meet in.
    ledger: str = ""
    # A hash of what the user has said that pods are made from.
    asked: str = ""
    # Of the engine `spark`: what its processes are given, and how many executors a driver that
    # begins asks for.
    spark: SparkSpec = field(default_factory=SparkSpec)
    executors: int = 1


def render_input(
    key: GroupKey,
    uid: str,
    spec: OperatorSpec,
    *,
    image: str,
    pull_policy: str,
    secret_hashes: Mapping[str, str],
    handler_hash: str,
    ledger: str = "",
    asked: str = "",
    executors: int = 1,
    profile: Profile = Profile.BASELINE,
) -> RenderInput:
    """What the engine needs, of what is asked for and of what was read by name."""
    secrets = secrets_of(spec).items()
    return RenderInput(
        key,
        uid,
        group_document(key.name, spec),
        spec.image or image,
        pull_policy,
        spec.delivery.timeout_s,
        spec.delivery.told_s,
        tuple(SecretMount(name, keys, secret_hashes.get(name, "")) for name, keys in secrets),
        spec.handler.config_map,
        handler_hash,
        spec.service_account_name,
        spec.service_account_annotations,
        spec.template or _nothing(),
        profile,
        ledger,
        asked,
        spec.spark or SparkSpec(),
        executors,
    )


def told_executors(deployment: Document) -> int:
    """How many executors a driver of this Deployment begins with."""
    said = str((deployment["metadata"].get("annotations") or {}).get(EXECUTORS, ""))
    return int(said) if said.isdecimal() else 1


def labels_of(key: GroupKey) -> dict[str, str]:
    """The labels of all that is made for a group."""
    return {**selector_of(key), MANAGED_BY: OPERATOR}


def selector_of(key: GroupKey) -> dict[str, str]:
    """The labels by which a group's pods are found; a Deployment's can never be changed."""
    return {
        "app.kubernetes.io/name": OPERATOR,
        "app.kubernetes.io/instance": key.name,
        GROUP_LABEL: key.name,
    }


def metadata_of(wanted: RenderInput, name: str) -> Document:
    """The metadata of an object that goes when the group goes."""
    owner = {
        "apiVersion": CONSUMER_GROUP.api_version,
        "kind": CONSUMER_GROUP.name,
        "name": wanted.key.name,
        "uid": wanted.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": wanted.key.namespace,
        "labels": labels_of(wanted.key),
        "ownerReferences": [owner],
    }


def hash_of(text: str) -> str:
    """Short, and another one where the text is another one."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
