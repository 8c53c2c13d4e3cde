"""Faults through the API: each reaches the plan or acts at once, as its schema says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.admin_hub import NOW, MemoryClient, call, publish
from tidegate_http.check import check
from tidegate_http.messages import Problem
from tidegate_hub.admin.fault_schemas import EXAMPLES, fault_schema
from tidegate_hub.fault_json import FaultError, from_json
from tidegate_hub.faults import MAY_HIT, Fault, Kind, Operation, Target
from tidegate_hub.server import HubServer

RECEIVING = "telemetry/ConsumerGroups/$Default/Partitions/1"


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.EXPIRE_RETENTION])
def test_each_kind_that_can_stand_reaches_the_plan(server: HubServer, kind: Kind) -> None:
    body = {**EXAMPLES[kind], "times": 2}
    response, answer = call(server, "POST", "/api/v1/faults", body)
    assert response.status == 201
    assert answer["is_standing"]
    assert response.headers["location"] == f"/api/v1/faults/{answer['id']}"
    operation = (body.get("parameters", {}).get("on") or MAY_HIT[kind])[0]
    target = Target(Operation(operation), "telemetry", "1")
    taken = server.broker.faults.take(kind, target, NOW)
    assert taken is not None
    assert taken.id == answer["id"]
    _, left = call(server, "GET", "/api/v1/faults")
    assert [each["times"] for each in left["faults"]] == [1]


@pytest.mark.parametrize("kind", [Kind.SERVER_BUSY, Kind.REFUSE_TOKEN, Kind.STOP_ACCEPTING])
def test_a_fault_that_cannot_act_at_once_stands_until_it_is_ended(
    server: HubServer, kind: Kind
) -> None:
    response, fault = call(server, "POST", "/api/v1/faults", {"kind": kind})
    assert response.status == 201
    assert server.broker.faults
    assert call(server, "DELETE", f"/api/v1/faults/{fault['id']}")[0].status == 204
    assert not server.broker.faults
    assert call(server, "DELETE", f"/api/v1/faults/{fault['id']}")[0].status == 404


def test_all_faults_are_ended_together(server: HubServer) -> None:
    for _ in range(3):
        call(server, "POST", "/api/v1/faults", {"kind": "refuse_token"})
    assert call(server, "DELETE", "/api/v1/faults")[0].status == 204
    assert not server.broker.faults


def test_a_fault_for_a_time_ends_then(server: HubServer) -> None:
    call(server, "POST", "/api/v1/faults", {"kind": "refuse_token", "for_seconds": 5})
    (fault,) = server.broker.faults.list(NOW)
    assert fault.until == NOW + 5
    assert server.broker.faults.list(NOW + 5) == ()


def test_a_fault_that_is_over_can_no_longer_be_ended(server: HubServer) -> None:
    added = server.inject(Fault(Kind.REFUSE_TOKEN, until=NOW - 1))
    assert call(server, "DELETE", f"/api/v1/faults/{added.id}")[0].status == 404


def test_a_link_is_detached_at_once_with_the_condition_asked_for(server: HubServer) -> None:
    client = MemoryClient(server)
    client.receive_from(RECEIVING)
    body = {
        "kind": "detach_link", "hub": "TELEMETRY", "partition": 1, "group": "$default",
        "parameters": {"condition": "amqp:link:stolen", "description": "by a test"},
    }  # fmt: skip
    response, answer = call(server, "POST", "/api/v1/faults", body)
    assert (response.status, answer["is_standing"]) == (200, False)
    client.exchange()
    assert "amqp:link:stolen" in str(client.events[-1])
    assert not server.broker.faults


def test_only_the_links_of_the_named_place_are_detached(server: HubServer) -> None:
    client = MemoryClient(server)
    client.receive_from(RECEIVING)
    call(server, "POST", "/api/v1/faults", {"kind": "detach_link", "partition": "0"})
    _, answer = call(server, "GET", "/api/v1/hubs/telemetry")
    assert answer["receivers"] == 1


def test_connections_are_dropped_at_once(server: HubServer) -> None:
    client = MemoryClient(server)
    assert call(server, "POST", "/api/v1/faults", {"kind": "drop_connection"})[0].status == 200
    assert client.wire.is_aborted


def test_retention_expires_at_once_up_to_a_sequence_number(server: HubServer) -> None:
    publish(server, "telemetry", "1", 5)
    body = {"kind": "expire_retention", "parameters": {"before_sequence": 3}}
    assert call(server, "POST", "/api/v1/faults", body)[0].status == 200
    log = server.broker.hubs.get("telemetry").partition("1").log
    assert (log.first_sequence, log.next_sequence) == (3, 5)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({}, "kind", "one of server_busy, throttle"),
    ({"kind": "throttle"}, "parameters", "is missing"),
    ({"kind": "refuse_token", "hub": "telemtry"}, "hub", "one of telemetry, small"),
    ({"kind": "server_busy", "hub": "small", "partition": 2}, "partition", "from 0 to 1"),
    ({"kind": "server_busy", "partition": "x"}, "partition", "from 0 to 3"),
    ({"kind": "server_busy", "hub": "telemetry", "group": "analytics"}, "group", "one of $Default"),
    ({"kind": "server_busy", "group": "nix"}, "group", "one of $Default, analytics"),
    ({"kind": "throttle", "group": "$Default"}, "body", "only the keys kind, hub, partition"),
    ({"kind": "server_busy", "times": 0}, "times", "a whole number from 1"),
    ({"kind": "server_busy", "for_seconds": 1, "until": 2}, "for_seconds", "nothing beside until"),
    ({"kind": "delay", "parameters": {"seconds": 0}}, "parameters.seconds", "a number above 0"),
    ({"kind": "delay", "parameters": {"seconds": 1, "on": ["sned"]}}, "parameters.on[0]", "one of"),
    (
        {"kind": "detach_link", "parameters": {"condition": "Müll"}},
        "parameters.condition",
        "in ASCII without spaces",
    ),
]


@pytest.mark.parametrize(("body", "field", "words"), REFUSED)
def test_a_fault_that_could_not_work_is_refused_with_what_could(
    server: HubServer, body: dict[str, Any], field: str, words: str
) -> None:
    response, answer = call(server, "POST", "/api/v1/faults", body)
    assert (response.status, answer["field"]) == (400, field)
    assert words in answer["detail"]
    assert not server.broker.faults


# --- the schemas and `fault_json` agree

TEXTS = st.sampled_from(["telemetry", "0", "", "x" * 1_025, "a b", "é", "amqp:not-found"])
NUMBERS = st.sampled_from([-1, 0, 1, 2, 0.5, 1e9, True, None])
VALUES = st.one_of(
    TEXTS, NUMBERS, st.lists(st.sampled_from([*Operation, "nix"]).map(str), max_size=2)
)
KEYS = ["hub", "partition", "group", "times", "for_seconds", "until", "nix"]
PARAMETERS = ["wait_seconds", "events_per_second", "condition", "description", "on", "seconds",
              "before_sequence", "nix"]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(list(Kind)),
    st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    st.one_of(st.none(), VALUES, st.dictionaries(st.sampled_from(PARAMETERS), VALUES, max_size=2)),
)
def test_what_the_schema_takes_the_hub_understands_and_the_other_way_round(
    kind: Kind, fields: dict[str, Any], parameters: Any
) -> None:
    body = {"kind": str(kind), **fields}
    if parameters is not None:
        body["parameters"] = parameters
    try:
        check(body, fault_schema(kind), {})
        refused = ""
    except Problem as problem:
        refused = problem.detail
    try:
        from_json(body, NOW)
        not_understood = ""
    except FaultError as error:
        not_understood = str(error)
    if refused and not not_understood:
        # The API is stricter in these ways alone: no null, texts that fit a frame, bounds, and a
        # list also of one operation.
        strict = (
            "found null",
            "1024 characters",
            "up to",
            "ASCII",
            "parameters.on: expected a list",
        )
        assert any(words in refused for words in strict), refused
    if not_understood and not refused:
        assert "nothing beside until" in not_understood or "partition" in not_understood
