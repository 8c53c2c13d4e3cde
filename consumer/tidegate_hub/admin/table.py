"""All routes of the admin API, each with its documentation."""

from __future__ import annotations

from typing import Final

from tidegate_http import openapi
from tidegate_http.messages import PROBLEM_JSON, Response, answer
from tidegate_http.routes import Answer
from tidegate_hub.admin import changing, page, reading
from tidegate_hub.admin.changing import BASE
from tidegate_hub.admin.control import ABOUT, Call, Route
from tidegate_hub.admin.fault_schemas import DESCRIPTIONS, EXAMPLES


def _openapi(_call: Call) -> Response:
    return answer(openapi.document(ROUTES, ABOUT))


def _problem(description: str) -> Answer:
    return Answer(description, "Problem", PROBLEM_JSON)


_NO_HUB = _problem("There is no such hub.")
_BAD_BODY = _problem("The body is not what is expected.")
_DISK = {
    500: _problem("The disk could not be read or written."),
    507: _problem("The disk is full."),
}
_FAULTS = "\n".join(
    [
        "With `times` or `for_seconds` a fault stands and waits for operations. Without either, "
        "`detach_link`, `drop_connection` and `expire_retention` act at once (status 200); the "
        "other kinds stand until they are ended (status 201).",
        "",
        *(f"- `{kind}`: {text}" for kind, text in DESCRIPTIONS.items()),
    ]
)

ROUTES: Final = (
    Route(
        "GET",
        f"{BASE}/hubs",
        "listHubs",
        "Hubs",
        "All hubs",
        reading.list_hubs,
        {200: Answer("The hubs.", "HubList")},
    ),
    Route(
        "POST",
        f"{BASE}/hubs",
        "addHub",
        "Hubs",
        "Add a hub",
        changing.add_hub,
        {
            201: Answer("The new hub.", "Hub"),
            400: _BAD_BODY,
            409: _problem("A hub of this name is there already."),
            **_DISK,
        },
        body="NewHub",
        examples={
            "small": {"name": "orders"},
            "everything": {
                "name": "orders",
                "partitions": 8,
                "groups": ["billing"],
                "retention": {"hours": 24, "bytes": 1_000_000_000},
            },
        },
    ),
    Route(
        "GET",
        f"{BASE}/hubs/{{hub}}",
        "getHub",
        "Hubs",
        "One hub",
        reading.one_hub,
        {200: Answer("The hub.", "Hub"), 404: _NO_HUB},
    ),
    Route(
        "GET",
        f"{BASE}/hubs/{{hub}}/partitions",
        "listPartitions",
        "Partitions",
        "The partitions of a hub, with their receivers",
        reading.list_partitions,
        {200: Answer("The partitions, by id.", "PartitionList"), 404: _NO_HUB},
    ),
    Route(
        "POST",
        f"{BASE}/hubs/{{hub}}/partitions",
        "growHub",
        "Partitions",
        "Add partitions up to a total",
        changing.grow_hub,
        {
            200: Answer("The hub as it is now.", "Hub"),
            400: _BAD_BODY,
            404: _NO_HUB,
            409: _problem("The hub has more partitions already."),
            **_DISK,
        },
        description="Every client of the hub is detached with com.microsoft:entity-updated, as on "
        "the service, and attaches again.",
        body="PartitionTotal",
        examples={"32 in all": {"total": 32}},
    ),
    Route(
        "GET",
        f"{BASE}/hubs/{{hub}}/partitions/{{partition}}",
        "getPartition",
        "Partitions",
        "One partition, with its receivers",
        reading.one_partition,
        {
            200: Answer("The partition.", "Partition"),
            404: _problem("There is no such hub or partition."),
        },
    ),
    Route(
        "GET",
        f"{BASE}/connections",
        "listConnections",
        "Connections",
        "All connections of clients, with their links",
        reading.list_connections,
        {200: Answer("The connections, oldest first.", "ConnectionList")},
    ),
    Route(
        "DELETE",
        f"{BASE}/connections/{{number}}",
        "dropConnection",
        "Connections",
        "Cut a connection without a word",
        changing.drop_connection,
        {204: Answer("It is cut."), 404: _problem("There is no such connection.")},
    ),
    Route(
        "GET",
        f"{BASE}/faults",
        "listFaults",
        "Faults",
        "The faults that stand",
        reading.list_faults,
        {200: Answer("The faults, oldest first.", "FaultList")},
    ),
    Route(
        "POST",
        f"{BASE}/faults",
        "injectFault",
        "Faults",
        "Inject a fault",
        changing.inject_fault,
        {
            200: Answer("It has acted at once.", "Fault"),
            201: Answer("It stands and waits for operations.", "Fault"),
            400: _BAD_BODY,
            **_DISK,
        },
        description=_FAULTS,
        body="NewFault",
        examples=EXAMPLES,
    ),
    Route(
        "DELETE",
        f"{BASE}/faults",
        "endAllFaults",
        "Faults",
        "End all faults",
        changing.end_all_faults,
        {204: Answer("No fault stands.")},
    ),
    Route(
        "DELETE",
        f"{BASE}/faults/{{id}}",
        "endFault",
        "Faults",
        "End a fault",
        changing.end_fault,
        {204: Answer("It is over."), 404: _problem("There is no such fault.")},
    ),
    Route(
        "GET",
        f"{BASE}/stats",
        "getStats",
        "Server",
        "Counters since the start",
        reading.stats,
        {200: Answer("The counters.", "Stats")},
    ),
    Route(
        "GET",
        "/healthz",
        "getHealth",
        "Server",
        "Whether the hub serves",
        reading.health,
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
    Route(
        "GET",
        "/",
        "getPage",
        "Server",
        "A page that shows the hub and tries these operations",
        page.show,
        {200: Answer("The page.", media_type="text/html")},
    ),
)
