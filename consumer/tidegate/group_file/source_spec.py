"""Where a group's events come from, as its group file says it. The texts are of docs/settings.md.

Rules: a field without a default must be written; secrets are never in the file, only where they
are. One source a group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.group_file import account_spec
from tidegate.ports.lineage import FLAT, Lineage
from tidegate.settings import SettingsError
from tidegate.sources.cosmos.lineage import FeedRanges
from tidegate.sources.cosmos.settings import FeedMode, FeedSettings, check_start
from tidegate.sources.start import Start

ONE_SOURCE = (
    "write one source: eventHubs: {hub: NAME, connectionString: …} or cosmos: {database: NAME, "
    "container: NAME, connectionString: …}"
)


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
            "answers what it does not understand, or drops its connections. `sdk`: the official "
            "SDK."
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


class StateOnSplit(StrEnum):
    """What becomes of a partition with a state when its range is split."""

    REFUSE = "refuse"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class CosmosSpec:
    """The change feed of a Cosmos container. The processor's name is that of the group."""

    database: str = field(metadata={"help": "The database."})
    container: str = field(metadata={"help": "The container whose changes are read."})
    connection_string: Secret | None = field(default=None, metadata=account_spec.CONNECTION_STRING)
    endpoint: str | None = field(default=None, metadata=account_spec.ENDPOINT)
    account_key: Secret | None = field(default=None, metadata=account_spec.ACCOUNT_KEY)
    mode: FeedMode = field(
        default=FeedMode.LATEST_VERSION,
        metadata={
            "help": "`latestVersion`: each item as it is now, without deletes. "
            "`allVersionsAndDeletes`: every version and every delete, each with the version before "
            "it, from when the group first read on."
        },
    )
    start: Start = field(
        default_factory=Start,
        metadata={
            "help": "Where a partition begins that has no checkpoint: `latest`, `earliest` or "
            "`{time: 2026-01-31T00:00:00Z}`. Where there is a checkpoint it says nothing: see "
            "`tidegate rewind`."
        },
    )
    poll_s: float = field(
        default=5.0,
        metadata={"help": "A partition that had nothing new is asked again after so long."},
    )
    page_items: int = field(
        default=1_000, metadata={"help": "The most changes that one request brings."}
    )
    request_units_per_second: float | None = field(
        default=None,
        metadata={
            "help": "The most request units that the group spends on reading, all members "
            "together. Without it: as many as it takes."
        },
    )
    state_on_split: StateOnSplit = field(
        default=StateOnSplit.REFUSE,
        metadata={
            "help": "What becomes of a partition with a state when its range is split. `refuse`: "
            "it stays one partition. `copy`: each part begins with a copy of the whole state, "
            "which is right where each key of it belongs to one partition key of the items."
        },
    )

    def checked(self) -> CosmosSpec:
        account_spec.check_account(self.connection_string, self.endpoint, self.account_key)
        check_start(self.mode, self.start.checked())
        self.settings.checked()
        return self

    @property
    def settings(self) -> FeedSettings:
        """How the feed is read."""
        return FeedSettings(
            self.database,
            self.container,
            self.mode,
            poll_s=self.poll_s,
            page_items=self.page_items,
            units_per_s=self.request_units_per_second,
            copies_state=self.state_on_split is StateOnSplit.COPY,
        )


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where events come from: one of these."""

    event_hubs: EventHubsSpec | None = field(default=None, metadata={"help": "An event hub."})
    cosmos: CosmosSpec | None = field(
        default=None, metadata={"help": "The change feed of a Cosmos container."}
    )

    def checked(self) -> SourceSpec:
        if (self.event_hubs is None) == (self.cosmos is None):
            raise SettingsError(ONE_SOURCE)
        return self

    @property
    def hubs(self) -> EventHubsSpec:
        """The event hub, where it is one. Raises SettingsError."""
        if self.event_hubs is None:
            raise SettingsError("spec.source.eventHubs is missing: this is for event hubs alone")
        return self.event_hubs

    @property
    def name(self) -> str:
        """What people call it: the hub or the container."""
        return self.cosmos.container if self.cosmos is not None else self.hubs.hub

    @property
    def lineage(self) -> Lineage:
        """How its partitions come and go."""
        return FLAT if self.cosmos is None else FeedRanges()

    @property
    def start(self) -> Start:
        """Where a partition begins that has no checkpoint."""
        return self.cosmos.start if self.cosmos is not None else self.hubs.start
