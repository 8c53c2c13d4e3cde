"""The CustomResourceDefinition: made from the typed settings, whole, and in our words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
import yaml

from support.tree import ROOT
from tidegate.group_file.names import camel_name
from tidegate.group_file.spec import OPERATORS, LedgerSpec
from tidegate.words import snake_name
from tidegate_operator.crd import COLUMNS, definition, text
from tidegate_operator.spec import OperatorSpec, read_spec
from tidegate_operator.spec_page import page
from tidegate_operator.spec_rules import BOUNDS, RULES
from tidegate_operator.spec_schema import LATER, spec_schema, status_schema

Schema = dict[str, Any]
SPEC, STATUS = spec_schema(), status_schema()
# Of somebody else's: the pod template's own keys, and what conditions have everywhere.
THEIRS = "template."


def keys_of(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every key below a schema, with its path and what it may be."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}{name}", inner
        yield from keys_of(inner, f"{path}{name}.")
    if "items" in schema:
        yield from keys_of(schema["items"], path)


def test_the_file_is_what_the_code_says() -> None:
    written = (ROOT / "crds" / "consumergroups.yaml").read_text(encoding="utf-8")
    assert written == text(), (
        "run: python -m tidegate_operator.crd crds/consumergroups.yaml "
        "charts/tidegate/crds/consumergroups.yaml"
    )


def test_the_api_server_writes_no_key_that_an_operator_of_before_does_not_know() -> None:
    """It would write them into each group, and a rollback of the operator leaves the kind."""
    found = dict(keys_of(SPEC))
    assert "default" in found["ledger.leaseSeconds"]
    for section, name in LATER:
        assert section is LedgerSpec
        assert "default" not in found[f"ledger.{camel_name(name)}"]


def test_the_page_is_what_the_code_says() -> None:
    written = (ROOT / "docs" / "consumergroup.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tidegate_operator.spec_page > docs/consumergroup.md"


def test_the_page_has_every_key_of_the_operator_and_every_message() -> None:
    for keys in OPERATORS.values():
        assert all(f"| `{key}` |" in page() for key in keys)
    for rules in RULES.values():
        assert all(rule.message.replace("…", "...") in page() for rule in rules)


def test_the_file_reads_back_as_the_definition() -> None:
    assert yaml.safe_load(text()) == definition()


def test_every_key_goes_to_our_names_and_back() -> None:
    keys = [path for path, _ in (*keys_of(SPEC), *keys_of(STATUS)) if THEIRS not in path]
    assert len(keys) > 90
    for path in keys:
        name = path.rpartition(".")[2]
        assert camel_name(snake_name(name)) == name


def test_every_key_says_what_it_is() -> None:
    silent = [
        path
        for path, schema in (*keys_of(SPEC), *keys_of(STATUS))
        if not schema.get("description") and THEIRS not in path
    ]
    assert not silent, f"{silent}: give these fields a `help`"


def test_every_text_and_number_of_a_list_of_the_spec_is_bounded() -> None:
    for path, schema in keys_of(SPEC):
        if THEIRS in path or path == "template":
            continue
        if schema.get("type") == "string":
            assert "maxLength" in schema or "enum" in schema, path
        if schema.get("type") == "array":
            assert {"maxItems", "items"} <= schema.keys(), path
        if "additionalProperties" in schema:
            assert "maxProperties" in schema, path
            assert "maxLength" in schema["additionalProperties"], path


def test_bounds_and_rules_are_of_fields_that_there_are() -> None:
    for kind, name in BOUNDS:
        assert name in {each.name for each in fields(kind)}, f"{kind.__name__} has no {name}"
    for kind, rules in RULES.items():
        for rule in rules:
            assert len(rule.message) <= 2048
            assert "\n" not in rule.message, kind


@pytest.mark.parametrize("schema", [SPEC, STATUS], ids=["spec", "status"])
def test_a_schema_has_a_type_wherever_the_api_server_wants_one(schema: Schema) -> None:
    for path, inner in keys_of(schema):
        assert "type" in inner or inner.get("x-kubernetes-preserve-unknown-fields"), path


def test_an_empty_section_of_the_schema_is_that_of_the_typed_defaults() -> None:
    """What the API server fills in is what the code takes where nothing is written."""
    least = {
        "source": {"eventHubs": {"hub": "h", "namespace": "n"}},
        "ledger": {"container": "ledger", "accountUrl": "https://a"},
        "handler": {"code": "a:b"},
    }
    sections: Schema = {**least, "delivery": {"backoff": {}, "batch": {}, "checkpoint": {}}}
    assert read_spec({"spec": filled(sections, SPEC)}) == read_spec({"spec": least})


def filled(document: Schema, schema: Schema) -> Schema:
    """A document with the defaults of its schema, as the API server fills them in."""
    found = dict(document)
    for name, inner in schema.get("properties", {}).items():
        if name not in found and "default" in inner:
            found[name] = inner["default"]
        if isinstance(found.get(name), dict):
            found[name] = filled(found[name], inner)
    return found


def test_the_columns_are_keys_that_there_are() -> None:
    there = {f"spec.{path}" for path, _ in keys_of(SPEC)}
    there |= {f"status.{path}" for path, _ in keys_of(STATUS)}
    for _, path, kind, _, _ in COLUMNS:
        if path.startswith((".metadata", ".status.conditions")):
            continue
        assert path.removeprefix(".") in there
        schema: Schema = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        for part in path.removeprefix(".").split("."):
            schema = schema["properties"][part]
        expected = {"type": "string", "format": "date-time"} if kind == "date" else {"type": kind}
        assert expected.items() <= schema.items()


def test_the_short_example_has_twelve_lines() -> None:
    example = (ROOT / "examples" / "consumergroup.yaml").read_text(encoding="utf-8")
    assert len(example.splitlines()) == 12


def test_the_examples_of_everything_have_every_key() -> None:
    written: set[str] = set()
    for example in ("everything.yaml", "everything-on-spark.yaml", "everything-on-cosmos.yaml"):
        text = (ROOT / "examples" / "cluster" / example).read_text(encoding="utf-8")
        written |= set(paths_of(yaml.safe_load(text)["spec"]))
    instead = {
        "caFile": "only where there is a file",
        "env": "instead of secret",
        "file": "instead of secret",
        "connectionString": "the ledger's is instead of accountUrl",
        "accountKey": "instead of sasToken",
        "namespace": "instead of connectionString",
        "everyEvents": "instead of duplicateBudget",
        "drainWithin": "instead of within",
        "lagPerReplica": "instead of within",
        "blob": "instead of eventHub",
        "serviceAccountName": "instead of serviceAccountAnnotations",
    }
    for path, _ in keys_of(SPEC):
        if not set(path.split(".")) & instead.keys():
            assert path in written, f"add {path} to an example"
    assert {each.name for each in fields(OperatorSpec)} == {
        snake_name(path) for path in written | {"serviceAccountName"} if "." not in path
    }


def paths_of(document: Schema, path: str = "") -> Iterator[str]:
    for name, inner in document.items():
        yield f"{path}{name}"
        # What a list has in it is written at the list's own place.
        for each in inner if isinstance(inner, list) else [inner]:
            if isinstance(each, dict):
                yield from paths_of(each, f"{path}{name}.")
