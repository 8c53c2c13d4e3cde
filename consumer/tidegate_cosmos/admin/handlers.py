"""What the admin API tells and changes. A body has passed its schema before it comes here."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tidegate_cosmos.admin.control import Call
from tidegate_cosmos.fault_json import FaultError, to_json
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.keys import KeyProblem
from tidegate_cosmos.store.problems import NotFound, RangeGone, StoreProblem
from tidegate_cosmos.store.ranges import Range
from tidegate_http.messages import Problem, Response, answer

BASE = "/api/v1"
_NOTHING = Response(204)


def health(_call: Call) -> Response:
    return answer({"status": "ok"})


def stats(call: Call) -> Response:
    counters = call.served.service.counters
    return answer({"requests": counters.requests, "charges": counters.charges})


def list_containers(call: Call) -> Response:
    databases = call.served.service.account.databases.values()
    told = [
        _container_facts(database.id, container)
        for database in databases
        for container in database.containers.values()
    ]
    return answer({"containers": told})


def add_container(call: Call) -> Response:
    body = call.body
    database, name = body["database"], body["container"]
    try:
        made = call.served.add_container(
            database,
            name,
            body.get("key_path", "/id"),
            body.get("ranges"),
            body.get("default_ttl"),
        )
    except (StoreProblem, KeyProblem) as problem:
        raise Problem(400, str(problem)) from None
    place = f"{BASE}/containers/{quote(database)}/{quote(name)}/ranges"
    return answer(_container_facts(database, made), 201, {"location": place})


def list_ranges(call: Call) -> Response:
    container = _container(call)
    return answer({"ranges": [_range_facts(each) for each in container.ranges]})


def split(call: Call) -> Response:
    _container(call)
    parameters = call.parameters
    try:
        children = call.served.split(
            parameters["database"],
            parameters["container"],
            parameters["range"],
            call.body.get("at"),
        )
    except StoreProblem as problem:
        raise _problem(problem) from None
    return answer({"ranges": [_range_facts(each) for each in children]})


def merge(call: Call) -> Response:
    _container(call)
    parameters = call.parameters
    first, second = call.body["ranges"]
    try:
        merged = call.served.merge(parameters["database"], parameters["container"], first, second)
    except StoreProblem as problem:
        raise _problem(problem) from None
    return answer(_range_facts(merged))


def list_faults(call: Call) -> Response:
    faults = call.served.service.faults.list(call.now)
    return answer({"faults": [to_json(fault) for fault in faults]})


def inject_fault(call: Call) -> Response:
    try:
        fault = call.served.inject(call.body)
    except FaultError as error:
        raise Problem(400, str(error), expected=error.expected, field=error.field) from None
    return answer(to_json(fault), 201, {"location": f"{BASE}/faults/{fault.id}"})


def end_fault(call: Call) -> Response:
    faults = call.served.service.faults
    fault_id = call.parameters["id"]
    faults.list(call.now)  # those that are over are no longer there to be ended
    if not faults.remove(fault_id):
        raise Problem(
            404,
            f'There is no standing fault "{fault_id[:100]}".',
            expected=f"an id of GET {BASE}/faults",
            field="id",
        )
    return _NOTHING


def end_all_faults(call: Call) -> Response:
    call.served.service.faults.clear()
    return _NOTHING


def _container(call: Call) -> Container:
    try:
        return call.served.container(call.parameters["database"], call.parameters["container"])
    except NotFound as problem:
        raise Problem(404, str(problem), expected=f"one of GET {BASE}/containers") from None


def _problem(problem: StoreProblem) -> Problem:
    return Problem(404 if isinstance(problem, RangeGone) else 409, str(problem))


def _container_facts(database: str, container: Container) -> dict[str, Any]:
    return {
        "database": database,
        "container": container.id,
        "ranges": len(container.ranges),
        "items": sum(len(each.items) for each in container.ranges),
    }


def _range_facts(held: Range) -> dict[str, Any]:
    return {
        "id": held.id,
        "least": held.span.least,
        "beyond": held.span.beyond,
        "lsn": held.lsn,
        "items": len(held.items),
        "parents": list(dict.fromkeys(held.parents)),
    }
