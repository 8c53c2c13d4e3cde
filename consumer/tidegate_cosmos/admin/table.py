"""All routes of the admin API, each with its documentation."""

from __future__ import annotations

from typing import Final

from tidegate_cosmos.admin import handlers
from tidegate_cosmos.admin.control import ABOUT, Call, Route
from tidegate_cosmos.admin.handlers import BASE
from tidegate_http import openapi
from tidegate_http.messages import PROBLEM_JSON, Response, answer
from tidegate_http.routes import Answer


def _openapi(_call: Call) -> Response:
    return answer(openapi.document(ROUTES, ABOUT))


def _problem(description: str) -> Answer:
    return Answer(description, "Problem", PROBLEM_JSON)


_CONTAINER = f"{BASE}/containers/{{database}}/{{container}}"
_NO_CONTAINER = _problem("There is no such container.")
_BAD_BODY = _problem("The body is not what is expected.")

ROUTES: Final = (
    Route(
        "GET",
        f"{BASE}/containers",
        "listContainers",
        "Containers",
        "All containers",
        handlers.list_containers,
        {200: Answer("The containers.", "ContainerList")},
    ),
    Route(
        "POST",
        f"{BASE}/containers",
        "addContainer",
        "Containers",
        "Make a container, and its database where there is none",
        handlers.add_container,
        {
            201: Answer("The container; one that was there is as it was.", "Container"),
            400: _BAD_BODY,
        },
        body="NewContainer",
        examples={
            "four ranges": {
                "database": "home",
                "container": "events",
                "key_path": "/home",
                "ranges": 4,
            }
        },
    ),
    Route(
        "GET",
        f"{_CONTAINER}/ranges",
        "listRanges",
        "Ranges",
        "The ranges of a container",
        handlers.list_ranges,
        {200: Answer("The ranges, by their keys.", "RangeList"), 404: _NO_CONTAINER},
    ),
    Route(
        "POST",
        f"{_CONTAINER}/ranges/{{range}}/split",
        "splitRange",
        "Ranges",
        "Split a range in two",
        handlers.split,
        {
            200: Answer("The two.", "RangeList"),
            400: _BAD_BODY,
            404: _problem("There is no such container or range."),
            409: _problem("It cannot be split there."),
        },
        body="Split",
        examples={"in the middle": {}, "at a key": {"at": "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"}},
    ),
    Route(
        "POST",
        f"{_CONTAINER}/merge",
        "mergeRanges",
        "Ranges",
        "Make one range of two neighbours",
        handlers.merge,
        {
            200: Answer("The range that they become.", "Range"),
            400: _BAD_BODY,
            404: _problem("There is no such container or range."),
            409: _problem("They are no neighbours."),
        },
        body="Merge",
        examples={"two": {"ranges": ["1", "2"]}},
    ),
    Route(
        "GET",
        f"{BASE}/faults",
        "listFaults",
        "Faults",
        "The faults that stand",
        handlers.list_faults,
        {200: Answer("The faults, oldest first.", "FaultList")},
    ),
    Route(
        "POST",
        f"{BASE}/faults",
        "injectFault",
        "Faults",
        "Inject a fault",
        handlers.inject_fault,
        {201: Answer("It stands and waits for requests.", "Fault"), 400: _BAD_BODY},
        body="NewFault",
        examples={
            "throttle": {"kind": "throttle", "times": 3, "parameters": {"retry_after_ms": 200}},
            "gone": {
                "kind": "refuse",
                "operations": ["feed"],
                "times": 1,
                "parameters": {"status": 410, "substatus": 1007},
            },
        },
    ),
    Route(
        "DELETE",
        f"{BASE}/faults",
        "endAllFaults",
        "Faults",
        "End all faults",
        handlers.end_all_faults,
        {204: Answer("No fault stands.")},
    ),
    Route(
        "DELETE",
        f"{BASE}/faults/{{id}}",
        "endFault",
        "Faults",
        "End a fault",
        handlers.end_fault,
        {204: Answer("It is over."), 404: _problem("There is no such fault.")},
    ),
    Route(
        "GET",
        f"{BASE}/stats",
        "getStats",
        "Server",
        "Requests and request units since the start",
        handlers.stats,
        {200: Answer("The counters.", "Stats")},
    ),
    Route(
        "GET",
        "/healthz",
        "getHealth",
        "Server",
        "Whether the server serves",
        handlers.health,
        {200: Answer("It serves.", "Health")},
    ),
    Route(
        "GET",
        "/openapi.json",
        "getOpenApi",
        "Server",
        "This document",
        _openapi,
        {200: Answer("The OpenAPI document.")},
    ),
)
