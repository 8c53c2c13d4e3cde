"""Engines: each makes the manifests of a group out of what the group wants.

Rules: pure. An engine that is named and not there is an error for people, told in a condition.
Whatever any engine ever makes is in `names_of`, so that a change of engine leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from tidegate_operator.engines.inputs import RenderInput, SecretMount
from tidegate_operator.engines.python import PythonEngine
from tidegate_operator.kinds import Document, ObjectName
from tidegate_operator.model import GroupKey

__all__ = ["Engine", "EngineNotThereError", "RenderInput", "SecretMount", "engine_of", "names_of"]


class EngineNotThereError(ValueError):
    """The group asks for an engine that this version does not have."""

    reason = "EngineNotThere"


class Engine(Protocol):
    """What runs the consumers of a group."""

    def manifests(self, wanted: RenderInput) -> tuple[Document, ...]:
        """All objects of the group, in the order in which they are applied.

        Raises TemplateError.
        """
        ...

    def names(self, key: GroupKey) -> tuple[ObjectName, ...]:
        """All objects that it may make for a group, also those that this group does not want."""
        ...


_ENGINES: Mapping[str, Engine] = MappingProxyType({"python": PythonEngine()})


def engine_of(name: str) -> Engine:
    """The engine of this name. Raises EngineNotThereError."""
    engine = _ENGINES.get(name)
    if engine is None:
        raise EngineNotThereError(
            f"spec.engine {name}: this version of the operator does not have it; write "
            f"{' or '.join(_ENGINES)}"
        )
    return engine


def names_of(key: GroupKey) -> tuple[ObjectName, ...]:
    """All objects that any engine may have made for a group."""
    return tuple(name for engine in _ENGINES.values() for name in engine.names(key))
