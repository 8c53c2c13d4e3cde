"""The service: from a request to its answer. Pure: the time and the store are passed in.

Rules: a request is first checked for its signature, then told apart for faults, then carried out.
An answer is as complete as the service's where official clients look; see `docs/cosmos-server.md`
for what is not served. No exception leaves for what a client can cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote

from tidegate_cosmos.faults import Fault, FaultPlan, Kind, Operation, Target
from tidegate_cosmos.query.problems import QueryProblem
from tidegate_cosmos.rest import feeds, items, queries, resources, signing
from tidegate_cosmos.rest.asked import Asked, asked_of
from tidegate_cosmos.rest.replies import (
    RID_MISMATCH,
    THROTTLED,
    Refused,
    Reply,
    finished,
    refused_by,
)
from tidegate_cosmos.store.account import Account
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.keys import KeyProblem
from tidegate_cosmos.store.problems import NotFound, StoreProblem
from tidegate_http.messages import Request, Response, Trouble

# Cut before anything was done: the client sees its connection reset.
_RESET = Response(503, trouble=Trouble(cut_after=0))


@dataclass(slots=True)
class Counters:
    """What the server has done since its start."""

    requests: dict[str, int] = field(default_factory=dict)
    charges: dict[str, float] = field(default_factory=dict)

    def count(self, target: Target, status: int, charge: float) -> None:
        """Counts a request by what was asked and what was answered, its units by container."""
        name = f"{target.operation} {status}"
        self.requests[name] = self.requests.get(name, 0) + 1
        if target.container is not None:
            place = f"{target.database}/{target.container}"
            self.charges[place] = self.charges.get(place, 0.0) + charge


class Service:
    """What answers. `key` is the account's key; without one, requests need not be signed."""

    def __init__(self, account: Account, key: bytes | None, clock: Callable[[], float]) -> None:
        self.account = account
        self.faults = FaultPlan()
        self.counters = Counters()
        self.endpoint = ""
        self.is_broken = False
        self._key = key
        self._clock = clock

    def refuse_head(self, request: Request) -> Response | None:
        """Why a request is refused before its body is taken in: it is not signed; or None."""
        try:
            self._check(asked_of(request))
        except Refused as refused:
            reply = refused.as_reply()
            self.counters.count(Target(Operation.METADATA), reply.status, reply.charge)
            return finished(reply, request.headers, {})
        return None

    def _check(self, asked: Asked) -> None:
        """Raises Refused where a request is not signed with the key."""
        if self._key is not None:
            signing.check(asked, self._key, self._clock())

    def respond(self, request: Request) -> Response:
        """Carries a request out, or says why not."""
        if self.is_broken:
            return self.broken()
        now = self._clock()
        path: dict[str, str] = {}
        target = Target(Operation.METADATA)
        fault: Fault | None = None
        try:
            asked = asked_of(request)
            self._check(asked)
            target = self._target(asked, path)
            fault = self.faults.take(target, now)
            if fault is not None and fault.kind is Kind.RESET:
                return _RESET
            reply = self._refusal(fault, now) or self._carried_out(asked, now)
        except Refused as refused:
            reply = refused.as_reply()
        except (StoreProblem, KeyProblem, QueryProblem) as problem:
            reply = refused_by(problem).as_reply()
        self.counters.count(target, reply.status, reply.charge)
        self.faults.spend(target, reply.charge, now)
        return _with_trouble(finished(reply, request.headers, path), fault)

    def broken(self) -> Response:
        """The answer of a server whose disk no longer takes what it should keep."""
        refused = Refused(
            503, "The server cannot write to its disk. Make room for it, and start it again."
        )
        return finished(refused.as_reply(), {}, {})

    def _refusal(self, fault: Fault | None, now: float) -> Reply | None:
        """What a fault answers in place of the service."""
        if fault is None or fault.kind not in (Kind.THROTTLE, Kind.REFUSE):
            return None
        if fault.kind is Kind.REFUSE:
            status = int(fault.parameters["status"])
            headers = {}
            if "retry_after_ms" in fault.parameters:
                headers["x-ms-retry-after-ms"] = str(int(fault.parameters["retry_after_ms"]))
            raise Refused(
                status, "A scripted fault.", int(fault.parameters.get("substatus", 0)), headers
            )
        wait_ms = max(1, round(self.faults.wait_of(fault, now) * 1000))
        raise Refused(
            429,
            "The request rate is too large. Please retry after sometime.",
            THROTTLED,
            {"x-ms-retry-after-ms": str(wait_ms)},
        )

    def _target(self, asked: Asked, path: dict[str, str]) -> Target:
        """What faults may hit; what is named wrongly is found out when it is carried out."""
        segments = asked.segments
        client = asked.header("user-agent") or ""
        operation = _operation(asked)
        if len(segments) < 2 or segments[0] != "dbs":
            return Target(operation, client=client)
        try:
            database = self.account.database(segments[1])
            path["x-ms-alt-content-path"] = f"dbs/{quote(database.id)}"
            path["x-ms-content-path"] = database.rid
            if len(segments) < 4:
                return Target(operation, database.id, client=client)
            container = database.container(segments[3])
        except NotFound:
            return Target(operation, client=client)
        if len(segments) > 4:
            path["x-ms-alt-content-path"] += f"/colls/{quote(container.id)}"
            path["x-ms-content-path"] = container.rid
        item = container.id_of("/".join(segments[5:])) or None
        if self.faults and operation in (Operation.CREATE, Operation.UPSERT):
            found = asked.document().get("id")
            item = found if isinstance(found, str) else None
        held = _range_id(asked, container)
        return Target(operation, database.id, container.id, held, item, client)

    def _endpoint_for(self, asked: Asked) -> str:
        """Where the client goes on: by the name by which it has come, which leads here."""
        host = asked.header("host")
        return f"http://{host}/" if host else self.endpoint

    def _carried_out(self, asked: Asked, now: float) -> Reply:
        segments, account = asked.segments, self.account
        match segments:
            case ():
                return resources.account(self._endpoint_for(asked))
            case ("dbs",):
                return resources.databases(asked, account, now)
            case ("dbs", name):
                if asked.method == "DELETE":
                    account.drop_database(name)
                    return Reply(204)
                return Reply(200, resources.database_body(account.database(name)))
            case ("dbs", name, "colls"):
                return resources.containers(asked, account, account.database(name), now)
            case ("dbs", name, "colls", container_name, *rest):
                database = account.database(name)
                container = database.container(container_name)
                _check_rid(asked, container)
                if not rest and asked.method == "DELETE":
                    account.drop_container(database, container_name)
                    return Reply(204)
                return _in_container(asked, container, tuple(rest), now)
            case ("offers",) | ("offers", _):
                return resources.offers(asked, account)
        raise Refused(404, f"tidegate-cosmos serves nothing at /{'/'.join(segments)[:200]}.")


