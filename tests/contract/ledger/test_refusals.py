"""What a person is told when the ledger cannot be reached or will not let one in.

Every message names what it is about and what to do, and none has a secret in it.
"""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.storage.blob import ContainerSasPermissions, generate_container_sas
from azure.storage.blob.aio import ContainerClient

from contract.ledger.worlds import CONTAINER, listed, new_id, new_names
from support.azurite import ACCOUNT, ACCOUNT_KEY
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.model import Position
from tidegate.ports import (
    Acquire,
    CreateOwnership,
    Join,
    LedgerError,
    List,
    Operation,
    ReadCheckpoint,
    ReadOwnership,
    Refusal,
    WriteCheckpoint,
)
from tidegate.settings import SettingsError
from tidegate_operator.local.ports import free_port

WRONG_KEY = "d3Jvbmcta2V5LXdyb25nLWtleQ=="
ALL_RIGHTS = ContainerSasPermissions(
    read=True, add=True, create=True, write=True, delete=True, list=True
)
READ_ALONE = ContainerSasPermissions(read=True, list=True)


def sas(rights: ContainerSasPermissions = ALL_RIGHTS, hours: int = 1) -> str:
    until = datetime.now(UTC) + timedelta(hours=hours)
    return str(
        generate_container_sas(
            ACCOUNT, CONTAINER, account_key=ACCOUNT_KEY, permission=rights, expiry=until
        )
    )


@pytest.fixture
async def endpoint(azurite: str) -> AsyncIterator[str]:
    """The account URL of an Azurite that has the container."""
    opened = BlobLedger(
        BlobSettings(CONTAINER, connection_string=azurite, create=True), new_names()
    )
    await opened.perform(List())
    await opened.close()
    parts = dict(part.split("=", 1) for part in azurite.split(";") if part)
    yield parts["BlobEndpoint"]


async def told(
    settings: BlobSettings, operation: Operation, secrets: tuple[str, ...] = ()
) -> LedgerError:
    """What an operation is refused with; it and its traceback have no secret in them."""
    ledger = BlobLedger(settings, new_names())
    try:
        with pytest.raises(LedgerError) as refused:
            await ledger.perform(operation)
    finally:
        await ledger.close()
    everything = "".join(traceback.format_exception(refused.value)) + repr(settings)
    for secret in (ACCOUNT_KEY, WRONG_KEY, "sig=", "sig%3D", "SharedKey", "Bearer", *secrets):
        assert secret not in everything
    return refused.value


def with_key(endpoint: str, key: str = ACCOUNT_KEY) -> BlobSettings:
    return BlobSettings(CONTAINER, account_url=endpoint, account_key=key)


@pytest.mark.parametrize("how", ["key", "token", "token with ?", "url", "connection string"])
async def test_every_kind_of_credential_is_let_in(endpoint: str, how: str) -> None:
    token = sas()
    settings = {
        "key": with_key(endpoint),
        "token": BlobSettings(CONTAINER, account_url=endpoint, sas_token=token),
        "token with ?": BlobSettings(CONTAINER, account_url=endpoint, sas_token=f"?{token}"),
        "url": BlobSettings(CONTAINER, account_url=f"{endpoint}?{token}"),
        "connection string": BlobSettings(
            CONTAINER, connection_string=f"BlobEndpoint={endpoint};SharedAccessSignature={token}"
        ),
    }[how]
    for version in ("2017-11-09", settings.api_version):
        ledger = BlobLedger(replace(settings, api_version=version), new_names())
        try:
            etag = str(await ledger.perform(CreateOwnership("0")))
            await ledger.perform(Acquire("0", new_id(), etag))
            await ledger.perform(Join("m", new_id()))
            assert set((await listed(ledger)).ownerships) == {"0"}
            assert await ledger.perform(ReadCheckpoint("0")) is None
        finally:
            await ledger.close()


async def test_a_missing_container_says_how_to_make_it(endpoint: str) -> None:
    settings = replace(with_key(endpoint), container="not-there")
    for operation in (
        List(),
        ReadOwnership("0"),
        ReadCheckpoint("0"),
        CreateOwnership("0"),
        Join("m", new_id()),
    ):
        refused = await told(settings, operation)
        assert refused.refusal is Refusal.ABSENT
        assert str(refused).startswith(
            f"Container 'not-there' not found in account '{ACCOUNT}'. Create it, or set "
            "ledger.create: true."
        )


async def test_the_container_is_created_where_that_is_asked_for(endpoint: str) -> None:
    name = f"made-{new_id()[:8]}"
    settings = replace(with_key(endpoint), container=name, create=True)
    ledger = BlobLedger(settings, new_names())
    try:
        assert (await listed(ledger)).ownerships == {}
        async with ContainerClient(endpoint, name, credential=ACCOUNT_KEY) as made:
            assert await made.exists()
    finally:
        await ledger.close()


