"""Fuzz targets: what a client can send to tidegate-cosmos, one function a parser.

Rules:
- A request is answered, with a status of 400 or above where it is wrong, and never with 500: that
  is for what the server did wrong. Whatever was stored can be read from the feed as JSON.
- A query that can be parsed can be answered; one that cannot raises QueryProblem and nothing else.
"""

from __future__ import annotations

import json

import atheris

from support.fuzzed_documents import document_of
from support.fuzzing import Target, main

with atheris.instrument_imports(include=["tidegate_cosmos"]):
    from support import cosmos_samples
    from tidegate_cosmos.fault_json import FaultError, from_json, to_json
    from tidegate_cosmos.query.answers import page_of
    from tidegate_cosmos.query.parser import query_of
    from tidegate_cosmos.query.problems import QueryProblem
    from tidegate_cosmos.service import Service
    from tidegate_cosmos.store.account import Account
    from tidegate_http.messages import Request

NOW = 1_800_000_000.0


def new_service() -> Service:
    account = Account(salt=1)
    database = account.add_database({"id": "sensors"}, NOW)
    events = account.add_container(
        database,
        {"id": "events", "partitionKey": {"paths": ["/home"]}, "defaultTtl": -1},
        NOW,
        ranges=2,
    )
    for number in range(4):
        events.create({"id": str(number), "home": f"h{number}", "n": number, "list": [1]}, NOW)
    return Service(account, None, lambda: NOW)


ITEMS = list(new_service().account.database("sensors").container("events").items())


def fuzz_requests(data: bytes) -> None:
    """One request, whose body is as long as it is: the framing of HTTP is h11's."""
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = line.partition(" ")
    named = (each.partition(":") for each in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in named}
    service = new_service()
    response = service.respond(Request(method, rest.partition(" ")[0], headers, body))
    assert response.status != 500, response
    if response.status >= 400:
        assert set(json.loads(response.body)) == {"code", "message"}, response
    elif response.body:
        json.loads(response.body)
    for database in service.account.databases.values():
        for container in database.containers.values():
            for held in container.ranges:
                for change in held.latest(0, 100).changes:
                    assert json.loads(change.latest_body())["metadata"]["lsn"] == change.lsn


def fuzz_queries(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    try:
        query = query_of(text, {"@p": "a", "@n": 2, "@list": [1], "@none": None})
    except QueryProblem:
        return
    page = page_of(query, ITEMS, 3)
    assert len(page.bodies) <= 3
    for body in page.bodies:
        json.loads(body)


def fuzz_faults(data: bytes) -> None:
    described = document_of(data, cosmos_samples.FAULTS)
    if not isinstance(described, dict):
        return
    try:
        fault = from_json(described, NOW)
    except FaultError:
        return
    told = to_json(fault)
    del told["id"]
    assert from_json(told, NOW) == fault


TARGETS: dict[str, Target] = {
    "cosmos_requests": fuzz_requests,
    "cosmos_queries": fuzz_queries,
    "cosmos_faults": fuzz_faults,
}


if __name__ == "__main__":
    main(TARGETS, cosmos_samples.seeds)
