"""docs/settings.md, from the typed settings: `python -m tidegate.group_file.pages` prints it."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from tidegate.group_file.durations import Duration
from tidegate.group_file.fields import default_of, hints_of, inner_of, is_list, is_map, is_required
from tidegate.group_file.names import camel_name
from tidegate.group_file.spec import FileSpec, Secret
from tidegate.sources.start import Start
from tidegate.spark import owned_keys

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

A key that is not known is an error that says which one was probably meant. Keys that are for the
operator alone are in [consumergroup.md](consumergroup.md); `tidegate run` passes over them.
Secrets are never in the file: it says in which environment variable or file they are. In a cluster
they are in a Secret, `{secret: NAME, key: KEY}`: the operator mounts it, and `tidegate run` by
itself cannot read it.

## What each member has of its own
The file is that of all members. What is of one of them is an option of `tidegate run`, or else a
variable of its environment:

- `--name`, `TIDEGATE_MEMBER`: its name, which no other member may have; else the host name.
- `--weight`, `TIDEGATE_WEIGHT`: its [share of the partitions](balancing.md#weights), a number of 0
  or more; else 1.
- `--scratch`, `TIDEGATE_SCRATCH`: a file that outlives a restart of its process, so that its
  partitions stay with it; else none.

With `engine: spark` the members are the executors, each called by the name of the driver, `-x` and
its number; `--scratch` is a folder then, and `--weight` says nothing. Without a cluster
`tidegate run` starts Spark on this machine:

- `--executors`: how many executors there are; else 1.
- `--executors-file`: a file with that number, which is looked at again and again, so that they come
  and go while it runs.

In a cluster the operator sets the name and the file. Other variables are written into
`spec.template`.
"""

_SPARK_CONF = """\
## sparkConf
Every setting of Spark's can be written there but these, on which the engine depends:

"""


def page() -> str:
    """The whole page."""
    tables = _tables(FileSpec, "spec", "What a consumer reads.", {Secret})
    parts = [_HEAD, *tables, _SPARK_CONF + owned_keys.as_markdown()]
    return "\n".join(parts)


def _tables(section: type[Any], path: str, text: str, seen: set[type[Any]]) -> Iterator[str]:
    yield f"## {path}\n{text}\n"
    yield table(section, path, tuple(each.name for each in fields(section)))
    for name, kind in hints_of(section).items():
        if is_dataclass(kind) and kind is not Start and kind not in seen:
            section = typing.cast(type[Any], kind)
            seen.add(section)
            yield from _tables(section, f"{path}.{camel_name(name)}", purpose(section), seen)


def table(
    section: type[Any], path: str, names: tuple[str, ...], *, shows_defaults: bool = True
) -> str:
    """A table of these fields of a section."""
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    if not shows_defaults:
        rows = ["| key | type | meaning |", "| --- | --- | --- |"]
    for each in fields(section):
        if each.name in names:
            name = camel_name(each.name)
            kind = _type(hints_of(section)[each.name], path, name)
            default = f" {_default(each)} |" if shows_defaults else ""
            rows.append(f"| `{name}` | {kind} |{default} {_help(each)} |")
    return "\n".join([*rows, ""])


def _type(kind: Any, path: str, name: str) -> str:
    if kind is Start:
        return "start"
    if kind is Duration:
        return "time, such as `60s`"
    if kind is Secret:
        return "`{env: NAME}`, `{file: PATH}`, `{secret: NAME, key: KEY}`"
    if is_list(kind):
        return "list of " + _type(inner_of(kind), path, name)
    if is_map(kind):
        return "as Kubernetes has it" if inner_of(kind) is Any else "texts by name"
    if is_dataclass(kind):
        return f"keys: `{path}.{name}`"
    if issubclass(kind, StrEnum):
        return ", ".join(f"`{each}`" for each in kind)
    return {bool: "true, false", int: "whole number", float: "number", str: "text"}[kind]


def _default(each: Field[Any]) -> str:
    if is_required(each):
        return "**needed**"
    default = default_of(each)
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float) and not isinstance(default, Duration):
        return f"`{default:g}`"
    return f"`{default}`" if isinstance(default, str | int | Duration) else ""


def _help(each: Field[Any]) -> str:
    return str(each.metadata.get("help", "")).replace("|", "\\|")


def purpose(kind: type[Any]) -> str:
    """What a section is for: its docstring on one line."""
    return " ".join((kind.__doc__ or "").split())


if __name__ == "__main__":
    print(page())
