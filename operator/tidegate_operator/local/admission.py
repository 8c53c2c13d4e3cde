"""What may stand as a ConsumerGroup: as the API server's schema and its rules have it. Pure.

Rules: the typed settings have the last word in a cluster, and the only one here. What may not be
changed there may not be changed here, by the very same table.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from tidegate.group_file.names import camel_name
from tidegate.settings import SettingsError
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, Document, ObjectName
from tidegate_operator.kube_errors import Flaw, Invalid
from tidegate_operator.spec import read_spec
from tidegate_operator.spec_rules import BOUNDS, NAME_RULE
from tidegate_operator.spec_schema import spec_schema

# As NAME_RULE says it to the API server.
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
_STAYS = "self == oldSelf"
_SCHEMA = spec_schema()


def admit(document: Document, before: Document | None) -> Document:
    """The object with the defaults of its kind. Raises Invalid."""
    if document["kind"] == DEPLOYMENT.name:
        return {**document, "spec": {"replicas": 1, **document["spec"]}}
    if document["kind"] != CONSUMER_GROUP.name:
        return document
    metadata = document["metadata"]
    name = ObjectName(CONSUMER_GROUP, metadata["namespace"], metadata["name"])
    flaws = list(_flaws(document, before))
    if flaws:
        told = "; ".join(str(flaw) for flaw in flaws)
        raise Invalid(f"{name} cannot be taken: {told}", tuple(flaws))
    return {**document, "spec": defaulted(document["spec"], _SCHEMA)}


def defaulted(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with the defaults of its schema, in all parts that are there."""
    if isinstance(value, list) and "items" in schema:
        return [defaulted(each, schema["items"]) for each in value]
    if not isinstance(value, dict):
        return value
    found = dict(value)
    for name, inner in schema.get("properties", {}).items():
        if name not in found and "default" in inner:
            found[name] = copy.deepcopy(inner["default"])
        if name in found:
            found[name] = defaulted(found[name], inner)
    return found


def _flaws(document: Document, before: Document | None) -> Iterator[Flaw]:
    if not _NAME.fullmatch(document["metadata"]["name"]):
        yield Flaw("metadata.name", NAME_RULE.message)
    try:
        spec = read_spec(document)
    except SettingsError as problem:
        yield Flaw("", str(problem))
        return
    if before is not None and before.get("spec") != document["spec"]:
        yield from _changed(read_spec(before), spec, "spec")


def _changed(before: Any, after: Any, path: str) -> Iterator[Flaw]:
    """What is another by now and must not be."""
    for each in fields(after):
        old, new = getattr(before, each.name), getattr(after, each.name)
        where = f"{path}.{camel_name(each.name)}"
        if is_dataclass(old) and is_dataclass(new):
            yield from _changed(old, new, where)
        elif old != new:
            for kind in type(after).__mro__:
                rules = BOUNDS.get((kind, each.name), {}).get("x-kubernetes-validations", ())
                yield from (
                    Flaw(where, rule["message"]) for rule in rules if rule["rule"] == _STAYS
                )
