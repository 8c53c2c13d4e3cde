"""The certificates that a fetched Java trusts: those of the machine, in a file that Java reads."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from hashlib import sha1
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tidegate.spark.java_package import key_store, trusted_certificates


def entries_of(store: bytes) -> list[bytes]:
    """The certificates in a key store, read as Java's own reader does, with its checksum."""
    content, checksum = store[:-20], store[-20:]
    password = b"".join(bytes([0, byte]) for byte in b"changeit")
    assert sha1(password + b"Mighty Aphrodite" + content).digest() == checksum
    magic, version, count = struct.unpack_from(">Iii", content)
    assert (magic, version) == (0xFEEDFEED, 2)
    at, found, names = 12, [], set()
    for _ in range(count):
        (tag, length) = struct.unpack_from(">iH", content, at)
        assert tag == 2
        names.add(content[at + 6 : at + 6 + length])
        at += 6 + length + 8  # past the name and the date
        (length,) = struct.unpack_from(">H", content, at)
        assert content[at + 2 : at + 2 + length] == b"X.509"
        at += 2 + length
        (length,) = struct.unpack_from(">i", content, at)
        found.append(content[at + 4 : at + 4 + length])
        at += 4 + length
    assert at == len(content)
    assert len(names) == count, "two certificates of one name: Java would keep the last alone"
    return found


def test_every_certificate_is_in_the_store_as_it_is() -> None:
    certificates = [b"one", b"another", b"x" * 70_000]
    assert entries_of(key_store(certificates)) == certificates


def test_a_machine_that_trusts_nobody_gives_a_store_that_can_be_read() -> None:
    assert entries_of(key_store([])) == []


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, bytes]:
    """A file with a certificate, and what is in it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody to trust")])
    begins = datetime(2020, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begins, begins.replace(2090))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "trusted" / "somebody.pem"
    file.parent.mkdir()
    file.write_bytes(made.public_bytes(Encoding.PEM))
    return file, made.public_bytes(Encoding.DER)


def test_what_the_machine_trusts_by_a_file_is_given_to_java(
    certificate: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, der = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    assert trusted_certificates() == [der]


def test_what_the_machine_trusts_by_a_folder_is_given_to_java_but_for_what_else_is_in_it(
    certificate: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, der = certificate
    (file.parent / "README").write_text("no certificate", encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(file.parent / "none"))
    monkeypatch.setenv("SSL_CERT_DIR", str(file.parent))
    assert trusted_certificates() == [der]
