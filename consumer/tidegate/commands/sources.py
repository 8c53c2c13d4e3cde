"""From a group file to its source: an event hub by either transport, or a Cosmos container.

Rules: what only some groups need is imported where they need it, since a member starts faster
without. An identity is closed with the stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from tidegate.group_file.source_spec import EventHubsSpec, TransportKind
from tidegate.settings import SettingsError
from tidegate.sources.choose import ChosenSource, EndingSource
from tidegate.sources.cosmos.settings import FeedSettings
from tidegate.sources.eventhubs import NativeSettings, NativeSource, Start, Transport

if TYPE_CHECKING:
    from tidegate.sources.cosmos.source import CosmosSource

_READER_BYTES = 4 << 20
_PAIR = re.compile(r"(?:^|;)\s*(AccountEndpoint|AccountKey)\s*=\s*([^;]+)", re.IGNORECASE)


async def open_hub(
    spec: EventHubsSpec,
    address: str,
    stack: AsyncExitStack,
    report: Callable[[str], None],
    start: Start,
) -> EndingSource:
    """An event hub. `report` is told where the official SDK reads in place of our receiver."""
    hub, consumer_group = spec.hub, spec.consumer_group
    transport = Transport.WEBSOCKET if spec.web_sockets else Transport.TCP

    def by_sdk() -> EndingSource:
        # Imported here, as below: a member starts faster without the SDK, which few need.
        from tidegate.sources.eventhubs_sdk import SdkSource  # noqa: PLC0415

        return SdkSource(
            address, hub, consumer_group, start, transport=transport, ca_file=spec.ca_file or ""
        )

    async def sdk_reads() -> None:
        sdk = by_sdk()
        try:
            await sdk.partitions()
        finally:
            await sdk.close()

    if spec.transport is TransportKind.SDK:
        return by_sdk()
    credential: Any = None
    if spec.namespace is not None:
        credential = await _identity(stack)
    native = NativeSource(
        address,
        hub,
        consumer_group,
        start,
        credential=credential,
        transport=transport,
        settings=NativeSettings(
            buffer_bytes=spec.buffer_bytes,
            reader_bytes=min(_READER_BYTES, spec.buffer_bytes),
            ca_file=spec.ca_file or "",
        ),
        sdk_reads=None if credential is not None else sdk_reads,
    )
    return native if credential is not None else ChosenSource(native, by_sdk, report)


async def open_container(
    settings: FeedSettings, address: str, key: str, stack: AsyncExitStack, start: Start
) -> CosmosSource:
    """A Cosmos container. `address` is a connection string, or the account's endpoint."""
    # Imported here: the SDK takes half a second.
    from tidegate.sources.cosmos.pages import client_of  # noqa: PLC0415
    from tidegate.sources.cosmos.source import CosmosSource  # noqa: PLC0415

    endpoint, key = account_of(address, key)
    credential: Any = key or await _identity(stack)
    return CosmosSource(settings, lambda: client_of(endpoint, credential), start)


def account_of(address: str, key: str = "") -> tuple[str, str]:
    """Endpoint and key of an account: of a connection string, or as they are. Raises
    SettingsError."""
    if "accountendpoint" not in address.lower():
        return address, key
    found = {name.lower(): value.strip() for name, value in _PAIR.findall(address)}
    if not found.get("accountendpoint") or not found.get("accountkey"):
        raise SettingsError(
            "the connection string is not of a Cosmos account: it is to have AccountEndpoint=… "
            "and AccountKey=…"
        )
    return found["accountendpoint"], found["accountkey"]


async def _identity(stack: AsyncExitStack) -> Any:
    # Imported here: only who uses an identity pays the time that this import takes.
    from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415

    return await stack.enter_async_context(DefaultAzureCredential())
