"""A ledger that is let in by an identity: tokens over TLS, against an Azurite that checks them."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from azure.core.credentials import AccessToken
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from contract.ledger.worlds import CONTAINER, listed, new_id, new_names
from support.azurite import ACCOUNT, azurite_process
from tidegate.ledger.access import BlobSettings
from tidegate.ledger.blob import BlobLedger
from tidegate.ports import Acquire, CreateOwnership, LedgerError, List, Refusal

AUDIENCE = "https://storage.azure.com"


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for loopback that is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlobSettings]:
    """Settings of an Azurite that wants tokens, without the tokens."""
    folder = tmp_path_factory.mktemp("azurite-tls")
    certificate, key = write_certificate(folder)
    wants = ("--oauth", "basic", "--cert", str(certificate), "--key", str(key))
    with azurite_process(folder, *wants) as port:
        yield BlobSettings(
            CONTAINER,
            account_url=f"https://127.0.0.1:{port}/{ACCOUNT}",
            create=True,
            ca_file=str(certificate),
        )


class Tokens:
    """A credential like those of azure-identity, which counts what it is asked for."""

    def __init__(self, audience: str = AUDIENCE) -> None:
        self.audience = audience
        self.scopes: list[str] = []

    async def get_token(self, *scopes: str, **_: object) -> AccessToken:
        self.scopes.extend(scopes)
        now = int(time.time())
        claims = {
            "aud": self.audience,
            "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
            "iat": now - 60,
            "nbf": now - 60,
            "exp": now + 3600,
        }
        parts = ({"alg": "none", "typ": "JWT"}, claims, {"signed": "no"})
        encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts)
        return AccessToken(".".join(part.decode().rstrip("=") for part in encoded), now + 3600)

    async def close(self) -> None: ...

    async def __aenter__(self) -> Tokens:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def with_tokens(settings: BlobSettings, tokens: Tokens, version: str) -> BlobLedger:
    return BlobLedger(
        BlobSettings(
            settings.container,
            account_url=settings.account_url,
            create=True,
            ca_file=settings.ca_file,
            api_version=version,
            token_source=lambda: tokens,
        ),
        new_names(),
    )


@pytest.mark.parametrize("version", ["2017-11-09", BlobSettings(CONTAINER).api_version])
async def test_an_identity_is_let_in_by_its_token(guarded: BlobSettings, version: str) -> None:
    tokens = Tokens()
    ledger = with_tokens(guarded, tokens, version)
    try:
        etag = str(await ledger.perform(CreateOwnership("0")))
        await ledger.perform(Acquire("0", new_id(), etag))
        assert set((await listed(ledger)).ownerships) == {"0"}
    finally:
        await ledger.close()
    assert set(tokens.scopes) == {"https://storage.azure.com/.default"}
    assert len(tokens.scopes) == 1, "a token is kept while it is valid"


async def test_an_identity_that_may_not_is_told_the_role_that_it_needs(
    guarded: BlobSettings,
) -> None:
    ledger = with_tokens(guarded, Tokens("https://elsewhere.example"), "2021-12-02")
    try:
        with pytest.raises(LedgerError) as refused:
            await ledger.perform(List())
    finally:
        await ledger.close()
    assert refused.value.refusal is Refusal.DENIED
    assert "Storage Blob Data Contributor" in str(refused.value)
    assert "eyJ" not in str(refused.value), "the token is not shown"


async def test_a_certificate_that_is_not_trusted_says_so(guarded: BlobSettings) -> None:
    settings = BlobSettings(
        CONTAINER, account_url=guarded.account_url, token_source=Tokens, timeout_s=5.0
    )
    ledger = BlobLedger(settings, new_names())
    try:
        with pytest.raises(LedgerError, match=r"certificate of 127\.0\.0\.1:\d+ is not trusted"):
            await ledger.perform(List())
    finally:
        await ledger.close()
