"""What the admin API changes: hubs, partitions, connections and faults.

Rules: a body has passed its schema before it comes here. What a change names must exist.
"""

from __future__ import annotations

from urllib.parse import quote

from tidegate_http.check import wrong
from tidegate_http.messages import Problem, Response, answer
from tidegate_hub.admin.control import Call
from tidegate_hub.admin.reading import fault_facts, hub_facts, hub_of
from tidegate_hub.config import DEFAULT_GROUP, DEFAULT_PARTITIONS, HubSpec
from tidegate_hub.fault_json import FaultError, from_json
from tidegate_hub.fault_places import check_places

BASE = "/api/v1"
_NOTHING = Response(204)


def add_hub(call: Call) -> Response:
    body, hubs = call.body, call.served.broker.hubs
    name = body["name"]
    if name in hubs:
        raise Problem(
            409,
            f'Hub "{hubs.get(name).name}" is there already.',
            expected=f"another name; partitions are added with POST {BASE}/hubs/{name}/partitions",
            field="name",
        )
    retention = body.get("retention", {})
    hub = call.served.broker.add_hub(
        HubSpec(
            name=name,
            partitions=body.get("partitions", DEFAULT_PARTITIONS),
            groups=_groups(body.get("groups", [])),
            retention_hours=retention.get("hours"),
            retention_bytes=retention.get("bytes"),
        )
    )
    return answer(hub_facts(hub), 201, {"location": f"{BASE}/hubs/{quote(hub.name)}"})


def _groups(names: list[str]) -> tuple[str, ...]:
    groups = {DEFAULT_GROUP.lower(): DEFAULT_GROUP}
    for index, name in enumerate(names):
        if name.lower() == DEFAULT_GROUP.lower():
            continue
        if name.lower() in groups:
            raise wrong(f"groups[{index}]", "every group once", name)
        groups[name.lower()] = name
    return tuple(groups.values())


def grow_hub(call: Call) -> Response:
    hub, total = hub_of(call), call.body["total"]
    there = len(hub.partitions)
    if total < there:
        raise Problem(
            409,
            f'Hub "{hub.name}" has {there} partitions, and partitions cannot be taken away.',
            expected=f"a total of at least {there}",
            field="total",
        )
    return answer(hub_facts(call.served.broker.grow_hub(hub.name, total)))


def drop_connection(call: Call) -> Response:
    number = call.parameters["number"]
    for client in call.served.clients:
        if str(client.number) == number:
            client.abort()
            return _NOTHING
    raise Problem(
        404,
        f'There is no connection "{number[:100]}".',
        expected=f"a number of GET {BASE}/connections",
        field="number",
    )


def inject_fault(call: Call) -> Response:
    try:
        fault = from_json(call.body, call.now)
        check_places(fault, call.served.broker.hubs)
    except FaultError as error:
        raise Problem(400, str(error), expected=error.expected, field=error.field) from None
    added = call.served.inject(fault)
    headers = {} if added.is_immediate else {"location": f"{BASE}/faults/{added.id}"}
    return answer(fault_facts(added), 200 if added.is_immediate else 201, headers)


def end_fault(call: Call) -> Response:
    fault_id = call.parameters["id"]
    call.served.broker.faults.list(call.now)  # those that are over are no longer there to be ended
    if not call.served.broker.faults.remove(fault_id):
        raise Problem(
            404,
            f'There is no standing fault "{fault_id[:100]}".',
            expected=f"an id of GET {BASE}/faults",
            field="id",
        )
    return _NOTHING


def end_all_faults(call: Call) -> Response:
    call.served.broker.faults.clear()
    return _NOTHING
