"""The API's answers, without sockets: what is told, what is changed, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from support.admin_hub import MemoryClient, call, make_hub, publish
from tidegate_hub.server import HubServer
from tidegate_hub.storage.errors import StorageFull
from tidegate_hub.storage.retention import Retention

GROUP = "telemetry/ConsumerGroups/$Default/Partitions/1"


def test_hubs_are_listed_with_what_they_hold(server: HubServer) -> None:
    publish(server, "telemetry", "1", 3)
    _, answer = call(server, "GET", "/api/v1/hubs")
    telemetry, small = answer["hubs"]
    assert (telemetry["name"], telemetry["partition_count"], telemetry["events"]) == (
        "telemetry", 4, 3,
    )  # fmt: skip
    assert telemetry["bytes"] > 0
    assert small["groups"] == ["$Default", "analytics"]
    assert small["retention"] == {"hours": None, "bytes": None}


def test_a_hub_is_found_without_regard_to_case(server: HubServer) -> None:
    _, answer = call(server, "GET", "/api/v1/hubs/TELEMETRY")
    assert answer["name"] == "telemetry"


def test_an_empty_partition_says_so(server: HubServer) -> None:
    _, answer = call(server, "GET", "/api/v1/hubs/small/partitions/1")
    expected = {
        "id": "1", "first_sequence": 0, "next_sequence": 0, "events": 0, "first_offset": None,
        "last_offset": "-1", "first_enqueued_at": None, "last_enqueued_at": None, "receivers": [],
    }  # fmt: skip
    assert {key: answer[key] for key in expected} == expected


def test_a_partition_tells_its_range_also_after_trimming(server: HubServer) -> None:
    publish(server, "telemetry", "1", 5)
    server.broker.hubs.get("telemetry").partition("1").log.trim_to(2)
    _, answer = call(server, "GET", "/api/v1/hubs/telemetry/partitions/1")
    assert (answer["first_sequence"], answer["next_sequence"], answer["events"]) == (2, 5, 3)
    assert int(answer["last_offset"]) > int(answer["first_offset"]) > 0
    assert answer["last_enqueued_at"].endswith("Z")


def test_a_receiver_is_shown_with_its_place_and_how_far_it_is_behind(server: HubServer) -> None:
    client = MemoryClient(server)
    client.receive_from(GROUP, epoch=7)
    publish(server, "telemetry", "1", 5)
    _, answer = call(server, "GET", "/api/v1/hubs/telemetry/partitions")
    (receiver,) = answer["partitions"][1]["receivers"]
    assert receiver == {
        "connection": client.hub_end.number, "client": "the-client", "group": "$Default",
        "name": None, "epoch": 7, "position": 0, "behind": 5, "credit": 0,
    }  # fmt: skip


def test_a_receiver_below_what_is_kept_is_behind_by_what_is_left(server: HubServer) -> None:
    MemoryClient(server).receive_from(GROUP)
    publish(server, "telemetry", "1", 5)
    server.broker.hubs.get("telemetry").partition("1").log.trim_to(3)
    _, answer = call(server, "GET", "/api/v1/hubs/telemetry/partitions/1")
    assert answer["receivers"][0]["position"] == 3
    assert answer["receivers"][0]["behind"] == 2


def test_connections_are_listed_with_their_links(server: HubServer) -> None:
    client = MemoryClient(server)
    client.send_to("small")
    client.receive_from(GROUP, epoch=1)
    _, answer = call(server, "GET", "/api/v1/connections")
    (connection,) = answer["connections"]
    assert (connection["peer"], connection["client"]) == ("memory", "the-client")
    assert connection["links"] == [
        {"role": "publisher", "hub": "small", "partition": None, "group": None, "epoch": None},
        {"role": "receiver", "hub": "telemetry", "partition": "1", "group": "$Default", "epoch": 1},
    ]


def test_a_connection_is_dropped_by_its_number(server: HubServer) -> None:
    first, second = MemoryClient(server), MemoryClient(server)
    response, _ = call(server, "DELETE", f"/api/v1/connections/{second.hub_end.number}")
    assert response.status == 204
    assert (first.wire.is_aborted, second.wire.is_aborted) == (False, True)


def test_counters_are_told(server: HubServer) -> None:
    publish(server, "telemetry", "0", 4)
    MemoryClient(server)
    _, answer = call(server, "GET", "/api/v1/stats")
    assert (answer["events_in"], answer["events"], answer["connections"]) == (4, 4, 1)
    assert (answer["hubs"], answer["partitions"]) == (2, 6)
    assert answer["at"] == "2027-01-15T08:00:00.000Z"


def test_a_hub_is_added_with_everything_that_can_be_said(server: HubServer) -> None:
    body = {
        "name": "Orders", "partitions": 3, "groups": ["$default", "billing"],
        "retention": {"hours": 1.5, "bytes": 1000},
    }  # fmt: skip
    response, answer = call(server, "POST", "/api/v1/hubs", body)
    assert response.status == 201
    assert response.headers["location"] == "/api/v1/hubs/Orders"
    assert answer["groups"] == ["$Default", "billing"]
    assert answer["retention"] == {"hours": 1.5, "bytes": 1000}
    assert len(server.broker.hubs.get("orders").partitions) == 3


def test_a_hub_that_says_nothing_of_retention_keeps_events_as_the_server_does() -> None:
    server = make_hub(retention=Retention(7_200_000, None))
    _, answer = call(server, "POST", "/api/v1/hubs", {"name": "orders"})
    assert answer["retention"] == {"hours": 2.0, "bytes": None}
    assert answer["partition_count"] == 4


def test_partitions_are_added_and_links_told_to_attach_again(server: HubServer) -> None:
    client = MemoryClient(server)
    client.receive_from(GROUP)
    response, answer = call(server, "POST", "/api/v1/hubs/telemetry/partitions", {"total": 6})
    assert response.status == 200
    assert answer["partition_count"] == 6
    client.exchange()
    assert "com.microsoft:entity-updated" in str(client.events[-1])


def test_the_same_total_changes_nothing(server: HubServer) -> None:
    MemoryClient(server).receive_from(GROUP)
    response, answer = call(server, "POST", "/api/v1/hubs/telemetry/partitions", {"total": 4})
    assert (response.status, answer["receivers"]) == (200, 1)


def test_head_is_answered_like_get(server: HubServer) -> None:
    head, _ = call(server, "HEAD", "/healthz")
    get, _ = call(server, "GET", "/healthz")
    assert head == get


def test_no_answer_holds_the_key() -> None:
    server = make_hub("telemetry:2", is_checked=True, key_name="Boss", key="very-secret")
    MemoryClient(server)
    paths = ["/", "/openapi.json", "/healthz"] + [
        f"/api/v1/{name}" for name in ("hubs", "connections", "faults", "stats", "hubs/telemetry")
    ]
    for path in paths:
        response, _ = call(server, "GET", path)
        assert response.status == 200
        assert b"very-secret" not in response.body


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/api/v1/hubs/nix", None, 404, 'There is no hub "nix".'),
    ("GET", "/api/v1/hubs/nix/partitions/0", None, 404, 'There is no hub "nix".'),
    ("GET", "/api/v1/hubs/small/partitions/2", None, 404, 'Hub "small" has no partition "2".'),
    ("GET", "/api/v1/hubs/small/partitions/01", None, 404, 'Hub "small" has no partition "01".'),
    ("GET", "/api/v1/hubs/small/partitions/%2d1", None, 404, 'Hub "small" has no partition "-1".'),
    ("GET", "/nix", None, 404, "There is nothing at /nix."),
    ("GET", "/api/v1/hubs/", None, 404, 'There is no hub "".'),
    ("GET", "//", None, 404, "There is nothing at //."),
    ("GET", "*", None, 400, "The request's target is no path."),
    ("GET", "http://[::1/", None, 400, "The request's target is no path."),
    ("GET", "/api/v1/hubs?x", None, 400, "/api/v1/hubs takes no query."),
    ("PUT", "/api/v1/hubs", {}, 405, "PUT is not possible at /api/v1/hubs."),
    ("DELETE", "/api/v1/connections/99999", None, 404, 'There is no connection "99999".'),
    ("DELETE", "/api/v1/connections/x", None, 404, 'There is no connection "x".'),
    ("DELETE", "/api/v1/faults/fault-9", None, 404, 'There is no standing fault "fault-9".'),
    ("POST", "/api/v1/hubs", b"", 400, "The body is not valid JSON: line 1, column 1"),
    ("POST", "/api/v1/hubs", b"\xff", 400, "The body is not valid JSON: it is not UTF-8"),
    ("POST", "/api/v1/hubs", b'{"name":"\\ud800"}', 400, "half of a surrogate pair"),
    ("POST", "/api/v1/hubs", b"[" * 60_000, 400, "it is nested too deeply"),
    ("POST", "/api/v1/hubs", b'{"name":NaN}', 400, "NaN is not a number in JSON"),
    ("POST", "/api/v1/hubs", b"9" * 5_000, 400, "is too large a number"),
    ("POST", "/api/v1/hubs", [], 400, "body: expected an object, found []"),
    ("POST", "/api/v1/hubs", {}, 400, "name: is missing"),
    ("POST", "/api/v1/hubs", {"name": ""}, 400, "name: expected letters, digits"),
    ("POST", "/api/v1/hubs", {"name": "-x"}, 400, "name: expected letters, digits"),
    ("POST", "/api/v1/hubs", {"name": "x" * 257}, 400, "a text of 1 to 256"),
    ("POST", "/api/v1/hubs", {"name": "small"}, 409, 'Hub "small" is there already.'),
    ("POST", "/api/v1/hubs", {"name": "x", "size": 1}, 400, "body: expected only the keys name"),
    ("POST", "/api/v1/hubs", {"name": "x", "partitions": 0}, 400, "partitions: expected a whole"),
    ("POST", "/api/v1/hubs", {"name": "x", "partitions": 1025}, 400, "from 1 up to 1024"),
    ("POST", "/api/v1/hubs", {"name": "x", "partitions": True}, 400, "a whole number, found true"),
    ("POST", "/api/v1/hubs", {"name": "x", "groups": ["a", "A"]}, 400, "groups[1]: expected every"),
    ("POST", "/api/v1/hubs", {"name": "x", "groups": ["a b"]}, 400, "groups[0]: expected letters"),
    ("POST", "/api/v1/hubs", {"name": "x", "retention": {"hours": 0}}, 400, "retention.hours"),
    ("POST", "/api/v1/hubs/nix/partitions", {"total": 4}, 404, 'There is no hub "nix".'),
    ("POST", "/api/v1/hubs/small/partitions", {"total": 1}, 409, "cannot be taken away"),
    ("POST", "/api/v1/hubs/small/partitions", {"total": 2000}, 400, "total: expected a whole"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "words"), REFUSED)
def test_what_is_wrong_is_said(
    server: HubServer, method: str, path: str, body: Any, status: int, words: str
) -> None:
    response, answer = call(server, method, path, body)
    assert response.status == answer["status"] == status
    assert words in answer["detail"]
    assert response.content_type == "application/problem+json"
    assert len(server.broker.hubs.get("small").partitions) == 2


def test_a_method_that_is_not_possible_is_told_which_are(server: HubServer) -> None:
    response, _ = call(server, "PATCH", "/api/v1/faults")
    assert response.headers == {"allow": "GET, HEAD, POST, DELETE"}


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": ""},
        {"content_type": "application/json; charset=latin-1"},
        {"content_encoding": "gzip"},
    ],
)
def test_a_body_that_is_not_plain_json_is_of_an_unsupported_type(
    server: HubServer, headers: dict[str, str]
) -> None:
    response, answer = call(server, "POST", "/api/v1/hubs", {"name": "x"}, **headers)
    assert response.status == 415
    assert answer["expected"]


def test_a_full_disk_is_said_in_words_and_not_as_a_failure_of_the_hub(
    server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StorageFull("data")

    monkeypatch.setattr(server.broker.store, "save_hub", refuse)
    response, answer = call(server, "POST", "/api/v1/hubs", {"name": "orders"})
    assert response.status == 507
    assert "disk of data is full" in answer["detail"]
