"""What a group file says, typed. The texts here are those of docs/settings.md.

Rules: a field without a default must be written; secrets are never in the file, only where they
are; what is the operator's is passed over here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tidegate.delivery.policy import Policy
from tidegate.group_file.ledger_spec import CosmosLedgerSpec, LedgerSpec
from tidegate.group_file.source_spec import (
    CosmosSpec,
    EventHubsSpec,
    Secret,
    SourceSpec,
    TransportKind,
)
from tidegate.group_file.spark_spec import EngineKind, SparkSpec
from tidegate.settings import SettingsError
from tidegate.sources.cosmos.settings import FeedMode

__all__ = [
    "BLOBS_ON_SPARK",
    "NATIVE_ON_SPARK",
    "NOT_BY_HAND_ON_SPARK",
    "ONLY_ON_SPARK",
    "OPERATORS",
    "SHARED_ON_HUBS",
    "SHARED_VERSIONS",
    "BlobLetters",
    "CosmosLedgerSpec",
    "CosmosLetters",
    "CosmosSpec",
    "DeliverySpec",
    "EventHubsSpec",
    "FileSpec",
    "GroupFile",
    "GroupSpec",
    "HandlerSpec",
    "HubLetters",
    "LedgerSpec",
    "LettersSpec",
    "Secret",
    "SourceSpec",
    "TransportKind",
]


# For the last checkpoint and for the lease.
_AFTER_CALL_S = 10.0
_HAND_OVER_S = 60.0


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """Your code."""

    code: str = field(
        metadata={
            "help": "`file.py:function`, looked for beside the group file, or "
            "`package.module:function`."
        }
    )


@dataclass(frozen=True, slots=True)
class BlobLetters:
    """Dead letters as blobs: `deadletters/HOST/HUB/GROUP/PARTITION/SEQUENCE.json`."""

    container: str | None = field(
        default=None,
        metadata={"help": "The container, in the ledger's account; else the ledger's."},
    )
    prefix: str = field(default="deadletters", metadata={"help": "What their names begin with."})


@dataclass(frozen=True, slots=True)
class HubLetters:
    """Dead letters as events of another hub, with what is said of them in their properties."""

    hub: str = field(metadata={"help": "The hub."})
    connection_string: Secret | None = field(
        default=None, metadata={"help": "Where its connection string is; else the source's."}
    )


@dataclass(frozen=True, slots=True)
class CosmosLetters:
    """Dead letters as items of a Cosmos container, whose partition key is `/partition`."""

    database: str = field(metadata={"help": "The database."})
    container: str = field(metadata={"help": "The container. Its partition key is `/partition`."})
    endpoint: str | None = field(
        default=None,
        metadata={
            "help": "https://NAME.documents.azure.com, with the identity of the machine. Without "
            "it and without a connection string: the source's account."
        },
    )
    connection_string: Secret | None = field(
        default=None, metadata={"help": "Where the account's connection string is."}
    )

    def checked(self) -> CosmosLetters:
        if self.endpoint is not None and self.connection_string is not None:
            raise SettingsError("write either connectionString or endpoint")
        return self


@dataclass(frozen=True, slots=True)
class LettersSpec:
    """Where dead letters go: one of these. Without any: to blobs beside the ledger."""

    blob: BlobLetters | None = field(default=None, metadata={"help": "To blobs."})
    event_hub: HubLetters | None = field(default=None, metadata={"help": "To another hub."})
    cosmos: CosmosLetters | None = field(
        default=None, metadata={"help": "To a container of Cosmos DB."}
    )

    def checked(self) -> LettersSpec:
        if sum(each is not None for each in (self.blob, self.event_hub, self.cosmos)) > 1:
            raise SettingsError("write one of blob, eventHub and cosmos")
        return self


@dataclass(frozen=True, slots=True)
class DeliverySpec(Policy):
    """How events are delivered to your code."""

    dead_letters: LettersSpec = field(
        default_factory=LettersSpec,
        metadata={"help": "Where events are put aside with `onFailure: deadLetter`."},
    )


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The part of `spec` that a consumer reads."""

    source: SourceSpec = field(metadata={"help": "Where events come from."})
    ledger: LedgerSpec = field(metadata={"help": "Where the members of the group meet."})
    handler: HandlerSpec = field(metadata={"help": "What is done with the events."})
    delivery: DeliverySpec = field(
        default_factory=DeliverySpec, metadata={"help": "How events are delivered."}
    )

    @property
    def hand_over_limit_s(self) -> float:
        """How long a living owner may take to give a partition: it finishes the call that runs."""
        if self.ledger.hand_over_limit_s is not None:
            return self.ledger.hand_over_limit_s
        call_s = self.delivery.timeout_s + self.delivery.told_s
        return max(call_s + _AFTER_CALL_S, _HAND_OVER_S)


SHARED_ON_HUBS = "ledger.cosmos.dialect goes with source.cosmos: the leases are of a change feed"
SHARED_VERSIONS = (
    "ledger.cosmos.dialect goes with mode latestVersion: leases of another mode are not shared. "
    "Leave dialect out, so that the group has positions of its own"
)
BLOBS_ON_SPARK = "Spark keeps its ledger in Blob storage: write ledger.container"
ONLY_ON_SPARK = "spark is for engine: spark; write that, or leave spark out"
NATIVE_ON_SPARK = "Spark reads by transport native alone: leave transport out"
NOT_BY_HAND_ON_SPARK = "with Spark a batch is handled when it has ended well: leave byHand out"


@dataclass(frozen=True, slots=True)
class FileSpec(GroupSpec):
    """The part of `spec` that `tidegate run` reads."""

    engine: EngineKind = field(
        default=EngineKind.PYTHON,
        metadata={
            "help": "What runs your code. `python`: a handler, called with events. `spark`: "
            "`pipeline(df, context)`, called with each batch as a DataFrame."
        },
    )
    spark: SparkSpec | None = field(
        default=None, metadata={"help": "How it runs on Spark, with `engine: spark`."}
    )

    def checked(self) -> FileSpec:
        leases = self.ledger.cosmos
        if leases is not None and leases.dialect is not None and self.source.cosmos is None:
            raise SettingsError(SHARED_ON_HUBS)
        if leases is not None and leases.dialect is not None and self._tells_versions:
            raise SettingsError(SHARED_VERSIONS)
        if leases is not None and self.engine is EngineKind.SPARK:
            raise SettingsError(BLOBS_ON_SPARK)
        if self.spark is not None and self.engine is not EngineKind.SPARK:
            raise SettingsError(ONLY_ON_SPARK)
        return self

    @property
    def _tells_versions(self) -> bool:
        feed = self.source.cosmos
        return feed is not None and feed.mode is FeedMode.ALL_VERSIONS_AND_DELETES


# Keys that are for the operator alone, by the section in which they stand.
OPERATORS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "spec": (
            "image",
            "paused",
            "pausedPartitions",
            "pausedReplicas",
            "pins",
            "replicas",
            "scaling",
            "serviceAccountAnnotations",
            "serviceAccountName",
            "template",
        ),
        "spec.ledger": ("onDelete",),
        "spec.handler": ("configMap",),
    }
)


@dataclass(frozen=True, slots=True)
class GroupFile:
    """A group: its name, and what a consumer reads of its document."""

    name: str
    spec: GroupSpec
    engine: EngineKind = EngineKind.PYTHON
    spark: SparkSpec = field(default_factory=SparkSpec)
