"""A group, a cluster and a ledger in memory, and rounds of the operator that touch nothing else.

Rules: the watches tell of everything at once. Time is the test's. There are no controllers and no
members: what pods there are, and what the members say, is put there by the test.
"""

from __future__ import annotations

import asyncio
import base64
import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from support.kube_objects import KubeObjects
from tidegate.commands.wiring import Setup
from tidegate.ledger.memory import MemoryLedger
from tidegate.model import Listing
from tidegate.ports import LedgerError, List, Operation, Refusal, Reply, WriteRoster
from tidegate_operator.apply import Applier
from tidegate_operator.cache import WATCHED, Cache
from tidegate_operator.edges import Edges, Notes
from tidegate_operator.hubs import Hubs
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, SECRET, Document, Kind, ObjectName
from tidegate_operator.kube import Kube
from tidegate_operator.kube_errors import Conflict, NotThere
from tidegate_operator.kube_events import Herald
from tidegate_operator.ledgers import Ledgers, failure_of
from tidegate_operator.model import Ends, Failure, GroupKey, LedgerView
from tidegate_operator.reconcile import reconcile
from tidegate_operator.secrets import KnownSecrets, SecretReader
from tidegate_operator.settings import OperatorSettings
from tidegate_operator.untold import Untold
from tidegate_operator.workers import Round

KEY = GroupKey("homes", "activity")
SETTINGS = OperatorSettings("op-1", "tidegate", image="consumer:1", spark_image="spark:1")
NAME = ObjectName(CONSUMER_GROUP, KEY.namespace, KEY.name)
WORKLOAD = ObjectName(DEPLOYMENT, KEY.namespace, KEY.name)


