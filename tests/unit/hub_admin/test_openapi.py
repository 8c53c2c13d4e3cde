"""The OpenAPI document has the form of 3.1, leaves no route out, and is true of every answer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from support.admin_hub import MemoryClient, call, publish
from tidegate_http.check import check
from tidegate_http.openapi import document
from tidegate_hub.admin.control import ABOUT
from tidegate_hub.admin.fault_schemas import EXAMPLES
from tidegate_hub.admin.schemas import SCHEMAS
from tidegate_hub.admin.table import ROUTES
from tidegate_hub.faults import Kind
from tidegate_hub.server import HubServer

DOCUMENT = document(ROUTES, ABOUT)
OPERATIONS: list[tuple[str, str, dict[str, Any]]] = [
    (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]
NAMES = [operation["operationId"] for _, _, operation in OPERATIONS]
# What to ask with, where an operation needs more than a fresh hub has.
PARAMETERS = {"hub": "telemetry", "partition": "1", "id": "fault-1"}


def references(node: Any) -> list[str]:
    """All that a part of the document refers to."""
    if isinstance(node, dict):
        own = [node["$ref"]] if "$ref" in node else []
        return own + [ref for value in node.values() for ref in references(value)]
    return [ref for each in node for ref in references(each)] if isinstance(node, list) else []


def test_the_document_has_the_form_of_openapi_3_1() -> None:
    assert set(DOCUMENT) == {"openapi", "info", "servers", "tags", "paths", "components"}
    assert re.fullmatch(r"3\.1\.\d+", DOCUMENT["openapi"])
    assert {"title", "version", "description"} == set(DOCUMENT["info"])
    assert set(DOCUMENT["components"]) == {"schemas"}
    for path, methods in DOCUMENT["paths"].items():
        assert path.startswith("/")
        assert set(methods) <= {"get", "post", "delete"}
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=NAMES)
def test_an_operation_has_the_form_of_openapi_3_1(
    method: str, path: str, operation: dict[str, Any]
) -> None:
    allowed = {
        "operationId", "tags", "summary", "description", "parameters", "requestBody", "responses",
    }  # fmt: skip
    assert set(operation) <= allowed
    assert operation["tags"][0] in [tag["name"] for tag in DOCUMENT["tags"]]
    parameters = operation.get("parameters", [])
    assert [each["name"] for each in parameters] == re.findall(r"\{(\w+)\}", path)
    for each in parameters:
        assert (each["in"], each["required"]) == ("path", True)
        assert each["schema"] == {"type": "string"}
    assert ("requestBody" in operation) == (method == "post")
    assert operation["responses"]
    for status, response in operation["responses"].items():
        assert re.fullmatch(r"[2-5]\d\d", status)
        assert response["description"]
        assert set(response) <= {"description", "content"}
        assert ("content" in response) == (status != "204")


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    used = {ref.removeprefix("#/components/schemas/") for ref in references(DOCUMENT)}
    assert used == set(SCHEMAS)


def test_every_route_is_documented_and_nothing_else() -> None:
    documented = {(method.upper(), path) for method, path, _ in OPERATIONS}
    assert documented == {(route.method, route.path) for route in ROUTES}


def test_the_document_is_served_as_it_is(server: HubServer) -> None:
    _, answer = call(server, "GET", "/openapi.json")
    assert answer == DOCUMENT


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=NAMES)
def test_a_documented_operation_answers_as_documented(
    server: HubServer, method: str, path: str, operation: dict[str, Any]
) -> None:
    client = MemoryClient(server)
    client.receive_from("telemetry/ConsumerGroups/$Default/Partitions/1", epoch=3)
    publish(server, "telemetry", "1", 2)
    call(server, "POST", "/api/v1/faults", {"kind": "refuse_token", "times": 2})
    parameters = {**PARAMETERS, "number": str(client.hub_end.number)}
    bodies: list[Any] = [None]
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        bodies = [each["value"] for each in content["examples"].values()]
    for body in bodies[:1]:
        response, answer = call(server, method.upper(), path.format(**parameters), body)
        assert response.status < 300
        documented = operation["responses"][str(response.status)]
        if response.status == 204:
            assert response.body == b""
            continue
        (media_type, shown), *others = documented["content"].items()
        assert not others
        assert response.content_type == media_type
        if shown["schema"]:
            check(answer, shown["schema"], SCHEMAS)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=NAMES)
def test_every_example_of_a_body_is_accepted(
    server: HubServer, method: str, path: str, operation: dict[str, Any]
) -> None:
    if "requestBody" not in operation:
        assert method in ("get", "delete")
        return
    content = operation["requestBody"]["content"]["application/json"]
    for name, example in content["examples"].items():
        body = example["value"]
        check(body, content["schema"], SCHEMAS)
        if "name" in body:
            body = {**body, "name": f"{body['name']}-{name}"}
        response, answer = call(server, method.upper(), path.format(**PARAMETERS), body)
        assert response.status < 300, answer


@pytest.mark.parametrize("path", ["/nix", "/api/v1/hubs/nix", "/api/v1/hubs?x=1"])
def test_a_problem_has_the_documented_form(server: HubServer, path: str) -> None:
    _, answer = call(server, "GET", path)
    check(answer, SCHEMAS["Problem"], SCHEMAS)


def test_there_is_an_example_of_every_kind_of_fault() -> None:
    assert [example["kind"] for example in EXAMPLES.values()] == list(Kind)
