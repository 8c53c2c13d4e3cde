"""What a run is asked for, checked: the engine, the source, where it runs and what it may touch.

Rules: pure. A run touches objects of its own name in one namespace, and of others the operator's
Deployment alone, where that was named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tidegate.settings import SettingsError
from tidegate_operator.conformance.plan import KINDS, left_out

LABEL = "tidegate.dev/conformance"


class Engine(StrEnum):
    """What runs the group."""

    PYTHON = "python"
    SPARK = "spark"
    MIXED = "mixed"


class Source(StrEnum):
    """What it reads."""

    HUB = "hub"
    COSMOS = "cosmos"


@dataclass(frozen=True, slots=True)
class Images:
    """Of the pods that a run makes."""

    tidegate: str = "tidegate.local/tidegate:dev"
    hub: str = "tidegate.local/hub:dev"
    storage: str = "tidegate.local/azurite:dev"


@dataclass(frozen=True, slots=True)
class Operator:
    """The operator's Deployment, and its Lease of the same name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> Operator:
        """Raises SettingsError."""
        namespace, _, name = text.partition("/")
        if not namespace or not name or "/" in name:
            raise SettingsError(f"--operator {text!r}: write NAMESPACE/DEPLOYMENT")
        return cls(namespace, name)


@dataclass(frozen=True, slots=True)
class Given:
    """A hub, or container, and storage of the user's own, from a ConsumerGroup."""

    source: Mapping[str, Any]
    ledger: Mapping[str, Any]
    # Other keys of its spec: image, and how its pods are known.
    others: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Options:
    """See the module."""

    namespace: str
    seed: int
    seconds: float
    name: str = "conformance"
    engine: Engine = Engine.PYTHON
    source: Source = Source.HUB
    replicas: int = 3
    partitions: int = 12
    images: Images = field(default_factory=Images)
    operator: Operator | None = None
    given: Given | None = None
    # The file that it came from, as it was named.
    group_file: str = ""
    # Kinds of disturbances; all without.
    only: tuple[str, ...] = ()

    @property
    def is_embedded(self) -> bool:
        return self.given is None

    def checked(self) -> Options:
        """Raises SettingsError."""
        if self.engine is not Engine.PYTHON and self.source is Source.COSMOS:
            raise SettingsError(
                "conformance with Spark is of event hubs alone: write --engine python with cosmos"
            )
        unknown = [each for each in self.only if each not in KINDS]
        if unknown:
            raise SettingsError(f"--only {unknown[0]}: write one of {', '.join(KINDS)}")
        lacking = {
            each: why for each, why in left_out(self.abilities()).items() if each in self.only
        }
        for name, why in lacking.items():
            raise SettingsError(f"--only {name}: this run has not what it needs: {why}")
        if self.replicas < 2:
            raise SettingsError("--replicas: write 2 or more: one consumer has nobody to give to")
        if self.partitions < self.replicas:
            raise SettingsError("--partitions: write as many as there are --replicas, or more")
        return self

    def abilities(self) -> frozenset[str]:
        """What can be done to the group: words of the plan."""
        can = {"scale"}
        if self.is_embedded:
            can.add("proxy")
            can.add("hub" if self.source is Source.HUB else "ranges")
        if self.operator is not None:
            can.add("operator")
        if self.engine is Engine.PYTHON:
            can |= {"pods", "exec"}
        else:
            can.add("spark")
        if self.engine is Engine.MIXED:
            can.add("exec")
        return frozenset(can)


def given_in(document: Mapping[str, Any]) -> Given:
    """What of a ConsumerGroup is taken over. Raises SettingsError."""
    spec = document.get("spec") or {}
    source = spec.get("source") or {}
    for kind, keys in (("eventHubs", ("hub",)), ("cosmos", ("database", "container"))):
        if kind in source:
            missing = [key for key in keys if not source[kind].get(key)]
            if missing:
                raise SettingsError(f"spec.source.{kind}: {missing[0]} is missing: write it")
            _secret(source[kind], f"spec.source.{kind}")
            break
    else:
        raise SettingsError("spec.source: write eventHubs or cosmos, as for any group")
    ledger = spec.get("ledger") or {}
    if not ledger.get("container"):
        raise SettingsError("spec.ledger.container: name one in Blob storage: conformance reads it")
    _secret(ledger, "spec.ledger")
    taken = ("image", "serviceAccountName", "serviceAccountAnnotations")
    others = {key: spec[key] for key in taken if key in spec}
    return Given(source, ledger, others)


def _secret(holder: Mapping[str, Any], where: str) -> None:
    found = holder.get("connectionString") or {}
    if not isinstance(found, Mapping) or not found.get("secret") or not found.get("key"):
        raise SettingsError(
            f"{where}.connectionString: write {{secret: NAME, key: KEY}}: the agent's pod is given "
            "that key of the Secret, as the group's pods are"
        )


def secret_of(holder: Mapping[str, Any]) -> tuple[str, str]:
    """Name and key of a connection string."""
    found = holder["connectionString"]
    return str(found["secret"]), str(found["key"])
