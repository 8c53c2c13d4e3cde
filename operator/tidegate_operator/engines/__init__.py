"""Engines: each makes the manifests of a group out of what the group wants.

Rules: pure. A group never changes its engine: whatever it may have made is in the engine's `names`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from tidegate.group_file.spark_spec import EngineKind
from tidegate_operator.engines.inputs import RenderInput, SecretMount
from tidegate_operator.engines.python import PythonEngine
from tidegate_operator.engines.spark import SparkEngine
from tidegate_operator.kinds import Document, ObjectName
from tidegate_operator.model import GroupKey

__all__ = ["Engine", "EngineNotThereError", "RenderInput", "SecretMount", "engine_of"]


class EngineNotThereError(ValueError):
    """The group asks for an engine that this operator was not given."""

    reason = "EngineNotThere"


class Engine(Protocol):
    """What runs the members of a group."""

    def manifests(self, wanted: RenderInput) -> tuple[Document, ...]:
        """All objects of the group, in the order in which they are applied.

        Raises TemplateError.
        """
        ...

    def names(self, key: GroupKey) -> tuple[ObjectName, ...]:
        """All objects that it may make for a group, also those that this group does not want."""
        ...


_ENGINES: Mapping[EngineKind, Engine] = MappingProxyType(
    {EngineKind.PYTHON: PythonEngine(), EngineKind.SPARK: SparkEngine()}
)


def engine_of(kind: EngineKind) -> Engine:
    return _ENGINES[kind]


def all_names_of(key: GroupKey) -> frozenset[ObjectName]:
    """All objects that any engine may have made for a group."""
    return frozenset(name for engine in _ENGINES.values() for name in engine.names(key))
