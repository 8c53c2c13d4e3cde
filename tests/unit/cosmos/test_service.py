"""Requests and answers, without sockets: signatures, headers, statuses and substatuses."""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tidegate_cosmos.options import Options
from tidegate_cosmos.rest.signing import WELL_KNOWN_KEY, key_bytes
from tidegate_cosmos.server import CosmosServer, StartError
from tidegate_cosmos.service import Service
from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_http.messages import Request, Response

NOW = 1_800_000_000.0
KEY = key_bytes(WELL_KNOWN_KEY)
DOCS = "/dbs/sensors/colls/events/docs"
FEED = {"a-im": "Incremental Feed", "x-ms-documentdb-partitionkeyrangeid": "0"}


class World:
    """A service with one container of two ranges, and somebody who asks it."""

    def __init__(self, *, is_checked: bool = False) -> None:
        self.account = Account(salt=1)
        database = self.account.add_database({"id": "sensors"}, NOW)
        self.events: Container = self.account.add_container(
            database, {"id": "events", "partitionKey": {"paths": ["/home"]}}, NOW, ranges=2
        )
        self.service = Service(self.account, KEY if is_checked else None, lambda: NOW)

    def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[Response, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
        response = self.service.respond(Request(method, path, named, data))
        return response, json.loads(response.body) if response.body else None

    def refused(self, status: int, substatus: int, method: str, path: str, **more: Any) -> str:
        response, told = self.ask(method, path, **more)
        found = (response.status, response.headers["x-ms-substatus"])
        assert found == (status, str(substatus)), told
        return str(told["message"])

    def create(self, name: str, home: str = "h1", **more: Any) -> Response:
        response, told = self.ask("POST", DOCS, {"id": name, "home": home, **more})
        assert response.status == 201, told
        return response


@pytest.fixture
def world() -> World:
    return World()


def signed(
    method: str, kind: str, resource: str, at: float = NOW, key: bytes = KEY
) -> dict[str, str]:
    date = formatdate(at, usegmt=True)
    text = f"{method.lower()}\n{kind}\n{resource}\n{date.lower()}\n\n"
    signature = b64encode(hmac.digest(key, text.encode(), "sha256")).decode()
    token = quote(f"type=master&ver=1.0&sig={signature}", safe="")
    return {"authorization": token, "x_ms_date": date}


def test_a_request_that_is_signed_by_name_or_by_resource_id_is_let_in() -> None:
    world = World(is_checked=True)
    by_name = signed("GET", "docs", "dbs/sensors/colls/events")
    assert world.ask("GET", f"{DOCS}/", **by_name)[0].status == 200
    rid = world.events.rid
    path = f"/dbs/{world.account.database('sensors').rid}/colls/{rid}/pkranges"
    assert world.ask("GET", path, **signed("GET", "pkranges", rid.lower()))[0].status == 200
    assert world.ask("GET", "/", **signed("GET", "", ""))[0].status == 200


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        ({}, 401, "not signed"),
        (signed("GET", "docs", "dbs/sensors/colls/events", key=b"wrong"), 401, "wrong key"),
        (signed("PUT", "docs", "dbs/sensors/colls/events"), 401, "wrong key"),
        (signed("GET", "docs", "dbs/sensors/colls/other"), 401, "wrong key"),
        (signed("GET", "docs", "dbs/sensors/colls/events", at=NOW - 1_000), 403, "clock"),
        ({"authorization": "type%3Daad%26ver%3D1.0%26sig%3Dx"}, 401, "'aad'"),
        ({"authorization": "nonsense", "x_ms_date": "never"}, 401, "type"),
    ],
)
def test_a_request_that_is_signed_wrongly_is_refused_and_told_no_key(
    headers: dict[str, str], status: int, said: str
) -> None:
    response, told = World(is_checked=True).ask("GET", DOCS, **headers)
    assert response.status == status
    assert said in told["message"]
    assert WELL_KNOWN_KEY not in told["message"]


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 310, "1" + "0" * 5_000]
)
def test_a_number_that_no_double_holds_is_refused_and_never_stored(
    world: World, number: str
) -> None:
    item = f'{{"id":"a","home":"h1","deep":[{{"n":{number}}}]}}'.encode()
    assert "not valid JSON" in world.refused(400, 0, "POST", DOCS, body=item)
    world.refused(400, 0, "POST", DOCS, body=b"{}", x_ms_documentdb_partitionkey=f"[{number}]")
    given = f'[{{"name":"@n","value":{number}}}]'
    asked = f'{{"query":"SELECT * FROM c WHERE c.n = @n","parameters":{given}}}'
    query = {"content_type": "application/query+json"}
    world.refused(400, 0, "POST", DOCS, body=asked.encode(), **query)
    assert list(world.events.items()) == []


@pytest.mark.parametrize("number", ["1.7e308", "-1.7e308", "5e-400", "9" * 300, "-0.0"])
def test_a_number_that_a_double_holds_is_kept(world: World, number: str) -> None:
    item = f'{{"id":"a","home":"h1","n":{number}}}'.encode()
    response, told = world.ask("POST", DOCS, item)
    assert (response.status, told["n"]) == (201, json.loads(number))


