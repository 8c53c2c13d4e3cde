"""YAML as values that know their line, so that an error can say where it is.

Rules: what is read is plain YAML: no tags of its own, no merge keys, no key twice. A file may hold
other documents beside the group, as Kubernetes' files do. What the API server gives is JSON, and
has no lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tidegate.settings import SettingsError

_PREFIX = "tag:yaml.org,2002:"


class FileError(SettingsError):
    """What the group file says cannot work; the message says on which line and what to write."""


@dataclass(frozen=True, slots=True)
class Value:
    """A place in the file."""

    # 0 in a document that is no file.
    line: int
    # 'str', 'int', 'float', 'bool', 'null', 'timestamp', 'map' or 'list'.
    kind: str
    text: str = ""
    fields: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str) -> Value | None:
        return next((value for key, value in self.fields if key == name), None)


def documents(text: str, name: str) -> Iterator[Value]:
    """Every document of a file. Raises FileError."""
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            if node is not None:
                yield _value(node, name)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise FileError(f"{name}:{line}: this is no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise FileError(f"{name}: this is no YAML: {error}") from None


def _value(node: Any, name: str) -> Value:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Value] = {}
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise FileError(f"{name}:{line}: a key has to be a word")
            if key.value in fields:
                where = key.start_mark.line + 1
                raise FileError(f"{name}:{where}: '{key.value}' is there twice")
            fields[key.value] = _value(inner, name)
        return Value(line, "map", fields=tuple(fields.items()))
    if isinstance(node, yaml.SequenceNode):
        inner = tuple((str(at), _value(each, name)) for at, each in enumerate(node.value))
        return Value(line, "list", fields=inner)
    kind = node.tag.removeprefix(_PREFIX)
    return Value(line, kind, node.value)


def value_of(document: Any) -> Value:
    """A JSON document as values without lines."""
    if isinstance(document, Mapping):
        return Value(
            0, "map", fields=tuple((str(key), value_of(each)) for key, each in document.items())
        )
    if isinstance(document, list | tuple):
        return Value(
            0, "list", fields=tuple((str(at), value_of(each)) for at, each in enumerate(document))
        )
    if document is None:
        return Value(0, "null")
    if isinstance(document, bool):
        return Value(0, "bool", "true" if document else "false")
    return Value(0, type(document).__name__, str(document))


def plain_of(value: Value) -> Any:
    """A value as JSON has it, for what is handed on as it is."""
    if value.kind == "map":
        return {key: plain_of(each) for key, each in value.fields}
    if value.kind == "list":
        return [plain_of(each) for _, each in value.fields]
    if value.kind == "float":
        return float(value.text.replace("_", ""))
    if value.kind in ("int", "bool", "null"):
        return yaml.safe_load(value.text) if value.text else None
    return value.text
