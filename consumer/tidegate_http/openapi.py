"""The OpenAPI 3.1 document, made from the route table. Pure.

Rule: it says nothing that is not in the table or in the schemas, but for the answers that every
route can give, which are listed here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, TypeVar

from tidegate_http.check import Schema
from tidegate_http.messages import JSON, PROBLEM_JSON
from tidegate_http.routes import Answer, Route

API_VERSION: Final = "1.0.0"
_ALWAYS: Final = {
    400: "The request cannot be understood.",
    403: "The request comes from a page of another origin, or is for another host.",
}
_WITH_BODY: Final = {
    413: "The body is too large.",
    415: "The body is not JSON.",
}
_PARAMETER = re.compile(r"\{(\w+)\}")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class About:
    """What a document says beside its routes: parameters are described, each with an example."""

    title: str
    description: str
    schemas: Mapping[str, Schema]
    parameters: Mapping[str, tuple[str, str]]


def ref(name: str) -> dict[str, Any]:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def document(routes: Collection[Route[T]], about: About) -> dict[str, Any]:
    """The document of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, about)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about.title,
            "version": API_VERSION,
            "description": about.description,
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(route.tag for route in routes)],
        "paths": paths,
        "components": {"schemas": about.schemas},
    }


def _operation(route: Route[T], about: About) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
    }
    if route.description:
        operation["description"] = route.description
    names = _PARAMETER.findall(route.path)
    if names:
        operation["parameters"] = [_parameter(name, about) for name in names]
    if route.body is not None:
        content: dict[str, Any] = {"schema": ref(route.body)}
        if route.examples:
            content["examples"] = {
                str(name).replace(" ", "-"): {"value": value}
                for name, value in route.examples.items()
            }
        operation["requestBody"] = {"required": True, "content": {JSON: content}}
    operation["responses"] = _responses(route)
    return operation


def _parameter(name: str, about: About) -> dict[str, Any]:
    description, example = about.parameters[name]
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
        "example": example,
    }


def _responses(route: Route[T]) -> dict[str, Any]:
    usual = {**_ALWAYS, **(_WITH_BODY if route.body is not None else {})}
    answers = {
        status: Answer(description, "Problem", PROBLEM_JSON)
        for status, description in usual.items()
    }
    answers.update(route.answers)
    return {str(status): _response(status, answers[status]) for status in sorted(answers)}


def _response(status: int, answer: Answer) -> dict[str, Any]:
    if status == HTTPStatus.NO_CONTENT:
        return {"description": answer.description}
    schema = {} if answer.schema is None else ref(answer.schema)
    return {"description": answer.description, "content": {answer.media_type: {"schema": schema}}}