def test_every_answer_says_what_it_cost_and_whose_it_is(world: World) -> None:
    response = world.create("a")
    headers = response.headers
    assert float(headers["x-ms-request-charge"]) == pytest.approx(6.7)
    assert headers["x-ms-alt-content-path"] == "dbs/sensors/colls/events"
    assert headers["x-ms-content-path"] == world.events.rid
    held = headers["x-ms-documentdb-partitionkeyrangeid"]
    assert headers["x-ms-session-token"] == f"{held}:-1#{headers['lsn']}"
    assert headers["etag"] == json.loads(response.body)["_etag"]
    large, small = world.create("b", text="x" * 10_000), world.create("c")
    charges = [float(each.headers["x-ms-request-charge"]) for each in (large, small)]
    assert charges[0] > charges[1]


def test_a_client_goes_on_by_the_name_by_which_it_has_come(world: World) -> None:
    world.service.endpoint = "http://localhost:8081/"
    for host, there in (("cosmos.shop.svc:8081", "http://cosmos.shop.svc:8081/"), ("", None)):
        _, told = world.ask("GET", "/", host=host)
        (found,) = told["writableLocations"]
        assert found["databaseAccountEndpoint"] == (there or world.service.endpoint)


def test_who_wants_no_item_back_gets_none(world: World) -> None:
    response, told = world.ask("POST", DOCS, {"id": "a", "home": "h1"}, prefer="return=minimal")
    assert (response.status, told) == (201, None)
    assert response.headers["etag"]


def test_an_item_that_is_not_changed_is_304(world: World) -> None:
    etag = world.create("a").headers["etag"]
    key = {"x_ms_documentdb_partitionkey": '["h1"]'}
    assert world.ask("GET", f"{DOCS}/a", **key, if_none_match=etag)[0].status == 304
    assert world.ask("GET", f"{DOCS}/a", **key, if_none_match='"x"')[0].status == 200


def test_a_session_that_is_ahead_of_its_range_is_refused(world: World) -> None:
    response = world.create("a")
    held, lsn = response.headers["x-ms-documentdb-partitionkeyrangeid"], response.headers["lsn"]
    key = {"x_ms_documentdb_partitionkey": '["h1"]'}
    ahead = f"7:-1#99,{held}:-1#{int(lsn) + 1}"
    world.refused(404, 1002, "GET", f"{DOCS}/a", **key, x_ms_session_token=ahead)
    for token in (f"{held}:-1#{lsn}", "7:-1#99", "nonsense"):
        assert world.ask("GET", f"{DOCS}/a", **key, x_ms_session_token=token)[0].status == 200


def test_feeds_and_queries_are_refused_for_a_session_that_is_ahead_as_items_are(
    world: World,
) -> None:
    response = world.create("a")
    held, lsn = response.headers["x-ms-documentdb-partitionkeyrangeid"], response.headers["lsn"]
    feed = {**FEED, "x-ms-documentdb-partitionkeyrangeid": held}
    query = {"x_ms_documentdb_isquery": "true"}
    body = {"query": "SELECT * FROM c"}
    ahead, there = (f"7:-1#99,{held}:-1#{int(lsn) + more}" for more in (1, 0))
    world.refused(404, 1002, "GET", DOCS, **feed, x_ms_session_token=ahead)
    world.refused(404, 1002, "GET", DOCS, x_ms_session_token=ahead)
    world.refused(404, 1002, "POST", DOCS, body=body, **query, x_ms_session_token=ahead)
    assert world.ask("GET", DOCS, **feed, x_ms_session_token=there)[0].status == 200
    assert world.ask("GET", DOCS, x_ms_session_token=there)[0].status == 200
    assert world.ask("POST", DOCS, body, **query, x_ms_session_token=there)[0].status == 200


def test_a_list_of_ranges_that_is_known_is_304_until_one_splits(world: World) -> None:
    path = "/dbs/sensors/colls/events/pkranges"
    response, told = world.ask("GET", path)
    assert [each["id"] for each in told["PartitionKeyRanges"]] == ["0", "1"]
    known = response.headers["etag"]
    assert world.ask("GET", path, if_none_match=known)[0].status == 304
    world.events.split("0")
    response, told = world.ask("GET", path, if_none_match=known)
    parents = {each["id"]: each["parents"] for each in told["PartitionKeyRanges"]}
    assert parents == {"2": ["0"], "3": ["0"], "1": []}


