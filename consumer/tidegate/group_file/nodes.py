"""YAML as values that know their line, so that an error can say where it is.

Rules: what is read is plain YAML: no tags of its own, no merge keys, no key twice. A file may hold
other documents beside the group, as Kubernetes' files do. What the API server gives is JSON, and
has no lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import yaml

from tidegate.settings import SettingsError

_PREFIX = "tag:yaml.org,2002:"
_PLAIN_KINDS = ("int", "float", "bool", "null")
_resolved: Any = yaml.SafeLoader("").resolve
# Nothing that a group says does. Whoever walks through a document goes down as often.
_DEEPEST = 100
_TOO_DEEP = f"it nests deeper than {_DEEPEST} lists and maps: write it flatter"
# Aliases of aliases make billions of values out of some lines.
_MOST_VALUES = 50_000
_TOO_MANY = f"it has more than {_MOST_VALUES} values once its aliases are written out: use fewer"


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
    left = _Left(name)
    try:
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            if node is not None:
                yield _value(node, left, 0)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise FileError(f"{name}:{line}: this is no YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise FileError(f"{name}: this is no YAML: {error}") from None
    except RecursionError:
        raise FileError(f"{name}: {_TOO_DEEP}") from None


def document_of(text: str, name: str) -> Any:
    """The one document of a file, as JSON has it; None for an empty file. Raises FileError."""
    found = list(documents(text, name))
    if len(found) > 1:
        raise FileError(f"{name}: it has {len(found)} documents; it must have one")
    return plain_of(found[0]) if found else None


class _Left:
    """How many values a file may still have."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._values = _MOST_VALUES

    def take(self, line: int) -> None:
        self._values -= 1
        if self._values < 0:
            raise FileError(f"{self.name}:{line}: {_TOO_MANY}")


def _whole(text: str, name: str, line: int) -> str:
    """Join the two escapes that JSON in ASCII has for one character beyond 16 bits."""
    if not any("\ud800" <= each <= "\udfff" for each in text):
        return text
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise FileError(
            f"{name}:{line}: it has half of a character, such as \\ud83d alone: write the "
            "character itself"
        ) from None


def _value(node: Any, left: _Left, depth: int) -> Value:
    line, name = node.start_mark.line + 1, left.name
    left.take(line)
    if depth > _DEEPEST:
        raise FileError(f"{name}:{line}: {_TOO_DEEP}")
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Value] = {}
        for key, inner in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise FileError(f"{name}:{line}: a key has to be a word")
            where = key.start_mark.line + 1
            word = _whole(key.value, name, where)
            if word in fields:
                raise FileError(f"{name}:{where}: '{word}' is there twice")
            fields[word] = _value(inner, left, depth + 1)
        return Value(line, "map", fields=tuple(fields.items()))
    if isinstance(node, yaml.SequenceNode):
        items = [(str(at), _value(each, left, depth + 1)) for at, each in enumerate(node.value)]
        return Value(line, "list", fields=tuple(items))
    kind = node.tag.removeprefix(_PREFIX)
    if kind in _PLAIN_KINDS and _resolved(type(node), node.value, (True, False)) != node.tag:
        raise FileError(f"{name}:{line}: '{node.value:.60}' is no {kind}: leave its tag out")
    return Value(line, kind, _whole(node.value, name, line))


def value_of(document: Any, depth: int = 0) -> Value:
    """A JSON document as values without lines. Raises FileError."""
    if depth > _DEEPEST:
        raise FileError(_TOO_DEEP)
    if isinstance(document, Mapping):
        pairs = [(str(key), value_of(each, depth + 1)) for key, each in document.items()]
        return Value(0, "map", fields=tuple(pairs))
    if isinstance(document, list | tuple):
        items = [(str(at), value_of(each, depth + 1)) for at, each in enumerate(document)]
        return Value(0, "list", fields=tuple(items))
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
    if value.kind not in _PLAIN_KINDS or not value.text:
        return None if value.kind == "null" else value.text
    try:
        found = yaml.safe_load(value.text) if value.kind != "float" else _float_of(value.text)
    except ValueError:
        where = f"line {value.line}: " if value.line else ""
        raise FileError(f"{where}'{value.text:.60}' is no number that JSON has") from None
    return found


def _float_of(text: str) -> float:
    """Raises ValueError."""
    found = float(text.replace("_", ""))
    if not isfinite(found):
        raise ValueError
    return found
