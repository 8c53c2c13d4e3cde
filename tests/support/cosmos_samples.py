"""Valid inputs of the parsers of tidegate-cosmos, for the fuzzer to start from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from support.fuzzed_documents import json_seeds

DOCS = "/dbs/sensors/colls/events/docs"
QUERY: Mapping[str, str] = {
    "content-type": "application/query+json",
    "x-ms-documentdb-isquery": "True",
}
QUERIES = (
    "SELECT * FROM c",
    "SELECT TOP 3 * FROM root r WHERE r.n >= 5 AND NOT (r.n = 7 OR r.home IN ('h1', \"h2\"))",
    "SELECT c.id, c['n'] AS number, c.list[0] FROM c WHERE STARTSWITH(c.id, @p, true)",
    "SELECT VALUE c.n FROM c WHERE c.n BETWEEN -1 AND 2.5e3 AND IS_DEFINED(c.home)",
    "SELECT VALUE COUNT(1) FROM c WHERE c.text <> 'it\\'s \\u00e9' AND c.none = null",
    "SELECT * FROM c WHERE ARRAY_CONTAINS(c.list, 1) AND c.n NOT IN (1, 2) ORDER BY c.n",
)

FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "throttle", "times": 3, "parameters": {"request_units_per_second": 100}},
    {"kind": "refuse", "operations": ["feed"], "range": 0, "parameters": {"status": 410}},
    {"kind": "delay", "for_seconds": 2, "item": "a", "parameters": {"seconds": 0.5}},
)


def request(
    method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> bytes:
    """A request as it comes in."""
    lines = {"host": "localhost", **(headers or {}), "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def query(text: str) -> bytes:
    return json.dumps({"query": text, "parameters": [{"name": "@p", "value": "a"}]}).encode()


def seeds(parser: str) -> list[bytes]:
    """Valid inputs of a parser of tests/fuzz."""
    if parser == "cosmos_queries":
        return [text.encode() for text in QUERIES]
    if parser == "cosmos_faults":
        return json_seeds(FAULTS)
    key = {"x-ms-documentdb-partitionkey": '["h1"]'}
    feed = {"a-im": "Incremental Feed", "x-ms-documentdb-partitionkeyrangeid": "0"}
    item = b'{"id":"a","home":"h1","ttl":30}'
    return [
        request("GET", "/"),
        request("GET", "/dbs/sensors/colls/events/pkranges", {"if-none-match": '"1"'}),
        request("POST", "/dbs/sensors/colls", body=b'{"id":"c","partitionKey":{"paths":["/a"]}}'),
        request("PUT", "/dbs/sensors/colls/events", body=b'{"id":"events","defaultTtl":-1}'),
        request("POST", DOCS, key, item),
        request("POST", DOCS, {**key, "x-ms-documentdb-is-upsert": "true"}, item),
        request("GET", f"{DOCS}/a/", {**key, "x-ms-session-token": "0:-1#3"}),
        request("PUT", f"{DOCS}/a", {**key, "if-match": "*"}, item),
        request("DELETE", f"{DOCS}/%61", key),
        request("GET", DOCS, {**feed, "if-none-match": '"1"', "x-ms-max-item-count": "2"}),
        request("GET", DOCS, {**feed, "if-modified-since": "Thu, 19 Nov 2026 10:00:00 GMT"}),
        request("GET", DOCS, {**feed, "a-im": "Full-Fidelity Feed", "if-none-match": "*"}),
        request("GET", DOCS, {**feed, "x-ms-start-epk": "", "x-ms-end-epk": "1FFF"}),
        request("GET", DOCS, {"x-ms-continuation": '["", "FF", 1, 1]'}),
        request("GET", "/offers"),
        *(request("POST", DOCS, QUERY, query(text)) for text in QUERIES),
    ]