def _in_container(asked: Asked, container: Container, rest: tuple[str, ...], now: float) -> Reply:
    match (asked.method, *rest):
        case ("GET" | "PUT",):
            return resources.container(asked, container)
        case ("GET", "pkranges"):
            return resources.ranges(asked, container)
        case ("POST", "docs") if not asked.says("x-ms-cosmos-is-batch-request"):
            if asked.is_plan:
                return queries.plan(asked)
            if asked.is_query:
                return queries.answer(asked, container, now)
            return items.create(asked, container, now)
        case ("GET", "docs"):
            if asked.header("a-im"):
                return feeds.changes(asked, container, now)
            return queries.all_items(asked, container, now)
        case ("GET", "docs", item_id):
            return items.read(asked, container, item_id, now)
        case ("PUT", "docs", item_id):
            return items.replace(asked, container, item_id, now)
        case ("DELETE", "docs", item_id):
            return items.delete(asked, container, item_id, now)
    is_batch = asked.method == "POST" and rest == ("docs",)
    what = "transactional batches" if is_batch else asked.method[:20]
    raise Refused(
        405, f"tidegate-cosmos does not serve {what} at /{'/'.join(asked.segments)[:200]}."
    )


def _operation(asked: Asked) -> Operation:
    if not asked.segments:
        return Operation.ACCOUNT
    match (asked.method, *asked.segments[4:]):
        case (_, "pkranges"):
            return Operation.RANGES
        case ("POST", "docs") if asked.is_query or asked.is_plan:
            return Operation.QUERY
        case ("POST", "docs"):
            is_upsert = asked.says("x-ms-documentdb-is-upsert")
            return Operation.UPSERT if is_upsert else Operation.CREATE
        case ("GET", "docs"):
            return Operation.FEED if asked.header("a-im") else Operation.QUERY
        case ("GET", "docs", *_):
            return Operation.READ
        case ("PUT", "docs", *_):
            return Operation.REPLACE
        case ("DELETE", "docs", *_):
            return Operation.DELETE
    return Operation.METADATA


def _range_id(asked: Asked, container: Container) -> str | None:
    named = asked.range_id()
    if named is not None:
        return named
    values = asked.key_values()
    if not values or len(values) != len(container.key.paths):
        return None
    return container.range_at(container.key.effective(values)).id


def _check_rid(asked: Asked, container: Container) -> None:
    meant = asked.header("x-ms-cosmos-intended-collection-rid")
    if meant is not None and meant != container.rid:
        raise Refused(
            400,
            f"The client means a container of resource id {meant[:40]!r}, and {container.id!r} is "
            "another one: it was deleted and made again.",
            RID_MISMATCH,
        )


def _with_trouble(response: Response, fault: Fault | None) -> Response:
    if fault is None:
        return response
    match fault.kind:
        case Kind.DELAY:
            trouble = Trouble(late_s=fault.parameters["seconds"])
        case Kind.LOSE_REPLY:
            trouble = Trouble(cut_after=0)
        case Kind.CUT_REPLY:
            trouble = Trouble(cut_after=int(fault.parameters["bytes"]))
        case _:
            return response
    return Response(
        response.status, response.body, response.content_type, response.headers, trouble
    )
