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
from typing import TYPE_CHECKING

from tidegate.admission import Admission
from tidegate.commands.ledgers import (
    NOT_IN_BLOBS,
    LeasePlace,
    LedgerPlace,
    ledger_place,
    open_ledger,
)
from tidegate.commands.sources import account_of, open_container, open_hub
from tidegate.dead_letters.blobs import BlobLetters
from tidegate.dead_letters.hiding import HidingLetters
from tidegate.dead_letters.kept import KeptLetters
from tidegate.delivery.policy import OnFailure
from tidegate.group_file.reading import read_group
from tidegate.group_file.secrets import Vault
from tidegate.group_file.spec import GroupFile, LedgerSpec
from tidegate.handling import DeadLetters
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.cosmos.charges import Charges
from tidegate.ledger.layout import GroupNames, exact_name
from tidegate.ops.secrets import Secrets
from tidegate.ports import Ledger
from tidegate.settings import MemberSettings, SettingsError, split_url
from tidegate.sources.choose import EndingSource
from tidegate.sources.eventhubs import Start
from tidegate.sources.native.endpoint import check_connection_string

if TYPE_CHECKING:
    from tidegate.dead_letters.cosmos import ContainerLetters
    from tidegate.dead_letters.hub import HubLetters

_HUB_SECRET = "spec.source.eventHubs.connectionString"
_ENDPOINT = re.compile(r"(?:^|;)\s*Endpoint=\s*([^;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Setup:
    """A group, ready to be opened."""

    group: GroupFile
    folder: Path
    names: GroupNames
    ledger: LedgerPlace
    # A connection string, or the host name of a namespace, or the endpoint of a Cosmos account.
    address: str = field(repr=False)
    # The connection string of the hub for dead letters, where there is one.
    letters_address: str = field(repr=False, default="")
    secrets: tuple[str, ...] = field(repr=False, default=())
    # Of a Cosmos account, where it is not in the address.
    account_key: str = field(repr=False, default="")

    @property
    def blobs(self) -> BlobSettings:
        """Blob storage, for who wants more of it than a ledger. Raises SettingsError."""
        if isinstance(self.ledger, BlobSettings):
            return self.ledger
        raise SettingsError(NOT_IN_BLOBS)

    @property
    def hub(self) -> str:
        """The hub, or the container."""
        return self.group.spec.source.name


def set_up(path: Path, environment: Mapping[str, str], *, runs_code: bool = True) -> Setup:
    """Reads a group file and fetches its secrets. Raises SettingsError.

    Without code to be run, the file needs none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise SettingsError(f"group file {path} cannot be read: {why}") from None
    group = read_group(text, path.name, runs_code=runs_code)
    return set_up_group(group, Vault(environment, path.parent), path.parent)


def set_up_group(group: GroupFile, vault: Vault, folder: Path) -> Setup:
    """A group, wherever it was read; `folder` is where its handler is. Raises SettingsError."""
    address = address_of(group, vault)
    key = key_of(group, vault)
    if group.spec.source.event_hubs is not None and not group.spec.source.hubs.namespace:
        check_connection_string(address, _HUB_SECRET)
    return Setup(
        group,
        folder.resolve(),
        names_of(group, address),
        ledger_place(group, vault, address, key),
        address,
        _letters_address(group, vault, address),
        tuple(vault.fetched),
        key,
    )


def address_of(group: GroupFile, vault: Vault) -> str:
    """Where the source is: a connection string, a host name or an endpoint. Raises
    SettingsError."""
    source = group.spec.source
    if source.cosmos is not None:
        cosmos = source.cosmos
        where = "spec.source.cosmos.connectionString"
        return vault.fetch(cosmos.connection_string, where) or str(cosmos.endpoint)
    found = vault.fetch(source.hubs.connection_string, _HUB_SECRET)
    return found or str(source.hubs.namespace)


def key_of(group: GroupFile, vault: Vault) -> str:
    """The key of the source's Cosmos account, where it is given by itself. Raises SettingsError."""
    cosmos = group.spec.source.cosmos
    where = "spec.source.cosmos.accountKey"
    return vault.fetch(cosmos.account_key, where) if cosmos is not None else ""


def _letters_address(group: GroupFile, vault: Vault, address: str) -> str:
    """Where dead letters go to, if not to blobs. Raises SettingsError."""
    letters, source = group.spec.delivery.dead_letters, group.spec.source
    if letters.cosmos is not None:
        where = "spec.delivery.deadLetters.cosmos.connectionString"
        own = vault.fetch(letters.cosmos.connection_string, where) or letters.cosmos.endpoint
        if not own and source.cosmos is None:
            raise SettingsError(f"{where}: it is needed where the source is no Cosmos container")
        return own or address
    if letters.event_hub is None:
        return ""
    where = "spec.delivery.deadLetters.eventHub.connectionString"
    own = vault.fetch(letters.event_hub.connection_string, where)
    if not own and (source.event_hubs is None or source.event_hubs.connection_string is None):
        raise SettingsError(f"{where}: it is needed where the source has none")
    return own or address


def names_of(group: GroupFile, address: str) -> GroupNames:
    """The blob names of a group; the address is that of its source. Raises SettingsError."""
    if group.spec.ledger.host is not None:
        return GroupNames(group.spec.ledger.host, *parts_of(group))
    if group.spec.source.cosmos is not None:
        url = split_url(account_of(address)[0], "spec.source.cosmos: the endpoint")
        return GroupNames(url.netloc, *parts_of(group))
    return GroupNames(_host(address), *parts_of(group))


def parts_of(group: GroupFile) -> tuple[str, str]:
    """What comes behind the host in the names of a ledger: of what, and for whom.

    Event Hubs ignores case in names; Cosmos DB does not, and takes dots in them.
    """
    source = group.spec.source
    if source.cosmos is not None:
        database, container = source.cosmos.database, source.cosmos.container
        of = f"{exact_name(database, '.')}.{exact_name(container, '.')}"
        return of, exact_name(group.name)
    return source.hubs.hub, source.hubs.consumer_group


def _host(address: str) -> str:
    """The namespace as Microsoft's checkpoint stores name it: with the port if one is written."""
    found = _ENDPOINT.search(address)
    url = found.group(1).strip() if found is not None else address
    url = url if "://" in url else f"sb://{url}"
    return split_url(url, "spec.source.eventHubs: the endpoint").netloc


# --- the parts


def admission(setup: Setup, source: EndingSource) -> Admission:
    """Refuses a member whose source the group reads under another host."""
    spec = setup.group.spec
    what = "hub" if spec.source.event_hubs is not None else "container"
    place = f"{what} '{setup.hub}'"
    is_told = spec.ledger.host is not None
    return Admission(source.identity, place, setup.names.host, is_told=is_told)


def member_settings(setup: Setup, name: str) -> MemberSettings:
    ledger, delivery = setup.group.spec.ledger, setup.group.spec.delivery
    return MemberSettings(
        name,
        lease_s=ledger.lease_s,
        settled_tick_s=ledger.settled_tick_s,
        hand_over_limit_s=setup.group.spec.hand_over_limit_s,
        reader_silence_s=ledger.reader_silence_s,
        foreign_alive_s=_foreign_alive_s(ledger),
        takes_from_foreign=ledger.takes_from_foreign,
        checkpoint_every_s=delivery.checkpoint.every_s,
    ).checked()


def _foreign_alive_s(ledger: LedgerSpec) -> float:
    """How long a partition of another kind of processor has a live owner."""
    if ledger.cosmos is not None and ledger.cosmos.dialect is not None:
        return ledger.cosmos.host_expiry_s
    return MemberSettings("any").foreign_alive_s


def new_ledger(setup: Setup, charges: Charges | None = None, *, is_member: bool = True) -> Ledger:
    """`charges` are told what a lease container costs; see `open_ledger`."""
    return open_ledger(setup.ledger, setup.names, charges, is_member=is_member)


async def open_source(
    setup: Setup,
    stack: AsyncExitStack,
    report: Callable[[str], None],
    start: Start | None = None,
) -> EndingSource:
    """The source. An identity is closed with the stack; `start` stands in for the file's."""
    source = setup.group.spec.source
    start = start or source.start
    if source.cosmos is not None:
        feed = source.cosmos.settings
        if isinstance(setup.ledger, LeasePlace) and setup.ledger.processor is not None:
            # As the hosts do with which leases are shared.
            feed = replace(feed, keeps_merged=True)
        return await open_container(feed, setup.address, setup.account_key, stack, start)
    return await open_hub(source.hubs, setup.address, stack, report, start)


def kept_letters(setup: Setup) -> KeptLetters:
    """The dead letters, to be read again. Raises SettingsError where that is not for us."""
    letters = setup.group.spec.delivery.dead_letters
    if letters.event_hub is not None:
        raise SettingsError(
            f"dead letters of this group go to hub '{letters.event_hub.hub}': read them there"
        )
    return _container_letters(setup) or blob_letters(setup)


def blob_letters(setup: Setup) -> BlobLetters:
    """The blobs in which dead letters are kept. Raises SettingsError where there are none."""
    spec = setup.group.spec.delivery.dead_letters
    container = spec.blob.container if spec.blob is not None else None
    prefix = spec.blob.prefix if spec.blob is not None else "deadletters"
    settings = replace(setup.blobs, container=container or setup.blobs.container)
    return BlobLetters(settings, setup.names, prefix.strip("/"))


def _container_letters(setup: Setup) -> ContainerLetters | None:
    """The items that are dead letters, where they are such."""
    spec = setup.group.spec.delivery.dead_letters.cosmos
    if spec is None:
        return None
    from tidegate.dead_letters.cosmos import ContainerLetters  # noqa: PLC0415

    endpoint, key = account_of(setup.letters_address)
    if not key and spec.endpoint is None:
        key = setup.account_key
    return ContainerLetters(endpoint, key, spec.database, spec.container, setup.names)


def dead_letters(setup: Setup) -> DeadLetters | None:
    """Where events are put aside, if they are; what is said of them there holds no secret."""
    delivery = setup.group.spec.delivery
    if delivery.on_failure is not OnFailure.DEAD_LETTER:
        return None
    letters: DeadLetters
    if delivery.dead_letters.event_hub is None:
        letters = _container_letters(setup) or blob_letters(setup)
    else:
        letters = _hub_letters(setup, delivery.dead_letters.event_hub.hub)
    return HidingLetters(letters, Secrets(setup.secrets).hide)


def _hub_letters(setup: Setup, hub: str) -> HubLetters:
    from tidegate.dead_letters.hub import HubLetters  # noqa: PLC0415

    hubs = setup.group.spec.source.event_hubs
    sockets = hubs is not None and hubs.web_sockets
    return HubLetters(setup.letters_address, hub, says_why=True, web_sockets=sockets)
