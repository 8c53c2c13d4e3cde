"""Checks a JSON value against the schemas that the OpenAPI document shows. Pure.

Rules: it knows the part of JSON Schema that `schemas` uses and refuses to run with any other word,
so that nothing that is documented goes unchecked. The words of a schema are taken in their order,
and the first thing that is wrong is reported with its field, what was expected and what was found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from tidegate_http.messages import Problem, shown

Schema = Mapping[str, Any]

_ANNOTATIONS = frozenset(("description", "default", "examples", "title", "format"))
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_TYPE_WORDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_REF = "#/components/schemas/"


def check(value: object, schema: Schema, named: Mapping[str, Schema], field: str = "") -> None:
    """Raises Problem (400) where the value is not what the schema says."""
    if "$ref" in schema:
        check(value, named[schema["$ref"].removeprefix(_REF)], named, field)
        return
    for word in schema:
        if word not in _ANNOTATIONS:
            _CHECKS[word](value, schema, named, field)


def wrong(field: str, expected: str, found: object) -> Problem:
    """The problem of a field that is not what was expected."""
    place = field or "body"
    return Problem(
        400, f"{place}: expected {expected}, found {shown(found)}", expected=expected, field=place
    )


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    if kind == "number" and isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _TYPES[kind])


def _type(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    wanted = schema["type"]
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if not any(_is_of(value, kind) for kind in kinds):
        raise wrong(field, " or ".join(_TYPE_WORDS[kind] for kind in kinds), value)


def _one_of(value: object, schema: Schema, named: Mapping[str, Schema], field: str) -> None:
    """Alternatives that differ in what their `discriminator` property must be."""
    key = schema["discriminator"]["propertyName"]
    alternatives: dict[str, Schema] = {}
    for each in schema["oneOf"]:
        alternative = named[each["$ref"].removeprefix(_REF)]
        alternatives[alternative["properties"][key]["const"]] = alternative
    if not isinstance(value, dict):
        raise wrong(field, "an object", value)
    chosen = value.get(key)
    if not isinstance(chosen, str) or chosen not in alternatives:
        raise wrong(_below(field, key), f"one of {', '.join(alternatives)}", chosen)
    check(value, alternatives[chosen], named, field)


def _properties(value: object, schema: Schema, named: Mapping[str, Schema], field: str) -> None:
    if isinstance(value, dict):
        for name, below in schema["properties"].items():
            if name in value:
                check(value[name], below, named, _below(field, name))


def _required(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    for name in schema["required"]:
        if isinstance(value, dict) and name not in value:
            place = _below(field, name)
            raise Problem(400, f"{place}: is missing", expected=f'"{name}"', field=place)


def _no_others(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    known = schema["properties"]
    if isinstance(value, dict) and schema["additionalProperties"] is False:
        for name in value:
            if name not in known:
                keys = ", ".join(known) or "none"
                raise wrong(field, f"only the keys {keys}" if known else "no keys", name)


def _items(value: object, schema: Schema, named: Mapping[str, Schema], field: str) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            check(item, schema["items"], named, f"{field or 'body'}[{index}]")


def _enum(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    if value not in schema["enum"]:
        raise wrong(field, f"one of {', '.join(map(str, schema['enum']))}", value)


def _const(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    if value != schema["const"]:
        raise wrong(field, str(schema["const"]), value)


def _pattern(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    if isinstance(value, str) and not re.search(schema["pattern"], value):
        raise wrong(field, schema.get("description", f"a text like {schema['pattern']}"), value)


def _length(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    if isinstance(value, str) and not shortest <= len(value) <= longest:
        raise wrong(field, f"a text of {shortest} to {longest} characters", value)


def _count(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if isinstance(value, list) and not fewest <= len(value) <= most:
        raise wrong(field, f"a list of {fewest} to {most} items", value)


def _range(value: object, schema: Schema, _named: Mapping[str, Schema], field: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    above = schema.get("exclusiveMinimum", -math.inf)
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if not (least <= value <= most and value > above):
        words = [f"{text} {schema[key]}" for key, text in _RANGE_WORDS.items() if key in schema]
        kind = "a whole number" if schema.get("type") == "integer" else "a number"
        raise wrong(field, f"{kind} {' '.join(words)}", value)


_RANGE_WORDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "up to"}
_CHECKS = {
    "type": _type,
    "oneOf": _one_of,
    "discriminator": lambda *_: None,  # `oneOf` uses it
    "properties": _properties,
    "required": _required,
    "additionalProperties": _no_others,
    "items": _items,
    "enum": _enum,
    "const": _const,
    "pattern": _pattern,
    "minLength": _length,
    "maxLength": _length,
    "minItems": _count,
    "maxItems": _count,
    "minimum": _range,
    "maximum": _range,
    "exclusiveMinimum": _range,
}


def _below(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
