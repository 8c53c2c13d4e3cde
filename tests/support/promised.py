"""What users may rely on, one line each, gathered from the code: see docs/stability.md.

`python tests/support/promised.py` writes it to tests/unit/foundation/promised.txt, as a release
does. The test beside that file fails where a line of it is no longer so.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "tests" / "unit" / "foundation" / "promised.txt"


def promised() -> set[str]:
    """Every line."""
    return {*_kind(), *_metrics(), *_commands(), *_ledger(), *_handlers()}


def _kind() -> Iterator[str]:
    """The keys of a ConsumerGroup, of its spec and of its status, with their types."""
    document = yaml.safe_load((ROOT / "crds" / "consumergroups.yaml").read_text(encoding="utf-8"))
    for version in document["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        for part in ("spec", "status"):
            yield from _keys(f"kind {version['name']} {part}", schema[part])


def _keys(path: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"{path}: {schema.get('type', 'anything')}"
    for name, inner in schema.get("properties", {}).items():
        yield from _keys(f"{path}.{name}", inner)
    if isinstance(schema.get("items"), dict):
        yield from _keys(f"{path}[]", schema["items"])


def _metrics() -> Iterator[str]:
    """Names, kinds and labels of what consumers show, and the names of what the operator shows."""
    from tidegate.ops.catalogue import METRICS  # noqa: PLC0415
    from tidegate.spark.gauges import METRICS as OF_SPARK  # noqa: PLC0415

    for metric in (*METRICS, *OF_SPARK):
        yield " ".join(("metric", metric.name, metric.kind, *metric.labels))
    for name in ("health.py", "group_pages.py"):
        text = (ROOT / "operator" / "tidegate_operator" / name).read_text(encoding="utf-8")
        found = re.findall(r'"(tidegate_operator_\w*[a-z])"', text)
        yield from (f"metric {each}" for each in found)


def _commands() -> Iterator[str]:
    """Programs, their commands, and what each takes."""
    from tidegate import cli  # noqa: PLC0415
    from tidegate_cosmos.cli import parser as cosmos  # noqa: PLC0415
    from tidegate_hub.cli import parser as hub  # noqa: PLC0415
    from tidegate_operator.cli import parser as operator  # noqa: PLC0415
    from tidegate_operator.plugin.cli import parser as plugin  # noqa: PLC0415

    for top in (cli.parser(), cli.parser(()), cosmos(), hub(), operator(), plugin()):
        yield from _options(f"command {top.prog}", top)


def _options(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{path} {name}"
                yield from _options(f"{path} {name}", inner)
        elif "--help" in action.option_strings:
            continue
        elif action.option_strings:
            yield f"{path} {action.option_strings[-1]}"
        else:
            yield f"{path} {action.dest.upper()}"


def _ledger() -> Iterator[str]:
    """The names of blobs, and the keys of those that other tools read."""
    from tidegate.ledger import layout  # noqa: PLC0415
    from tidegate.model import Owner, Position  # noqa: PLC0415

    names = layout.GroupNames("Host", "Hub", "Group")
    for kind in layout.Kind:
        yield f"ledger blob {names.of(layout.Place(kind, '1'))}"
    for key in layout.ownership_metadata(Owner("a", "1"), 1, "n"):
        yield f"ledger ownership {key}"
    for key in layout.checkpoint_metadata(Position("1", 1), 1, "n", 0.0, "r", 0.0):
        yield f"ledger checkpoint {key}"


def _handlers() -> Iterator[str]:
    """What a handler has: its context, its events, windows and slices."""
    from tidegate import windows  # noqa: PLC0415
    from tidegate.handlers.context import Context  # noqa: PLC0415

    text = inspect.getsource(Context)
    attributes = {*re.findall(r"self\.([a-z]\w*)(?::[^=\n]+)? =", text), *_public(vars(Context))}
    yield from (f"context {name}" for name in attributes)
    yield from (f"windows {name}" for name in _public(vars(windows.TumblingWindows)))


def _public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def lines(text: str) -> set[str]:
    return {line for line in text.splitlines() if line and not line.startswith("#")}


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "consumer"), str(ROOT / "operator")]
    head = "# What users may rely on (docs/stability.md), written by tests/support/promised.py.\n"
    FILE.write_text(head + "\n".join(sorted(promised())) + "\n", encoding="utf-8")
    print(f"{len(promised())} lines in {FILE.relative_to(ROOT)}")
