"""What an API server refuses of a group that reads, or is kept in, a Cosmos container.

Rules: as the tables of tests/cluster/test_crd.py, which has these beside them: a place, what is
written there, and what is said of it.
"""

from __future__ import annotations

from typing import Any

SOURCE, LEDGER = "spec.source", "spec.ledger"
KEY = {"secret": "shop", "key": "cosmos"}
PLACE = {"database": "shop", "container": "orders"}

REFUSED_OF_COSMOS: list[tuple[str, Any, str]] = [
    (SOURCE, {"cosmos": {"database": "shop", "connectionString": KEY}}, "container: Required"),
    (SOURCE, {"eventHubs": {"hub": "h", "connectionString": KEY},
              "cosmos": {**PLACE, "connectionString": KEY}}, "write one source: eventHubs"),
    (SOURCE, {"cosmos": PLACE},
     "write either connectionString: {secret: NAME, key: KEY} or endpoint"),
    (SOURCE, {"cosmos": {**PLACE, "connectionString": KEY, "accountKey": KEY}},
     "accountKey goes with endpoint: a connectionString has its own"),
    (SOURCE, {"cosmos": {**PLACE, "endpoint": "a.example"}},
     "write a URL such as https://NAME.documents.azure.com"),
    (SOURCE, {"cosmos": {**PLACE, "connectionString": KEY, "mode": "latest"}},
     'supported values: "latestVersion", "allVersionsAndDeletes"'),
    (SOURCE, {"cosmos": {**PLACE, "connectionString": KEY, "pollSeconds": 0}},
     "should be greater than 0"),
    ("spec.delivery", {"deadLetters": {"blob": {}, "cosmos": PLACE}},
     "write one of blob, eventHub and cosmos"),
    ("spec.delivery",
     {"deadLetters": {"cosmos": {**PLACE, "connectionString": KEY, "endpoint": "https://a"}}},
     "write either connectionString or endpoint"),
    (LEDGER, {"container": "ledger", "accountUrl": "https://a.example", "cosmos": PLACE},
     "write one ledger: container: NAME with connectionString or accountUrl, or cosmos"),
    (LEDGER, {"accountUrl": "https://a.example", "cosmos": {**PLACE, "connectionString": KEY}},
     "what says where the ledger is and who may use it stands in cosmos, where that is"),
    (LEDGER, {"cosmos": {**PLACE, "connectionString": KEY, "prefix": "orders"}},
     "prefix goes with dialect: it names the processor to share with"),
    (LEDGER, {"cosmos": {**PLACE, "connectionString": KEY, "dialect": "javaEpk"}},
     "ledger.cosmos.dialect goes with source.cosmos: the leases are of a change feed"),
    ("spec", {
        "handler": {"code": "tidegate.handlers.printing:handle"},
        "source": {"cosmos": {**PLACE, "connectionString": KEY, "mode": "allVersionsAndDeletes"}},
        "ledger": {"cosmos": {**PLACE, "connectionString": KEY, "dialect": "javaEpk"}}},
     "ledger.cosmos.dialect goes with mode latestVersion: leases of another mode are not shared"),
]  # fmt: skip

# In a group with engine: spark.
REFUSED_OF_COSMOS_ON_SPARK: list[tuple[str, Any, str]] = [
    (LEDGER, {"cosmos": {**PLACE, "connectionString": KEY}},
     "Spark keeps its ledger in Blob storage: write ledger.container"),
]  # fmt: skip

# What is changed to what, in a group that reads a container and is kept in one.
UNCHANGEABLE_OF_COSMOS: list[tuple[str, Any, str]] = [
    (f"{SOURCE}.cosmos.database", "other", "the database cannot be changed"),
    (f"{SOURCE}.cosmos.container", "other", "the container cannot be changed"),
    (f"{SOURCE}.cosmos.endpoint", "https://b.example", "the account cannot be changed"),
    (f"{LEDGER}.cosmos.database", "other", "the ledger's database cannot be changed"),
    (f"{LEDGER}.cosmos.container", "other", "the ledger's container cannot be changed"),
    (f"{LEDGER}.cosmos.endpoint", "https://b.example", "the ledger's account cannot be changed"),
    (f"{LEDGER}.cosmos.prefix", "other", "the ledger's prefix cannot be changed"),
]
IN_A_CONTAINER = {
    "apiVersion": "tidegate.dev/v1alpha1",
    "kind": "ConsumerGroup",
    "metadata": {"name": "orders"},
    "spec": {
        "source": {"cosmos": {**PLACE, "endpoint": "https://a.example"}},
        "ledger": {
            "cosmos": {
                **PLACE,
                "container": "leases",
                "endpoint": "https://a.example",
                "dialect": "javaEpk",
                "prefix": "orders",
            }
        },
        "handler": {"code": "orders.py:handle"},
    },
}