async def test_a_wrong_account_key_says_so(endpoint: str) -> None:
    refused = await told(with_key(endpoint, WRONG_KEY), List())
    assert refused.refusal is Refusal.DENIED
    assert "The account key was not accepted" in str(refused)
    assert "clock" in str(refused)


async def test_a_key_that_is_no_key_says_so(endpoint: str) -> None:
    refused = await told(with_key(endpoint, "not base64!"), List(), ("not base64!",))
    assert refused.refusal is Refusal.DENIED
    assert "is not base64" in str(refused)


@pytest.mark.parametrize("how", ["expired", "of another key"])
async def test_a_sas_that_is_not_valid_says_so(endpoint: str, how: str) -> None:
    token = sas(hours=-1) if how == "expired" else sas().replace("sig=", "sig=AA")
    signature = token.rpartition("sig=")[2][:20]
    settings = BlobSettings(CONTAINER, account_url=endpoint, sas_token=token)
    refused = await told(settings, List(), (signature,))
    assert refused.refusal is Refusal.DENIED
    assert "must not have expired" in str(refused)


async def test_a_sas_without_write_reads_and_says_what_it_lacks(endpoint: str) -> None:
    token = sas(READ_ALONE)
    settings = BlobSettings(CONTAINER, account_url=f"{endpoint}?{token}")
    ledger = BlobLedger(settings, new_names())
    try:
        assert (await listed(ledger)).ownerships == {}
    finally:
        await ledger.close()
    signature = token.rpartition("sig=")[2]
    for operation in (
        CreateOwnership("0"),
        WriteCheckpoint("0", None, Position("1", 1), 1, "n"),
    ):
        refused = await told(settings, operation, (signature,))
        assert refused.refusal is Refusal.DENIED
        assert "It needs the permissions racwdl" in str(refused)


async def test_an_endpoint_where_nobody_listens_says_so() -> None:
    settings = with_key(f"http://127.0.0.1:{free_port()}/{ACCOUNT}")
    refused = await told(settings, List())
    assert refused.refusal is Refusal.UNKNOWN
    assert "Nothing answers at 127.0.0.1:" in str(refused)


async def test_a_name_that_does_not_resolve_says_so() -> None:
    settings = BlobSettings(
        CONTAINER, account_url=f"https://nowhere.invalid?{sas()}", timeout_s=20.0
    )
    refused = await told(settings, List())
    assert refused.refusal is Refusal.UNKNOWN
    assert "The name nowhere.invalid does not resolve" in str(refused)


async def test_an_identity_that_gives_no_token_says_so() -> None:
    settings = BlobSettings(CONTAINER, account_url="https://nowhere.invalid", token_source=NoTokens)
    refused = await told(settings, List(), ("tenant secret",))
    assert refused.refusal is Refusal.DENIED
    assert "The identity gave no token" in str(refused)


class NoTokens:
    """A credential that fails as those of azure-identity do."""

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        raise ClientAuthenticationError("the tenant secret is wrong")

    async def close(self) -> None: ...

    async def __aenter__(self) -> NoTokens:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def settings_that_cannot_work() -> Iterator[tuple[BlobSettings, str]]:
    url = "https://acme.blob.core.windows.net"
    fine = BlobSettings(CONTAINER, account_url=url)
    yield replace(fine, container="No_Capitals"), "container 'No_Capitals'"
    yield replace(fine, api_version="latest"), "a date like 2017-11-09"
    yield replace(fine, account_url=""), "either a connection string or an account URL"
    yield replace(fine, connection_string="AccountName=a"), "either a connection string"
    yield replace(fine, account_key="k", sas_token="s"), "give one of"
    yield replace(fine, account_url=f"{url}?sig=s", sas_token="s"), "give one of"
    yield BlobSettings(CONTAINER, connection_string="AccountName=a"), "as the portal shows it"
    yield (
        BlobSettings(CONTAINER, connection_string="AccountName=a;AccountKey=k", account_key="k"),
        "has its own credentials",
    )
    yield replace(fine, account_url="acme"), "write a URL such as"
    yield replace(fine, account_url="http://acme.example"), "over https only"
    yield replace(fine, lease_s=10), "15 to 60 seconds"
    yield replace(fine, timeout_s=1.0, connect_timeout_s=3.0), "not above timeout_s"
    yield replace(fine, page_size=0), "page_size 0"
    yield replace(fine, ca_file="/not/there.pem"), "no such file"


@pytest.mark.parametrize(("settings", "words"), list(settings_that_cannot_work()))
def test_settings_that_cannot_work_say_what_to_write(settings: BlobSettings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        settings.checked()


def test_a_connection_string_that_is_none_is_not_shown() -> None:
    secret = f"my-{new_id()}"
    with pytest.raises(SettingsError, match="as the portal shows it") as refused:
        BlobLedger(BlobSettings(CONTAINER, connection_string=secret), new_names())
    assert secret not in "".join(traceback.format_exception(refused.value))