def test_what_is_refused_says_why_in_the_services_own_numbers(world: World) -> None:
    world.create("a")
    other = {"x_ms_documentdb_partitionkey": '["h2"]'}
    body = {"id": "b", "home": "h1"}
    assert "doesn't match" in world.refused(400, 1001, "POST", DOCS, body=body, **other)
    rid = {"x_ms_cosmos_intended_collection_rid": "AAAAAA=="}
    assert "made again" in world.refused(400, 1024, "POST", DOCS, body=body, **rid)
    world.events.split("0")
    world.refused(410, 1002, "GET", DOCS, **FEED)
    assert "range by range" in world.refused(400, 0, "GET", DOCS, a_im="Incremental Feed")
    assert "nothing at" in world.refused(404, 0, "GET", "/dbs/sensors/users")
    assert "does not serve PATCH" in world.refused(405, 0, "PATCH", f"{DOCS}/a")
    batch = {"x_ms_cosmos_is_batch_request": "True"}
    assert "transactional batches" in world.refused(405, 0, "POST", DOCS, body=b"[]", **batch)
    of_key = "/dbs/sensors/colls/events/operations/partitionkeydelete"
    assert "does not serve POST" in world.refused(405, 0, "POST", of_key)
    world.refused(400, 0, "POST", DOCS, body=b"{")
    world.refused(400, 0, "POST", DOCS, body=b"[1]")
    world.refused(413, 0, "POST", DOCS, body=b" " * (2 * 1024 * 1024 + 1))


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({**FEED, "if-none-match": '"9"'}, "not of this container"),
        ({**FEED, "if-none-match": '"x"'}, "If-None-Match"),
        ({**FEED, "if-modified-since": "tomorrow"}, "If-Modified-Since"),
        ({**FEED, "a-im": "Whole Feed"}, "A-IM"),
        ({**FEED, "x-ms-max-item-count": "many"}, "x-ms-max-item-count"),
        ({**FEED, "x-ms-documentdb-partitionkey": "h1"}, "x-ms-documentdb-partitionkey"),
    ],
)
def test_a_feed_that_is_asked_for_wrongly_is_refused(
    world: World, headers: dict[str, str], said: str
) -> None:
    assert said in world.refused(400, 0, "GET", DOCS, **headers)


def test_keys_that_a_range_does_not_hold_are_gone_from_it(world: World) -> None:
    held = world.events.ranges[0].span
    beyond = {**FEED, "x-ms-start-epk": held.least, "x-ms-end-epk": "FF"}
    world.refused(410, 1002, "GET", DOCS, **beyond)


def test_a_page_of_the_feed_ends_at_4_mb_and_the_next_one_goes_on(world: World) -> None:
    for number in range(6):
        world.events.create({"id": str(number), "home": "h1", "text": "x" * 1_000_000}, NOW)
    held = world.events.range_at(world.events.key.effective(("h1",)))
    feed = {**FEED, "x-ms-documentdb-partitionkeyrangeid": held.id}
    response, told = world.ask("GET", DOCS, **feed)
    assert [each["id"] for each in told["Documents"]] == ["0", "1", "2", "3"]
    _, told = world.ask("GET", DOCS, **feed, if_none_match=response.headers["etag"])
    assert [each["id"] for each in told["Documents"]] == ["4", "5"]


def test_metadata_stand_apart_where_a_client_wants_it(world: World) -> None:
    held = world.create("a").headers["x-ms-documentdb-partitionkeyrangeid"]
    feed = {**FEED, "x-ms-documentdb-partitionkeyrangeid": held}
    _, told = world.ask(
        "GET", DOCS, **feed, x_ms_cosmos_changefeed_wire_format_version="2021-09-15"
    )
    (change,) = told["Documents"]
    assert change["current"]["id"] == "a"
    assert change["metadata"]["lsn"] == change["current"]["_lsn"]
    assert change["metadata"]["crts"] == NOW


def test_a_container_can_be_given_another_description_but_not_another_key(world: World) -> None:
    path = "/dbs/sensors/colls/events"
    _, told = world.ask("GET", path)
    response, told = world.ask("PUT", path, {**told, "defaultTtl": 60})
    assert (response.status, told["defaultTtl"]) == (200, 60)
    other = {**told, "partitionKey": {"paths": ["/id"], "kind": "Hash", "version": 2}}
    assert "partitionKey" in world.refused(400, 0, "PUT", path, body=other)


def test_a_full_disk_is_said_and_nothing_builds_on_what_was_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[str] = []
    options = Options(port=0, data_directory=tmp_path, is_checked=False)
    server = CosmosServer(options, reports.append)
    server._open()
    server.add_container("sensors", "events", "/home")
    assert server._journal is not None

    def full() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(server._journal, "keep", full)
    body = json.dumps({"id": "a", "home": "h1"}).encode()
    for method in ("POST", "GET"):
        response = server._respond(Request(method, DOCS, {}, body))
        assert response.status == 503
        assert b"cannot write to its disk" in response.body
    assert reports == [f"cannot write to {tmp_path}: No space left on device"]
    server._journal.close()


def test_a_key_that_is_no_base64_stops_the_start() -> None:
    with pytest.raises(StartError, match="--key-value: expected a key in base64"):
        CosmosServer(Options(key="not base64!"), print)


def test_a_path_of_very_many_operations_is_refused_as_any_other() -> None:
    world = World(is_checked=True)
    path = DOCS + "/operations/partitionkeydelete" * 2_000
    date = formatdate(NOW, usegmt=True)
    headers = {"authorization": "type=master&sig=x", "x-ms-date": date}
    refused = world.service.refuse_head(Request("POST", path, headers, b""))
    assert refused is not None
    assert refused.status == 401
