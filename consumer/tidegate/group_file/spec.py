"""What a group file says, typed. The texts here are those of docs/settings.md.

Rules: a field without a default must be written; secrets are never in the file, only where they
are; what is the operator's is passed over here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from tidegate.delivery.policy import Policy
from tidegate.group_file.spark_spec import EngineKind, SparkSpec
from tidegate.ledger.layout import API_VERSION
from tidegate.settings import SettingsError
from tidegate.sources.start import Start


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is: exactly one of these."""

    env: str | None = field(
        default=None, metadata={"help": "The environment variable that holds it."}
    )
    file: str | None = field(
        default=None,
        metadata={"help": "The file that holds it, such as a mounted Kubernetes secret."},
    )
    secret: str | None = field(
        default=None,
        metadata={"help": "The Kubernetes Secret that holds it; for the operator, with `key`."},
    )
    key: str | None = field(default=None, metadata={"help": "The key of that Secret."})

    def checked(self) -> Secret:
        places = (self.env, self.file, self.secret)
        if sum(place is not None for place in places) != 1:
            raise SettingsError(
                "write one of env: NAME, file: PATH, or, for the operator, secret: NAME with "
                "key: KEY"
            )
        if (self.secret is None) != (self.key is None):
            raise SettingsError("secret: NAME and key: KEY go together")
        return self


class TransportKind(StrEnum):
    """What reads the hub."""

    NATIVE = "native"
    SDK = "sdk"


@dataclass(frozen=True, slots=True)
class EventHubsSpec:
    """An event hub."""

    hub: str = field(metadata={"help": "The event hub."})
    consumer_group: str = field(default="$Default", metadata={"help": "The consumer group."})
    connection_string: Secret | None = field(
        default=None, metadata={"help": "Where the connection string of the namespace or hub is."}
    )
    namespace: str | None = field(
        default=None,
        metadata={
            "help": "NAME.servicebus.windows.net, reached with the identity of the machine "
            "(azure-identity). Instead of a connection string."
        },
    )
    transport: TransportKind = field(
        default=TransportKind.NATIVE,
        metadata={
            "help": "`native`: our own receiver; it changes to the SDK by itself where a service "
            "answers what it does not understand. `sdk`: the official SDK."
        },
    )
    web_sockets: bool = field(
        default=False,
        metadata={"help": "AMQP over WebSockets, on port 443, where nothing else is let out."},
    )
    ca_file: str | None = field(
        default=None,
        metadata={"help": "Certificate authorities, where the public ones will not do."},
    )
    buffer_bytes: int = field(
        default=64 << 20,
        metadata={"help": "The most bytes that wait in this process for their handlers."},
    )
    start: Start = field(
        default_factory=Start,
        metadata={
            "help": "Where a partition begins that has no checkpoint: `latest`, `earliest`, "
            "`{time: 2026-01-31T00:00:00Z}`, `{sequenceNumber: 5}` or `{offset: '4096', "
            "sequenceNumber: 5}`. Where there is a checkpoint it says nothing: see "
            "`tidegate rewind`."
        },
    )

    def checked(self) -> EventHubsSpec:
        if (self.connection_string is None) == (self.namespace is None):
            raise SettingsError("write either connectionString or namespace")
        if self.transport is TransportKind.SDK and self.namespace is not None:
            raise SettingsError("transport sdk reads with a connectionString")
        self.start.checked()
        return self


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where events come from."""

    event_hubs: EventHubsSpec = field(metadata={"help": "An event hub."})


@dataclass(frozen=True, slots=True)
class LedgerSpec:
    """A container of Blob storage, in which the members of the group meet."""

    container: str = field(metadata={"help": "The container."})
    account_url: str | None = field(
        default=None,
        metadata={
            "help": "https://NAME.blob.core.windows.net, with the identity of the machine unless a "
            "key or a SAS is given. Instead of a connection string."
        },
    )
    connection_string: Secret | None = field(
        default=None, metadata={"help": "Where the account's connection string is."}
    )
    account_key: Secret | None = field(
        default=None, metadata={"help": "Where the account's key is; with `accountUrl`."}
    )
    sas_token: Secret | None = field(
        default=None, metadata={"help": "Where a SAS token is; with `accountUrl`."}
    )
    create: bool = field(
        default=False, metadata={"help": "Create the container where it is missing."}
    )
    api_version: str = field(
        default=API_VERSION,
        metadata={"help": "The storage API version; an older cloud wants an older one."},
    )
    ca_file: str | None = field(
        default=None,
        metadata={"help": "Certificate authorities, where the public ones will not do."},
    )
    lease_s: float = field(
        default=15.0,
        metadata={
            "help": "How long a lease lasts: after a kill, others wait for as long. 15 to 60."
        },
    )
    hand_over_limit_s: float = field(
        default=60.0,
        metadata={
            "help": "A living owner that does not give a partition for so long is taken from."
        },
    )
    reader_silence_s: float = field(
        default=30.0,
        metadata={
            "help": "A partition whose reader shows no sign of life for so long loses its lease."
        },
    )
    takes_from_foreign: bool = field(
        default=False,
        metadata={
            "help": "Take partitions from Microsoft's own processors even while they live: for a "
            "migration."
        },
    )


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
class LettersSpec:
    """Where dead letters go: one of these. Without either: to blobs beside the ledger."""

    blob: BlobLetters | None = field(default=None, metadata={"help": "To blobs."})
    event_hub: HubLetters | None = field(default=None, metadata={"help": "To another hub."})

    def checked(self) -> LettersSpec:
        if self.blob is not None and self.event_hub is not None:
            raise SettingsError("write either blob or eventHub")
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
        if self.spark is not None and self.engine is not EngineKind.SPARK:
            raise SettingsError(ONLY_ON_SPARK)
        return self


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
