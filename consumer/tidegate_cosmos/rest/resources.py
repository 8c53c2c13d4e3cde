"""The account, databases, containers, their ranges, and their throughput. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tidegate_cosmos.query.answers import page_of
from tidegate_cosmos.rest.asked import Asked, whole
from tidegate_cosmos.rest.queries import parsed
from tidegate_cosmos.rest.replies import Refused, Reply, listed
from tidegate_cosmos.store import names
from tidegate_cosmos.store.account import Account, Database
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Item, encoded

_INDEXING: Final = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}
# What a client may know of the queries: the limits of the service, and what is served here.
_QUERY_ENGINE: Final = {
    "maxSqlQueryInputLength": 262144,
    "maxJoinsPerSqlQuery": 0,
    "maxLogicalAndPerSqlQuery": 500,
    "maxLogicalOrPerSqlQuery": 500,
    "maxUdfRefPerSqlQuery": 0,
    "maxInExpressionItemsCount": 16000,
    "queryMaxInMemorySortDocumentCount": 500,
    "maxQueryRequestTimeoutFraction": 0.9,
    "sqlAllowNonFiniteNumbers": False,
    "sqlAllowAggregateFunctions": True,
    "sqlAllowSubQuery": False,
    "sqlAllowScalarSubQuery": False,
    "allowNewKeywords": True,
    "sqlAllowLike": False,
    "sqlAllowGroupByClause": False,
    "maxSpatialQueryCells": 12,
    "spatialMaxGeometryPointCount": 256,
    "sqlDisableQueryILOptimization": False,
    "sqlDisableFilterPlanOptimization": False,
    "enableSpatialIndexing": False,
}


def account(endpoint: str) -> Reply:
    """What a client asks first: where to write and read, and how consistently."""
    here = [{"name": "Local", "databaseAccountEndpoint": endpoint}]
    replicas = {"asyncReplication": False, "minReplicaSetSize": 1, "maxReplicasetSize": 1}
    described = {
        "_self": "",
        "id": "tidegate-cosmos",
        "_rid": "tidegate-cosmos",
        "media": "//media/",
        "addresses": "//addresses/",
        "_dbs": "//dbs/",
        "writableLocations": here,
        "readableLocations": here,
        "enableMultipleWriteLocations": False,
        "userReplicationPolicy": replicas,
        "systemReplicationPolicy": replicas,
        "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        "readPolicy": {"primaryReadCoefficient": 1, "secondaryReadCoefficient": 1},
        "queryEngineConfiguration": json.dumps(_QUERY_ENGINE),
    }
    return Reply(200, encoded(described))


def database_body(database: Database) -> bytes:
    return encoded(
        {
            **database.described,
            "_rid": database.rid,
            "_self": f"dbs/{database.rid}/",
            "_etag": names.etag(0, 0, int(database.made_at)),
            "_colls": "colls/",
            "_users": "users/",
            "_ts": int(database.made_at),
        }
    )


def container_body(container: Container) -> bytes:
    database = names.rid(container.raw_rid[:4])
    return encoded(
        {
            "indexingPolicy": _INDEXING,
            "conflictResolutionPolicy": {
                "mode": "LastWriterWins",
                "conflictResolutionPath": "/_ts",
                "conflictResolutionProcedure": "",
            },
            "geospatialConfig": {"type": "Geography"},
            **container.described,
            "_rid": container.rid,
            "_self": f"dbs/{database}/colls/{container.rid}/",
            "_etag": container.etag,
            "_ts": int(container.made_at),
            "_docs": "docs/",
            "_sprocs": "sprocs/",
            "_triggers": "triggers/",
            "_udfs": "udfs/",
            "_conflicts": "conflicts/",
        }
    )


def databases(asked: Asked, held: Account, now: float) -> Reply:
    if asked.method == "POST" and not asked.is_query:
        made = held.add_database(asked.document(), now)
        return Reply(201, database_body(made))
    bodies = map(database_body, held.databases.values())
    return Reply(200, _found(asked, "Databases", "", bodies))


def containers(asked: Asked, held: Account, database: Database, now: float) -> Reply:
    if asked.method == "POST" and not asked.is_query:
        made = held.add_container(database, asked.document(), now, _throughput(asked))
        return Reply(201, container_body(made), headers={"etag": made.etag})
    bodies = map(container_body, database.containers.values())
    return Reply(200, _found(asked, "DocumentCollections", database.rid, bodies))


def container(asked: Asked, held: Container) -> Reply:
    if asked.method == "PUT":
        described = {
            name: value for name, value in asked.document().items() if not name.startswith("_")
        }
        held.describe(described)
    headers = {
        "etag": held.etag,
        "x-ms-documentdb-collection-index-transformation-progress": "100",
    }
    return Reply(200, container_body(held), headers=headers)


def ranges(asked: Asked, container: Container) -> Reply:
    """The ranges of a container; 304 where they are those that the client knows."""
    etag = container.ranges_etag
    if asked.header("if-none-match") == etag:
        return Reply(304, headers={"etag": etag})
    count = len(container.ranges)
    database = names.rid(container.raw_rid[:4])
    bodies = [
        encoded(
            {
                "_rid": names.rid(names.range_bytes(container.raw_rid, each.number)),
                "id": each.id,
                "_etag": etag,
                "minInclusive": each.span.least,
                "maxExclusive": each.span.beyond,
                "ridPrefix": each.number,
                "_self": f"dbs/{database}/colls/{container.rid}/pkranges/{each.id}/",
                "throughputFraction": 1 / count,
                "status": "online",
                "parents": list(dict.fromkeys(each.parents)),
                "_ts": int(container.made_at),
                "lsn": each.lsn,
                "_lsn": each.lsn,
            }
        )
        for each in container.ranges
    ]
    headers = {"etag": etag, "x-ms-item-count": str(count)}
    return Reply(200, listed("PartitionKeyRanges", container.rid, bodies), headers=headers)


def offers(asked: Asked, held: Account) -> Reply:
    """The throughput of containers: told as it was asked for, and not held to."""
    told = {
        container.rid: _offer(container)
        for database in held.databases.values()
        for container in database.containers.values()
    }
    if len(asked.segments) == 1:
        return Reply(200, _found(asked, "Offers", "", map(encoded, told.values())))
    wanted = asked.segments[1]
    for database in held.databases.values():
        for container in database.containers.values():
            if container.rid != wanted:
                continue
            if asked.method == "PUT":
                container.offer(_offered(asked.document()))
            return Reply(200, encoded(_offer(container)))
    raise Refused(404, f"There is no offer {wanted[:60]!r}.")


def _offer(container: Container) -> dict[str, Any]:
    database = names.rid(container.raw_rid[:4])
    return {
        "resource": f"dbs/{database}/colls/{container.rid}/",
        "offerType": "Invalid",
        "offerResourceId": container.rid,
        "offerVersion": "V2",
        "content": {"offerThroughput": container.throughput},
        "id": container.rid,
        "_rid": container.rid,
        "_self": f"offers/{container.rid}/",
        "_etag": container.etag,
        "_ts": int(container.made_at),
    }


def _offered(document: Mapping[str, Any]) -> int:
    content = document.get("content")
    units = content.get("offerThroughput") if isinstance(content, Mapping) else None
    if isinstance(units, bool) or not isinstance(units, int) or units < 1:
        raise Refused(400, "content.offerThroughput: expected a number of request units from 1.")
    return units


def _throughput(asked: Asked) -> int | None:
    text = asked.header("x-ms-offer-throughput")
    if text is not None:
        return whole(text, "x-ms-offer-throughput")
    text = asked.header("x-ms-cosmos-offer-autopilot-settings")
    if text is None:
        return None
    try:
        most = json.loads(text)["maxThroughput"]
    except (ValueError, TypeError, KeyError, RecursionError):
        most = None
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise Refused(400, "x-ms-cosmos-offer-autopilot-settings: expected a maxThroughput.")
    return most


def _found(asked: Asked, name: str, rid: str, bodies: Iterable[bytes]) -> bytes:
    """The list, or what a query finds in it."""
    if not asked.is_query or asked.method != "POST":
        return listed(name, rid, bodies)
    held = [_as_item(number, json.loads(body)) for number, body in enumerate(bodies, 1)]
    page = page_of(parsed(asked.document()), held, len(held) + 1)
    if page.last is not None:
        raise Refused(400, f"The query of {name} has too many terms for so many of them.")
    return listed(name, rid, page.bodies)


def _as_item(number: int, document: Mapping[str, Any]) -> Item:
    return Item(("", str(document["id"])), (), number, document, 0, 0.0)
