"""docs/settings.md, from the typed settings: `python -m tidegate.group_file.pages` prints it."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from tidegate.group_file.names import camel_name
from tidegate.group_file.spec import OPERATORS, GroupSpec, Secret
from tidegate.sources.start import Start

_HEAD = """\
# Settings of a group

A group file is the `ConsumerGroup` document that the operator takes, and `tidegate run` reads the
same file. This page is made from the code, by `python -m tidegate.group_file.pages`.

```yaml
apiVersion: tidegate.dev/v1alpha1
kind: ConsumerGroup
metadata: {name: home-activity}
spec:
  source:
    eventHubs: {hub: telemetry, connectionString: {env: EVENTS}}
  ledger: {container: ledger, connectionString: {env: STORAGE}}
  handler: {code: "handler.py:handle"}
```

A key that is not known is an error that says which one was probably meant. These keys of `spec`
are the operator's, and `tidegate run` passes over them: {passed_over}.
Secrets are never in the file: it says in which environment variable or file they are.
"""


def page() -> str:
    """The whole page."""
    passed_over = ", ".join(f"`{key}`" for key in OPERATORS)
    parts = [_HEAD.replace("{passed_over}", passed_over)]
    parts += _tables(GroupSpec, "spec", "What a consumer reads.", {Secret})
    return "\n".join(parts)


def _tables(section: type[Any], path: str, text: str, seen: set[type[Any]]) -> Iterator[str]:
    hints = typing.get_type_hints(section)
    rows, inner = [], []
    for each in fields(section):
        kind = _kind(hints[each.name])
        name = camel_name(each.name)
        rows.append(f"| `{name}` | {_type(kind, path, name)} | {_default(each)} | {_help(each)} |")
        if is_dataclass(kind) and kind is not Start:
            inner.append((typing.cast(type[Any], kind), f"{path}.{name}"))
    yield f"## {path}\n{text}\n"
    yield "\n".join(["| key | type | default | meaning |", "| --- | --- | --- | --- |", *rows, ""])
    for kind, below in inner:
        if kind not in seen:
            seen.add(kind)
            yield from _tables(kind, below, _purpose(kind), seen)


def _kind(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        (hint,) = (each for each in hint.__args__ if each is not types.NoneType)
    return hint


def _type(kind: Any, path: str, name: str) -> str:
    if kind is Start:
        return "start"
    if kind is Secret:
        return "`{env: NAME}`, `{file: PATH}`"
    if is_dataclass(kind):
        return f"keys: `{path}.{name}`"
    if issubclass(kind, StrEnum):
        return ", ".join(f"`{each}`" for each in kind)
    return {bool: "true, false", int: "whole number", float: "number", str: "text"}[kind]


def _default(each: Field[Any]) -> str:
    if each.default is MISSING:
        return "" if each.default_factory is not MISSING else "**needed**"
    if each.default is None:
        return ""
    if isinstance(each.default, bool):
        return f"`{str(each.default).lower()}`"
    return f"`{each.default:g}`" if isinstance(each.default, float) else f"`{each.default}`"


def _help(each: Field[Any]) -> str:
    return str(each.metadata.get("help", "")).replace("|", "\\|")


def _purpose(kind: type[Any]) -> str:
    return " ".join((kind.__doc__ or "").split())


if __name__ == "__main__":
    print(page())
