"""The structural schema of a section of settings: from its fields, with what `spec_rules` adds.

Rules: pure. A field's text is its `help`; a default is in the schema where it is one value, so that
`kubectl explain` and `kubectl get` show it. The API server adds it to what groups say; a key that
came later has none, or an operator of before, to which a rollback leads, is shown a key that it
does not know and that nobody has written. Sections that are left out stay left out, but for
`scaling`, which rules compare with.
"""

from __future__ import annotations

import typing
from dataclasses import Field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from tidegate.group_file.durations import LONGEST_TEXT, PATTERN, Duration
from tidegate.group_file.fields import default_of, hints_of, inner_of, is_list, is_map, is_required
from tidegate.group_file.names import camel_name
from tidegate.group_file.spec import LedgerSpec, Secret, SourceSpec
from tidegate.sources.start import Start
from tidegate_operator.spec import OperatorSpec
from tidegate_operator.spec_rules import BOUNDS, RULES
from tidegate_operator.spec_scaling import ObjectiveSpec, ScalingSpec
from tidegate_operator.spec_status import StatusShape

Schema = dict[str, Any]

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
# Keys that older operators do not know, of sections that they do know.
LATER = frozenset({(LedgerSpec, "settled_tick_s")})
# Texts that no rule bounds.
_LONGEST_TEXT = 1024


def spec_schema() -> Schema:
    return _section(OperatorSpec, "What is wanted of the group.")


def status_schema() -> Schema:
    return _section(StatusShape, "What the operator has seen of the group.", is_bounded=False)


def _section(kind: type[Any], text: str, *, is_bounded: bool = True) -> Schema:
    hints = hints_of(kind)
    found: Schema = {"type": "object", "description": text}
    # Which source is there is a rule's to say: it can say more than that one is missing.
    required = [camel_name(each.name) for each in fields(kind) if is_required(each)]
    if required and kind is not SourceSpec:
        found["required"] = required
    if kind is Secret:
        # One that replaces another is not merged with it.
        found["x-kubernetes-map-type"] = "atomic"
    found["properties"] = {
        camel_name(each.name): _field(kind, each, hints[each.name], is_bounded=is_bounded)
        for each in fields(kind)
    }
    rules = [rule.document for each in reversed(kind.__mro__) for rule in RULES.get(each, ())]
    if rules:
        found["x-kubernetes-validations"] = rules
    return found


def _field(kind: type[Any], each: Field[Any], hint: Any, *, is_bounded: bool) -> Schema:
    text = each.metadata.get("help", "")
    found = {**_typed(hint, text, is_bounded=is_bounded), **_default(kind, each, hint)}
    for base in reversed(kind.__mro__):
        found |= BOUNDS.get((base, each.name), {})
    found |= each.metadata.get("schema", {})
    return found


def _typed(hint: Any, text: str, *, is_bounded: bool) -> Schema:
    described = {"description": text} if text else {}
    if hint is Start:
        return {**described, **_start()}
    if hint is Duration:
        return {
            **described,
            "type": "string",
            "minLength": 2,
            "maxLength": LONGEST_TEXT,
            "pattern": PATTERN,
        }
    if is_list(hint):
        return {
            **described,
            "type": "array",
            "items": _typed(inner_of(hint), "", is_bounded=is_bounded),
        }
    if is_map(hint):
        if inner_of(hint) is Any:
            return {**described, **_pod_template()}
        return {**described, "type": "object", "additionalProperties": {"type": "string"}}
    if is_dataclass(hint):
        section = typing.cast(type[Any], hint)
        purpose = " ".join((section.__doc__ or "").split())
        return _section(section, text or purpose, is_bounded=is_bounded)
    if issubclass(hint, StrEnum):
        return {**described, "type": "string", "enum": [str(choice) for choice in hint]}
    most = {"maxLength": _LONGEST_TEXT} if hint is str and is_bounded else {}
    return {**described, "type": _TYPES[hint], **most}


def _default(kind: type[Any], each: Field[Any], hint: Any) -> Schema:
    if is_required(each):
        return {}
    if hint is ScalingSpec:
        # Whole, because rules are asked of a default as it stands here.
        return {"default": _document(default_of(each))}
    if hint is ObjectiveSpec:
        # Were it stored, one that is written later would be merged with it, and there were two.
        return {}
    if any((base, each.name) in LATER for base in kind.__mro__):
        return {}
    value = default_of(each)
    if isinstance(value, Start):
        return {"default": value.kind}
    if isinstance(value, float) and value.is_integer():
        return {"default": int(value)}
    if isinstance(value, StrEnum | Duration):
        return {"default": str(value)}
    return {"default": value} if isinstance(value, bool | int | float | str) else {}


def _document(section: Any) -> Schema:
    """What a section says, as it is written."""
    found: Schema = {}
    for each in fields(section):
        value = getattr(section, each.name)
        if value is not None and value != () and not is_dataclass(value):
            is_text = isinstance(value, StrEnum | Duration)
            found[camel_name(each.name)] = str(value) if is_text else value
    return found


def _start() -> Schema:
    """A word, or an object: a schema has no type for that, so what it may be is said otherwise.

    Of an untyped value a bound on texts says nothing of objects, and so on: what no text, number,
    list and truth can keep leaves objects.
    """
    is_object: Schema = {
        "minLength": 1,
        "maxLength": 0,
        "minimum": 1,
        "maximum": 0,
        "minItems": 1,
        "maxItems": 0,
        "not": {"enum": [True, False]},
    }
    return {
        "x-kubernetes-preserve-unknown-fields": True,
        "anyOf": [
            {"enum": ["latest", "earliest"]},
            {**is_object, "required": ["time"]},
            {**is_object, "required": ["sequenceNumber"]},
        ],
    }


def _pod_template() -> Schema:
    """The operator merges it and says what is wrong with it: only its outline is here."""
    texts = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "description": "Labels and annotations of the pods.",
                "properties": {"labels": texts, "annotations": texts},
            },
            "spec": {
                "type": "object",
                "description": "The pods' spec, as Kubernetes has it.",
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
    }