class WatchedObjects(KubeObjects):
    """Objects that are watched, with the verbs that a round needs besides."""

    def __init__(self, cache: Cache) -> None:
        super().__init__()
        self._cache = cache
        # What was written, and of what.
        self.written: list[str] = []

    async def find(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Document | None:
        return await super().find(kind, namespace, name)

    async def list(self, kind: Kind, namespace: str | None = None, **_: Any) -> list[Document]:
        return [
            copy.deepcopy(found)
            for name, found in self.objects.items()
            if name.kind == kind and namespace in (None, name.namespace)
        ]

    async def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        changes: Mapping[str, Any],
        *,
        resource_version: str | None = None,
        uid: str | None = None,
    ) -> Document:
        live = self.objects.get(ObjectName(kind, namespace, name))
        if live is not None and uid not in (None, live["metadata"]["uid"]):
            raise Conflict("it is another one")
        return await super().patch(
            kind, namespace, name, changes, resource_version=resource_version
        )

    async def patch_status(
        self, kind: Kind, namespace: str, name: str, status: Mapping[str, Any], *,
        uid: str, resource_version: str | None = None,
    ) -> Document:  # fmt: skip
        there = ObjectName(kind, namespace, name)
        self._begin(f"status {kind.name}")
        if there not in self.objects:
            raise NotThere(f"{there} is not there")
        metadata = self.objects[there]["metadata"]
        if uid != metadata["uid"] or resource_version not in (None, metadata["resourceVersion"]):
            raise Conflict(f"{there} has changed")
        return self._keep(there, {**self.objects[there], "status": copy.deepcopy(dict(status))})

    async def create(self, document: Document) -> Document:
        self._begin(f"create {document['kind']}")
        self.put(document)
        return document

    def take(self, name: ObjectName) -> None:
        gone = self.objects[name]
        super().take(name)
        if name.kind in WATCHED:
            self._cache.hear(name.kind, gone, is_gone=True)

    def _begin(self, what: str) -> None:
        super()._begin(what)
        self.written.append(what)

    def _keep(self, name: ObjectName, found: Document) -> Document:
        kept = super()._keep(name, found)
        metadata = self.objects[name]["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self.take(name)
        elif name.kind in WATCHED:
            self._cache.hear(name.kind, copy.deepcopy(self.objects[name]), is_gone=False)
        return kept


class OneLedger:
    """In the place of `Ledgers`: a ledger in memory, that can be out of reach."""

    def __init__(self, world: OperatedWorld) -> None:
        self._world = world
        self.memory = MemoryLedger()
        self.problem: LedgerError | None = None
        # Why storage takes no roster, although it can be listed.
        self.takes_no_roster: LedgerError | None = None
        self.is_open = False
        self.performed: list[Operation] = []
        self.left = 0
        self.erased = 0
        # What somebody does between a look and the next operation, once.
        self.meanwhile: Callable[[], None] | None = None
        self._view: LedgerView | None = None
        self._unanswered_since: float | None = None

    def open(self, key: GroupKey, setup: Setup) -> None:
        self.is_open = True

    def forget(self, key: GroupKey) -> None:
        self.is_open = False

    async def look(self, key: GroupKey, **_: Any) -> tuple[LedgerView | None, Failure | None]:
        if not self.is_open:
            return None, None
        if self.problem is None:
            listing = self.memory.perform_at(List(), self._world.now)
            assert isinstance(listing, Listing)
            self._view, self._unanswered_since = LedgerView(listing, self._world.now), None
        elif self._unanswered_since is None:
            self._unanswered_since = self._world.now
        return self.standing(key)

    def standing(self, key: GroupKey) -> tuple[LedgerView | None, Failure | None]:
        view = self._view if self.is_open else None
        if view is not None:
            view = replace(view, unanswered_since=self._unanswered_since)
        if not self.is_open or self.problem is None:
            return view, None
        return view, failure_of(self.problem, self._world.now)

    async def perform(self, key: GroupKey, operation: Operation) -> Reply:
        self.performed.append(operation)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        if isinstance(operation, WriteRoster) and self.takes_no_roster is not None:
            raise self.takes_no_roster
        return await self.read(key, operation)

    async def read(self, key: GroupKey, operation: Operation) -> Reply:
        if self.problem is not None:
            raise self.problem
        return self.memory.perform_at(operation, self._world.now)

    async def erase(self, key: GroupKey) -> int:
        if self.problem is not None:
            raise self.problem
        self.erased += not self.left
        return self.left


class OneHub:
    """In the place of `Hubs`: what the source says, if anything."""

    def __init__(self) -> None:
        self.ends: Ends | None = None
        self.failure: Failure | None = None

    def look(self, *_: Any, **__: Any) -> tuple[Ends | None, Failure | None]:
        return self.ends, self.failure

    def forget(self, key: GroupKey) -> None:
        self.ends = None


class OperatedWorld:
    """See the module."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.leads = True
        self.cache = Cache()
        self.kube = WatchedObjects(self.cache)
        self.ledger = OneLedger(self)
        self.hub = OneHub()
        self.start()

    def start(self) -> None:
        """An operator that knows nothing yet."""
        kube = cast(Kube, self.kube)
        self.notes, untold = Notes(), Untold()
        self.edges = Edges(
            settings=SETTINGS,
            kube=kube,
            cache=self.cache,
            secrets=SecretReader(kube, SETTINGS, KnownSecrets(), lambda: self.now),
            ledgers=cast(Ledgers, self.ledger),
            hubs=cast(Hubs, self.hub),
            applier=Applier(self.kube, lambda: self.now, lambda: 0.5, recheck_s=300.0),
            herald=Herald(self.kube, lambda: self.now, SETTINGS.identity, untold),
            is_leading=lambda: self.leads,
            now=lambda: self.now,
            dice=lambda: 0.0,
            untold=untold,
        )

    def settle(self) -> None:
        """Rounds until nothing is left to do for what was made so far."""
        for _ in range(5):
            self.round()

    def round(self, after_s: float = 1.0) -> Round:
        """One round, so long after the last."""
        self.now += after_s
        self.kube.written.clear()
        self.ledger.performed.clear()
        return asyncio.run(reconcile(self.edges, KEY, self.notes))

    # --- what people do

    def create(self, **spec: Any) -> None:
        document = {
            "apiVersion": CONSUMER_GROUP.api_version,
            "kind": CONSUMER_GROUP.name,
            "metadata": {"namespace": KEY.namespace, "name": KEY.name},
            "spec": {
                "source": {
                    "eventHubs": {
                        "hub": "telemetry",
                        "connectionString": {"secret": "azure", "key": "events"},
                    }
                },
                "ledger": {
                    "container": "ledger",
                    "connectionString": {"secret": "azure", "key": "storage"},
                },
                "handler": {"code": "handler:handle"},
                **spec,
            },
        }
        self.kube.put(document)

    def put_secret(self) -> None:
        values = {
            "events": "Endpoint=sb://ns.example.net/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8=",
            "storage": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=aGVsbG8=;"
            "BlobEndpoint=http://127.0.0.1:1/a",
        }
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"namespace": KEY.namespace, "name": "azure"}
        self.kube.put({"apiVersion": "v1", "kind": SECRET.name, "metadata": metadata, "data": data})

    def delete(self) -> None:
        """As the API server does: what has a finalizer stays, and says since when it is going."""
        at = "2001-09-09T01:46:40Z"
        live = self.kube.objects[NAME]
        if live["metadata"].get("finalizers"):
            self.kube.edit(NAME, {"metadata": {"deletionTimestamp": at}})
            self.now = max(self.now, 1_000_000_000.0)
        else:
            self.kube.take(NAME)

    def cut_off_storage(self, refusal: Refusal = Refusal.UNKNOWN) -> None:
        self.ledger.problem = LedgerError(refusal, "no reply in time from a.blob.example.net")

    # --- what is there

    @property
    def group(self) -> Document | None:
        return self.kube.objects.get(NAME)

    @property
    def status(self) -> Document:
        assert self.group is not None
        found: Document = self.group.get("status") or {}
        return found

    @property
    def deployment(self) -> Document | None:
        return self.kube.objects.get(WORKLOAD)

    def condition(self, type: str) -> tuple[str, str, str]:
        (found,) = [each for each in self.status["conditions"] if each["type"] == type]
        return found["status"], found["reason"], found["message"]

    def events(self) -> list[str]:
        return [
            each["reason"] for name, each in self.kube.objects.items() if name.kind.name == "Event"
        ]
