"""The checker of bodies: every word of the schemas is checked, and said with its field."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate_http.check import check
from tidegate_http.messages import Problem
from tidegate_hub.admin.schemas import SCHEMAS

KINDS: dict[str, Any] = {
    "Cat": {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"maximum": 9}}},
    "Dog": {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]},
    "Pet": {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind"},
    },
}
PET = {"$ref": "#/components/schemas/Pet"}


@pytest.mark.parametrize(
    ("value", "schema", "words"),
    [
        (1, {"type": "string"}, "body: expected a text, found 1"),
        (True, {"type": "integer"}, "body: expected a whole number, found true"),
        (1.5, {"type": "integer"}, "body: expected a whole number, found 1.5"),
        (float("inf"), {"type": "number"}, "body: expected a number, found Infinity"),
        ([], {"type": ["null", "object"]}, "body: expected null or an object, found []"),
        ("b", {"enum": ["a", 1]}, 'body: expected one of a, 1, found "b"'),
        ("b", {"const": "a"}, 'body: expected a, found "b"'),
        ("b", {"pattern": "^a"}, 'body: expected a text like ^a, found "b"'),
        ("", {"minLength": 1, "maxLength": 2}, "a text of 1 to 2 characters"),
        ("abc", {"maxLength": 2}, "a text of 0 to 2 characters"),
        ([], {"minItems": 1, "maxItems": 2}, "a list of 1 to 2 items"),
        ([1, 2, 3], {"maxItems": 2}, "a list of 0 to 2 items"),
        (0, {"minimum": 1, "maximum": 2}, "body: expected a number from 1 up to 2, found 0"),
        (3, {"minimum": 1, "maximum": 2}, "body: expected a number from 1 up to 2, found 3"),
        (0, {"exclusiveMinimum": 0}, "body: expected a number above 0, found 0"),
        ([1, "x"], {"items": {"type": "integer"}}, 'body[1]: expected a whole number, found "x"'),
        ({"a": [{}]}, {"properties": {"a": {"items": {"required": ["b"]}}}}, "a[0].b: is missing"),
        ({"b": 1}, {"properties": {"a": {}}, "additionalProperties": False}, "only the keys a"),
        ({"b": 1}, {"properties": {}, "additionalProperties": False}, "expected no keys"),
        ({"kind": "cow"}, PET, 'kind: expected one of cat, dog, found "cow"'),
        ({"kind": ["cat"]}, PET, "kind: expected one of cat, dog"),
        ({"kind": "cat", "lives": 10}, PET, "lives: expected a number up to 9, found 10"),
        ("cat", PET, 'body: expected an object, found "cat"'),
    ],
)
def test_what_does_not_fit_is_said_with_its_field(value: Any, schema: Any, words: str) -> None:
    with pytest.raises(Problem) as refused:
        check(value, schema, KINDS)
    assert words in refused.value.detail
    assert refused.value.status == 400
    assert refused.value.expected


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("a", {"type": ["string", "null"]}),
        (None, {"type": ["string", "null"]}),
        (1, {"type": "number"}),
        (False, {"type": "boolean"}),
        (5, {"minLength": 9, "pattern": "x", "minItems": 3}),
        ("text", {"minimum": 9, "items": {"type": "null"}, "required": ["x"]}),
        ({"kind": "cat", "lives": 9}, PET),
        ({"b": 1}, {"properties": {"a": {"type": "null"}}}),
    ],
)
def test_what_fits_passes(value: Any, schema: Any) -> None:
    check(value, schema, KINDS)


def test_a_word_that_the_checker_does_not_know_cannot_be_used() -> None:
    with pytest.raises(KeyError):
        check(1, {"multipleOf": 2}, {})


def test_the_schemas_use_only_words_that_are_checked() -> None:
    def visit(schema: Any) -> None:
        values: tuple[Any, ...] = ("", 0, [], {}, None)
        for value in values:
            try:
                check(value, schema, SCHEMAS)
            except Problem:
                continue
        for below in schema.get("properties", {}).values():
            visit(below)
        if "items" in schema:
            visit(schema["items"])

    for schema in SCHEMAS.values():
        visit(schema)
