"""Reading a JSON document so that every complaint says where: source, key path, expectation.

Rules:

- A `Node` is a value with its path. It is asked for what is expected of it, and raises a
  ConfigError in one form: `Config.json: UserConfig.NamespaceConfig[0].Name: expected …, found …`,
  or `…: is missing; expected …`.
- Text that is not JSON gives line and column.
- A key that is nearly a known one is reported, so that a misspelling is not silently ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from tidegate_http.messages import shown

_MISSING: Final = object()
_SIMILAR: Final = 0.8


class ConfigError(ValueError):
    """A declaration of hubs that cannot be used: where, what was expected, what was found."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value of the document, with the name of the source and the path that leads to it."""

    source: str
    path: str
    value: object

    def error(self, expected: str, found: object = _MISSING) -> ConfigError:
        """What to raise when the value is not what was expected."""
        text = shown(self.value if found is _MISSING else found)
        return ConfigError(f"{self._where()}: expected {expected}, found {text}")

    def as_object(self, known: Sequence[str]) -> Node:
        """Itself, if it is an object none of whose keys looks like a misspelt known one."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        for key in self.value:
            meant = [] if key in known else get_close_matches(key, known, n=1, cutoff=_SIMILAR)
            if meant and meant[0] not in self.value:
                raise ConfigError(
                    f'{self._where()}: unknown key "{key}"; did you mean "{meant[0]}"?'
                )
        return self

    def as_list(self) -> list[Node]:
        """Its items, if it is a list."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [
            Node(self.source, f"{self.path}[{index}]", item)
            for index, item in enumerate(self.value)
        ]

    def get(self, key: str) -> Node | None:
        """The value of a key; None if it is missing or null."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return None if value is None else Node(self.source, self._below(key), value)

    def need(self, key: str, expected: str) -> Node:
        """The value of a key that must be there; an error says what was expected of it."""
        node = self.get(key)
        if node is None:
            raise ConfigError(f"{self.source}: {self._below(key)}: is missing; expected {expected}")
        return node

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def _where(self) -> str:
        return f"{self.source}: {self.path}" if self.path else self.source


def read_json(text: str, source: str) -> Node:
    """The document's outermost value. Raises ConfigError with line and column."""
    try:
        return Node(source, "", json.loads(text.removeprefix("\ufeff")))
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{source}: line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}"
        ) from None
    except (RecursionError, ValueError):
        raise ConfigError(
            f"{source}: not valid JSON: it is nested too deeply or has too long a number"
        ) from None
