"""The group file of a ConsumerGroup: what its consumers read, as text.

Rules: pure. Only what differs from the defaults is written, in the order of the settings, so that
the same wish is the same text whoever filled in defaults, and a change of the text is a change of
the wish. Secrets are the files that they are mounted as; the operator's own keys are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import yaml

from tidegate.group_file.fields import default_of, hints_of, is_required
from tidegate.group_file.names import camel_name
from tidegate.group_file.reading import API_VERSION, KIND
from tidegate.group_file.spark_spec import DriverSpec, ExecutorSpec
from tidegate.group_file.spec import FileSpec, Secret
from tidegate.model import NO_OFFSET
from tidegate.sources.start import Start
from tidegate_operator.spec import OperatorSpec

# What a driver has no use for: its own pod is made of it.
_OPERATORS = frozenset({(DriverSpec, "template"), (ExecutorSpec, "template")})
# Where the keys of each Secret are files, in a folder of its name.
SECRETS_FOLDER = "/etc/tidegate/secrets"


def group_document(name: str, spec: OperatorSpec) -> str:
    """The text of the group file."""
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        # By the types of the group file, and not of the operator: its keys are not among them.
        "spec": _written(FileSpec, spec),
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)


def secret_file(secret: str, key: str) -> str:
    """The file that a key of a Secret is, in the pods."""
    return f"{SECRETS_FOLDER}/{secret}/{key}"


def _written(kind: type[Any], section: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    hints = hints_of(kind)
    for each in fields(kind):
        value = getattr(section, each.name)
        if (kind, each.name) in _OPERATORS:
            continue
        if is_required(each) or value != default_of(each):
            found[camel_name(each.name)] = _plain(hints[each.name], value)
    return found


def _plain(kind: Any, value: Any) -> Any:
    if isinstance(value, Secret):
        if value.secret is not None and value.key is not None:
            return {"file": secret_file(value.secret, value.key)}
        return {"env": value.env} if value.env is not None else {"file": value.file}
    if isinstance(value, Start):
        return start_document(value)
    if is_dataclass(value):
        return _written(kind, value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, StrEnum) else value


def start_document(start: Start) -> Any:
    """A start as it is written in a group file."""
    if start.at is not None:
        return {"time": datetime.fromtimestamp(start.at, UTC).isoformat()}
    if start.position is None:
        return start.kind
    offset = {} if start.position.offset == NO_OFFSET else {"offset": start.position.offset}
    return {**offset, "sequenceNumber": start.position.sequence}
