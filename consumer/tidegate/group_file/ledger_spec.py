"""Where the members of a group meet, as its group file says it. The texts are of docs/settings.md.

Rules: a field without a default must be written; secrets are never in the file, only where they
are. One ledger a group.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidegate.group_file import account_spec
from tidegate.group_file.source_spec import Secret
from tidegate.ledger.cosmos.dialects import Dialect
from tidegate.ledger.layout import API_VERSION
from tidegate.settings import SettingsError, check_name

ONE_LEDGER = (
    "write one ledger: container: NAME with connectionString or accountUrl, or cosmos: {database: "
    "NAME, container: NAME, connectionString: …}"
)
ITS_OWN_KEYS = "what says where the ledger is and who may use it stands in cosmos, where that is"


@dataclass(frozen=True, slots=True)
class CosmosLedgerSpec:
    """A lease container of Cosmos DB, whose partition key is `/id`."""

    database: str = field(metadata={"help": "The database."})
    container: str = field(metadata={"help": "The lease container. Its partition key is `/id`."})
    connection_string: Secret | None = field(default=None, metadata=account_spec.CONNECTION_STRING)
    endpoint: str | None = field(default=None, metadata=account_spec.ENDPOINT)
    account_key: Secret | None = field(default=None, metadata=account_spec.ACCOUNT_KEY)
    create: bool = field(
        default=False,
        metadata={"help": "Create the container where it is missing; the database must be there."},
    )
    dialect: Dialect | None = field(
        default=None,
        metadata={
            "help": "Share leases with hosts of Microsoft's processors, as those write them: "
            "`javaEpk` or `javaPk` with Java (`handleLatestVersionChanges`, `handleChanges`), "
            "`netEpk` or `netV0` with .NET; in `mode: latestVersion`. Without it the group shares "
            "with nobody."
        },
    )
    prefix: str | None = field(
        default=None,
        metadata={
            "help": "With `dialect`, the name of their processor: `processorName` in .NET, "
            "`leasePrefix` in Java."
        },
    )
    host_expiry_s: float = field(
        default=60.0,
        metadata={
            "help": "With `dialect`, how long a lease of theirs stands without a renewal: their "
            "lease expiration interval."
        },
    )

    def checked(self) -> CosmosLedgerSpec:
        account_spec.check_account(self.connection_string, self.endpoint, self.account_key)
        if self.prefix and self.dialect is None:
            raise SettingsError("prefix goes with dialect: it names the processor to share with")
        if self.host_expiry_s <= 0:
            raise SettingsError("host_expiry_s must be above 0")
        return self


@dataclass(frozen=True, slots=True)
class LedgerSpec:
    """A container of Blob storage, or of Cosmos DB, in which the members of the group meet."""

    container: str | None = field(
        default=None, metadata={"help": "The container of Blob storage, unless it is `cosmos`."}
    )
    cosmos: CosmosLedgerSpec | None = field(
        default=None,
        metadata={"help": "A lease container of Cosmos DB, in place of Blob storage."},
    )
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
    host: str | None = field(
        default=None,
        metadata={
            "help": "The host of the source in the names of the ledger, as the group has had it: "
            "write it where the same source is reached by another name now, such as a Geo-DR "
            "alias or a private link. Else it is the host that the source is reached by."
        },
    )
    lease_s: float = field(
        default=15.0,
        metadata={
            "help": "How long a lease lasts: after a kill, others wait for as long. 15 to 60."
        },
    )
    settled_tick_s: float = field(
        default=2.0,
        metadata={
            "help": "How often each member looks at the ledger while nothing changes: 0.5 to 10. "
            "More seldom costs less, and after a kill partitions wait for so much longer."
        },
    )
    hand_over_limit_s: float | None = field(
        default=None,
        metadata={
            "help": "A living owner that does not give a partition for this long loses it. By "
            "default as long as the call that runs may take: `delivery.timeoutSeconds`, "
            "`toldSeconds` and 10 seconds more, and at least 60."
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

    def checked(self) -> LedgerSpec:
        if (self.container is None) == (self.cosmos is None):
            raise SettingsError(ONE_LEDGER)
        others = (self.account_url, self.connection_string, self.account_key, self.sas_token)
        is_of_blobs = any(each is not None for each in others) or self.create
        if self.cosmos is not None and (is_of_blobs or self.ca_file is not None):
            raise SettingsError(ITS_OWN_KEYS)
        if self.host is not None:
            check_name("host", self.host)
        if not 0.5 <= self.settled_tick_s <= 10:
            raise SettingsError(f"settled_tick_s {self.settled_tick_s:g}: write 0.5 to 10 seconds")
        return self
