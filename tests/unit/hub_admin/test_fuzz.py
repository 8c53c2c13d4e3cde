"""Whatever is posted: the hub never fails at it, says why not, and goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.admin_hub import MemoryClient, call, make_hub
from tidegate_http.check import check
from tidegate_http.http import HttpConnection
from tidegate_http.messages import answer
from tidegate_hub.admin.fault_schemas import EXAMPLES, FAULT_SCHEMAS
from tidegate_hub.admin.schemas import SCHEMAS
from tidegate_hub.faults import Kind


def properties_of(schema: dict[str, Any]) -> set[str]:
    """The names of an object's properties, and of those below."""
    below = schema.get("properties", {})
    return set(below).union(*(properties_of(each) for each in below.values()))


TAKEN = {name: SCHEMAS[name] for name in ("NewHub", "Retention", "PartitionTotal", *FAULT_SCHEMAS)}
POSTS = ["/api/v1/hubs", "/api/v1/hubs/telemetry/partitions", "/api/v1/faults"]
QUICK = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.sampled_from([10**400, -1, 2**63, 1e308, "\ud800", "\0", "x" * 2_000, "telemetry", "0"])
)  # fmt: skip
# What bodies are made of, so that some of what is drawn is nearly right.
WORDS = sorted({name for schema in TAKEN.values() for name in properties_of(schema)})
KEYS = st.sampled_from(WORDS) | st.text(max_size=5)


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)


# Two levels by hand: `st.recursive` now and then takes its own extension for one that cannot grow.
VALUES: st.SearchStrategy[Any] = SCALARS | _around(SCALARS) | _around(_around(SCALARS))


def post_is_answered_well(path: str, body: bytes) -> None:
    server = make_hub("telemetry:4")
    client = MemoryClient(server)
    client.receive_from("telemetry/ConsumerGroups/$Default/Partitions/1")
    client.send_to("telemetry")
    response, said = call(server, "POST", path, body)
    assert response.status in (200, 201, 400, 409), said
    check(said, {"type": "object"} if response.status < 300 else SCHEMAS["Problem"], SCHEMAS)
    client.exchange()
    assert call(server, "GET", "/api/v1/hubs")[0].status == 200
    assert call(server, "GET", "/api/v1/connections")[0].status == 200
    server.broker.store.close()


@pytest.mark.slow
@QUICK
@given(st.sampled_from(POSTS), VALUES)
def test_any_json_is_answered(path: str, body: Any) -> None:
    post_is_answered_well(path, json.dumps(body).encode())


@QUICK
@given(st.sampled_from(POSTS), st.binary(max_size=60))
def test_any_bytes_are_answered(path: str, body: bytes) -> None:
    post_is_answered_well(path, body)


@pytest.mark.slow
@QUICK
@given(st.sampled_from(list(Kind)), st.dictionaries(KEYS, VALUES, max_size=2), st.data())
def test_any_fault_with_something_odd_in_it_is_answered(
    kind: Kind, odd: dict[str, Any], data: st.DataObject
) -> None:
    known = FAULT_SCHEMAS[f"{kind.title().replace('_', '')}Fault"]["properties"]
    body = {**EXAMPLES[kind]}
    inside = {**body.get("parameters", {})}
    for name, value in odd.items():
        place = inside if name in known["parameters"]["properties"] else body
        place[name] = value
    names = list(known["parameters"]["properties"])
    if names:
        inside[data.draw(st.sampled_from(names))] = data.draw(VALUES)
    post_is_answered_well("/api/v1/faults", json.dumps({**body, "parameters": inside}).encode())


@QUICK
@given(st.lists(st.binary(max_size=40) | st.sampled_from(
    [b"GET / HTTP/1.1\r\n", b"Host: localhost\r\n", b"\r\n", b"Content-Length: 5\r\n",
     b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"", b"POST ",
     b"Upgrade: x\r\nConnection: upgrade\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"HEAD "]
), max_size=12))  # fmt: skip
def test_any_bytes_on_the_wire_end_in_answers_or_a_closed_connection(pieces: list[bytes]) -> None:
    failures: list[str] = []
    http = HttpConnection(lambda request: answer(request.target), lambda: 0.0, failures.append)
    for piece in pieces:
        http.receive(piece)
        for _ in range(100):
            if not http.next_output():
                break
        else:
            raise AssertionError("it never stopped talking")
    assert not failures
