"""From a group file to the parts that a command needs: names, ledger, source, settings.

Rules: everything is read and checked here, before anything is opened; what cannot work is a
SettingsError. Every secret that is fetched is in `secrets`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.dead_letters.blobs import BlobLetters
from tidegate.delivery.policy import OnFailure
from tidegate.group_file.reading import read_group
from tidegate.group_file.secrets import Vault
from tidegate.group_file.spec import GroupFile, TransportKind
from tidegate.handling import DeadLetters
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ledger.layout import GroupNames
from tidegate.settings import MemberSettings, SettingsError
from tidegate.sources.choose import ChosenSource, EndingSource
from tidegate.sources.eventhubs import NativeSettings, NativeSource, Start, Transport

_ENDPOINT = re.compile(r"(?:^|;)\s*Endpoint=\s*([^;]+)", re.IGNORECASE)
_READER_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Setup:
    """A group, ready to be opened."""

    group: GroupFile
    folder: Path
    names: GroupNames
    blobs: BlobSettings
    # A connection string, or the host name of a namespace.
    address: str = field(repr=False)
    # The connection string of the hub for dead letters, where there is one.
    letters_address: str = field(repr=False, default="")
    secrets: tuple[str, ...] = field(repr=False, default=())

    @property
    def hub(self) -> str:
        return self.group.spec.source.event_hubs.hub


def set_up(path: Path, environment: Mapping[str, str], *, runs_code: bool = True) -> Setup:
    """Reads a group file and fetches its secrets. Raises SettingsError.

    Without code to be run, the file needs none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"group file {path} cannot be read: {error}") from None
    group = read_group(text, path.name, runs_code=runs_code)
    return set_up_group(group, Vault(environment, path.parent), path.parent)


def set_up_group(group: GroupFile, vault: Vault, folder: Path) -> Setup:
    """A group, wherever it was read; `folder` is where its handler is. Raises SettingsError."""
    hub = group.spec.source.event_hubs
    address = vault.fetch(hub.connection_string, "spec.source.eventHubs.connectionString")
    letters = group.spec.delivery.dead_letters.event_hub
    letters_address = ""
    if letters is not None:
        where = "spec.delivery.deadLetters.eventHub.connectionString"
        letters_address = vault.fetch(letters.connection_string, where) or address
        if not letters_address:
            raise SettingsError(f"{where}: it is needed where the source has none")
    blobs = blob_settings(group, vault)
    address = address or str(hub.namespace)
    return Setup(
        group,
        folder.resolve(),
        names_of(group, address),
        blobs,
        address,
        letters_address,
        tuple(vault.fetched),
    )


def blob_settings(group: GroupFile, vault: Vault) -> BlobSettings:
    """Where the ledger is, and how one is let in. Raises SettingsError."""
    spec = group.spec.ledger
    if spec.lease_s != int(spec.lease_s):
        raise SettingsError(f"spec.ledger.leaseSeconds {spec.lease_s:g}: write whole seconds")
    try:
        return BlobSettings(
            spec.container,
            account_url=spec.account_url or "",
            connection_string=vault.fetch(spec.connection_string, "spec.ledger.connectionString"),
            account_key=vault.fetch(spec.account_key, "spec.ledger.accountKey"),
            sas_token=vault.fetch(spec.sas_token, "spec.ledger.sasToken"),
            create=spec.create,
            api_version=spec.api_version,
            lease_s=int(spec.lease_s),
            ca_file=spec.ca_file or "",
        ).checked()
    except SettingsError as error:
        raise SettingsError(f"spec.ledger: {error}") from None


def names_of(group: GroupFile, address: str) -> GroupNames:
    """The blob names of a group; the address is that of its hub. Raises SettingsError."""
    hub = group.spec.source.event_hubs
    return GroupNames(_host(address), hub.hub, hub.consumer_group)


def _host(address: str) -> str:
    """The namespace as Microsoft's checkpoint stores name it: with the port if one is written."""
    found = _ENDPOINT.search(address)
    url = found.group(1).strip() if found is not None else address
    return urlsplit(url if "://" in url else f"sb://{url}").netloc


# --- the parts


def member_settings(setup: Setup, name: str) -> MemberSettings:
    ledger, delivery = setup.group.spec.ledger, setup.group.spec.delivery
    return MemberSettings(
        name,
        lease_s=ledger.lease_s,
        hand_over_limit_s=ledger.hand_over_limit_s,
        reader_silence_s=ledger.reader_silence_s,
        takes_from_foreign=ledger.takes_from_foreign,
        checkpoint_every_s=delivery.checkpoint.every_s,
    ).checked()


def new_ledger(setup: Setup) -> BlobLedger:
    return BlobLedger(setup.blobs, setup.names)


async def open_source(
    setup: Setup,
    stack: AsyncExitStack,
    report: Callable[[str], None],
    start: Start | None = None,
) -> EndingSource:
    """The source. An identity is closed with the stack; `start` stands in for the file's."""
    spec = setup.group.spec.source.event_hubs
    start = start or spec.start
    address, hub, consumer_group = setup.address, spec.hub, spec.consumer_group

    def by_sdk() -> EndingSource:
        # Imported here, as below: a member starts faster without the SDK, which few need.
        from tidegate.sources.eventhubs_sdk import SdkSource  # noqa: PLC0415

        return SdkSource(address, hub, consumer_group, start)

    if spec.transport is TransportKind.SDK:
        return by_sdk()
    credential: Any = None
    if spec.namespace is not None:
        # Imported here: only who uses an identity pays the time that this import takes.
        from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

        credential = await stack.enter_async_context(DefaultAzureCredential())
    native = NativeSource(
        address,
        hub,
        consumer_group,
        start,
        credential=credential,
        transport=Transport.WEBSOCKET if spec.web_sockets else Transport.TCP,
        settings=NativeSettings(
            buffer_bytes=spec.buffer_bytes,
            reader_bytes=min(_READER_BYTES, spec.buffer_bytes),
            ca_file=spec.ca_file or "",
        ),
    )
    return native if credential is not None else ChosenSource(native, by_sdk, report)


def blob_letters(setup: Setup) -> BlobLetters:
    """The blobs in which dead letters are kept. Raises SettingsError where they are elsewhere."""
    spec = setup.group.spec.delivery.dead_letters
    if spec.event_hub is not None:
        raise SettingsError(
            f"dead letters of this group go to hub '{spec.event_hub.hub}': read them there"
        )
    container = spec.blob.container if spec.blob is not None else None
    prefix = spec.blob.prefix if spec.blob is not None else "deadletters"
    settings = replace(setup.blobs, container=container or setup.blobs.container)
    return BlobLetters(settings, setup.names, prefix.strip("/"))


def dead_letters(setup: Setup) -> DeadLetters | None:
    """Where events are put aside, if they are."""
    delivery = setup.group.spec.delivery
    if delivery.on_failure is not OnFailure.DEAD_LETTER:
        return None
    to_hub = delivery.dead_letters.event_hub
    if to_hub is None:
        return blob_letters(setup)
    from tidegate.dead_letters.hub import HubLetters  # noqa: PLC0415

    sockets = setup.group.spec.source.event_hubs.web_sockets
    return HubLetters(setup.letters_address, to_hub.hub, says_why=True, web_sockets=sockets)
