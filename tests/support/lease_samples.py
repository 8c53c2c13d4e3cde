"""Lease documents as the processors of Microsoft write them, for tests."""

from __future__ import annotations

import base64
import json
from typing import Any

from tidegate.ledger.cosmos.tokens import Monitored

RID = "AAAAAIAAAAE="
OF = Monitored("acct.documents.azure.com", "shop", "orders", "AAAAAA==", RID)
BASE = "jvacct.documents.azure.com_AAAAAA==_AAAAAIAAAAE="
NAMED = "jvacct.documents.azure.com_shop_orders"
LINK = "/dbs/shop/colls/orders"
WRITTEN = {"_rid": "r", "_self": "s", "_etag": '"e-1"', "_attachments": "a/", "_ts": 1_763_546_000}


def token(etag: str | None = '"94"', low: str = "", high: str = "FF", **other: Any) -> str:
    reach = {"min": low, "max": high}
    inner = {"V": 1, "Rid": LINK, "Continuation": [{"token": etag, "range": reach}], "Range": reach}
    opened = {"V": 1, "Rid": LINK, "Mode": "INCREMENTAL", "StartFrom": {"Type": "BEGINNING"}}
    return packed(opened | {"Continuation": inner} | other)


def packed(opened: object) -> str:
    return base64.b64encode(json.dumps(opened, separators=(",", ":")).encode()).decode()


JAVA_EPK: dict[str, Any] = {
    "id": f"{BASE}..-FF",
    "LeaseToken": "-FF",
    "ContinuationToken": token(),
    "timestamp": "2025-11-19T09:36:00.123456789Z",
    "Owner": "host-1",
    "version": 1,
    "feedRange": {"Range": {"min": "", "max": "FF"}},
    **WRITTEN,
}
JAVA_PK: dict[str, Any] = {
    "id": f"{NAMED}..0",
    "LeaseToken": "0",
    "ContinuationToken": '"94"',
    "timestamp": "2025-11-19T09:36:00.123Z",
    "Owner": "host-1",
    **WRITTEN,
}
NET_V0: dict[str, Any] = {
    "id": f"{BASE}..0",
    "partitionKey": "4c9e",
    "version": 0,
    "LeaseToken": "0",
    "Owner": "host-1",
    "ContinuationToken": '"94"',
    "properties": {"a": "b"},
    "timestamp": "2025-11-19T09:36:00.1234567Z",
    **WRITTEN,
}
NET_EPK: dict[str, Any] = {
    "id": f"{BASE}..-FF",
    "version": 1,
    "LeaseToken": "-FF",
    "FeedRange": {"Range": {"min": "", "max": "FF"}},
    "Owner": "host-1",
    "ContinuationToken": '"94"',
    "properties": {},
    "timestamp": "2025-11-19T09:36:00.1234567Z",
    "Mode": "Incremental Feed",
    **WRITTEN,
}
SAMPLES = {"javaEpk": JAVA_EPK, "javaPk": JAVA_PK, "netV0": NET_V0, "netEpk": NET_EPK}
