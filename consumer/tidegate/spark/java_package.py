"""A Java out of Debian's package, unpacked without root into a folder of this user's caches.

Rules: one package is enough: of what it depends on, a JVM without sound, fonts and printers uses
the C and C++ libraries and zlib, which apt itself has. A Java gets its name when it is whole: what
was broken off is not found again, and of two that fetch at once the first one stays.
"""

from __future__ import annotations

import os
import ssl
import struct
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha1
from pathlib import Path

from tidegate.spark.debian import NotFetchedError, fetched, missing_tools
from tidegate.spark.java import OLDEST, NoJavaError, Say

VERSIONS = (17, 21, 25)  # that Spark 4.2 runs on; the first one that the machine's apt knows
SIZE = "about 60 MB to fetch, 200 MB on disk"
STORE_PASSWORD = "changeit"  # what every Java expects of its list of trusted certificates


def fetch_java(cache: Path, refused: Sequence[str], say: Say) -> Path:
    """Unpack a Java into the cache; the path of its program."""
    missing = missing_tools()
    if missing:
        raise NoJavaError(
            f"Spark needs Java {OLDEST} or newer. {_looked_at(refused)} It can be fetched by "
            f"itself only with Debian's tools, and there is no {' and no '.join(missing)} here. "
            f"Install a Java {OLDEST}, then put it on the PATH or name its folder with JAVA_HOME."
        )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="draft-java-", dir=cache) as folder:
        draft = Path(folder).resolve()
        say(f"-> fetching Java from Debian's package into {cache}: {SIZE}")
        try:
            name, unpacked = fetched([package_of(version) for version in VERSIONS], draft)
        except NotFetchedError as problem:
            raise NoJavaError(
                f"Spark needs Java {OLDEST} or newer. {_looked_at(refused)} {problem}; or install "
                f"a Java {OLDEST} and name its folder with JAVA_HOME."
            ) from None
        relink(unpacked)
        home = next(unpacked.glob("usr/lib/jvm/*/bin/java")).resolve().parents[1]
        _trust(home)
        place = cache / f"java-{version_of(name)}"
        try:
            unpacked.rename(place)
        except OSError:
            if not place.exists():  # it is there where another process was quicker
                raise
        return place / home.relative_to(unpacked) / "bin" / "java"


def package_of(version: int) -> str:
    """Debian's package of a Java without windows."""
    return f"openjdk-{version}-jre-headless"


def version_of(package: str) -> int:
    """The version in the name of such a package."""
    return next(version for version in VERSIONS if package_of(version) == package)


def relink(unpacked: Path) -> None:
    """Let the package's absolute links point to what they mean, inside of what was unpacked."""
    for folder, folders, files in os.walk(unpacked):
        for name in (*folders, *files):
            path = Path(folder) / name
            if not path.is_symlink() or not path.readlink().is_absolute():
                continue
            inside = unpacked / path.readlink().relative_to("/")
            if inside.exists():
                path.unlink()
                path.symlink_to(os.path.relpath(inside, path.parent))


def _trust(home: Path) -> None:
    """Give it the certificates that this machine trusts: root's installer would have made that."""
    place = home / "lib" / "security" / "cacerts"
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(key_store(trusted_certificates()))


def trusted_certificates() -> list[bytes]:
    """The certificates that OpenSSL on this machine trusts, each as DER."""
    paths = ssl.get_default_verify_paths()
    files = [Path(paths.cafile)] if paths.cafile else []
    if not files and paths.capath:
        files = [path for path in sorted(Path(paths.capath).iterdir()) if path.is_file()]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for file in files:
        try:
            context.load_verify_locations(file)
        except ssl.SSLError:  # the folder may hold other things than certificates
            continue
    return context.get_ca_certs(binary_form=True)


def key_store(certificates: Iterable[bytes]) -> bytes:
    """A Java key store ('JKS', version 2) that trusts these certificates and holds no key."""
    entries = []
    for number, der in enumerate(certificates):
        alias = _text(f"machine-{number}")
        date, tag = struct.pack(">q", 0), struct.pack(">i", 2)  # 2: a certificate, and no key
        entries.append(tag + alias + date + _text("X.509") + struct.pack(">i", len(der)) + der)
    content = struct.pack(">Iii", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    salt = STORE_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite"  # as the format has it
    return content + sha1(salt + content).digest()


def _text(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode("ascii")


def _looked_at(refused: Sequence[str]) -> str:
    return " ".join(refused) or "There is none in JAVA_HOME or on the PATH."
