"""From a group file to its ledger: a container of Blob storage, or of Cosmos DB.

Rules: what only some groups need is imported where they need it, since a member starts faster
without. What a lease container costs is counted for the whole process, on whatever thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.commands.sources import account_of
from tidegate.group_file.secrets import Vault
from tidegate.group_file.spec import CosmosLedgerSpec, GroupFile
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.cosmos.charges import Charges
from tidegate.ledger.layout import GroupNames
from tidegate.ports import Ledger
from tidegate.settings import SettingsError

if TYPE_CHECKING:
    from tidegate.ledger.cosmos.access import CosmosSettings
    from tidegate.ledger.cosmos.leases import Processor

NOT_IN_BLOBS = (
    "the ledger of this group is in Cosmos DB, and this wants Blob storage: say where, such as "
    "delivery.deadLetters.cosmos or eventHub for dead letters"
)


@dataclass(frozen=True, slots=True)
class LeasePlace:
    """A lease container, and the processor whose leases are shared there, if any."""

    settings: CosmosSettings
    processor: Processor | None = None


LedgerPlace = BlobSettings | LeasePlace


def ledger_place(group: GroupFile, vault: Vault, address: str, key: str) -> LedgerPlace:
    """Where the ledger is, and how one is let in. Raises SettingsError.

    `address` and `key` are of the source, whose container shared leases are of.
    """
    spec = group.spec.ledger
    if spec.lease_s != int(spec.lease_s):
        raise SettingsError(f"spec.ledger.leaseSeconds {spec.lease_s:g}: write whole seconds")
    try:
        if spec.cosmos is not None:
            return _lease_place(group, spec.cosmos, vault, address, key)
        return _blob_settings(group, vault)
    except SettingsError as error:
        text = str(error)
        raise SettingsError(text if text.startswith("spec.") else f"spec.ledger: {text}") from None


def _blob_settings(group: GroupFile, vault: Vault) -> BlobSettings:
    spec = group.spec.ledger
    return BlobSettings(
        spec.container or "",
        account_url=spec.account_url or "",
        connection_string=vault.fetch(spec.connection_string, "spec.ledger.connectionString"),
        account_key=vault.fetch(spec.account_key, "spec.ledger.accountKey"),
        sas_token=vault.fetch(spec.sas_token, "spec.ledger.sasToken"),
        create=spec.create,
        api_version=spec.api_version,
        lease_s=int(spec.lease_s),
        ca_file=spec.ca_file or "",
    ).checked()


def _lease_place(
    group: GroupFile, spec: CosmosLedgerSpec, vault: Vault, address: str, key: str
) -> LeasePlace:
    from tidegate.ledger.cosmos.access import CosmosSettings  # noqa: PLC0415

    where = "spec.ledger.cosmos"
    settings = CosmosSettings(
        spec.database,
        spec.container,
        endpoint=spec.endpoint or "",
        connection_string=vault.fetch(spec.connection_string, f"{where}.connectionString"),
        account_key=vault.fetch(spec.account_key, f"{where}.accountKey"),
        create=spec.create,
        lease_s=int(group.spec.ledger.lease_s),
    ).checked()
    source = group.spec.source.cosmos
    if spec.dialect is None or source is None:
        return LeasePlace(settings)
    from tidegate.ledger.cosmos.leases import Processor  # noqa: PLC0415

    endpoint, key = account_of(address, key)
    monitored = CosmosSettings(
        source.database, source.container, endpoint=endpoint, account_key=key
    ).checked()
    processor = Processor(spec.dialect, monitored, spec.prefix or "", spec.host_expiry_s)
    return LeasePlace(settings, processor)


def open_ledger(
    place: LedgerPlace,
    names: GroupNames,
    charges: Charges | None = None,
    *,
    is_member: bool = True,
) -> Ledger:
    """The ledger of a group. It belongs to one event loop.

    Leases that are shared are made and removed by members alone, never by who only looks.
    """
    if isinstance(place, BlobSettings):
        return BlobLedger(place, names)
    # Imported here: the SDK takes half a second.
    from tidegate.ledger.cosmos.ledger import CosmosLedger  # noqa: PLC0415
    from tidegate.ledger.cosmos.shared import SharedLedger  # noqa: PLC0415

    if place.processor is not None:
        return SharedLedger(place.settings, names, place.processor, charges, is_member=is_member)
    return CosmosLedger(place.settings, names, charges)
