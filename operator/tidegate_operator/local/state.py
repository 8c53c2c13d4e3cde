"""The folder in which `tidegate up` keeps what outlives it, and says where it can be asked.

Rules: one `tidegate up` a folder, by a lock that ends with its process. Ports that were chosen are
kept: the hub's is part of where positions are. What others may not read is their owner's alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.settings import SettingsError

_LEAST_FREE = 256 << 20
_XDG = "XDG_STATE_HOME"


class NotRunningError(Exception):
    """There is no `tidegate up` to ask."""


@dataclass(frozen=True, slots=True)
class Served:
    """Where a running `tidegate up` is asked, and how one is let in."""

    url: str
    token: str


def default_folder(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or "~"
    base = environment.get(_XDG) or str(Path(home).expanduser() / ".local" / "state")
    return Path(base) / "tidegate"


class State:
    """See the module."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.hub = self.folder / "hub"
        self.storage = self.folder / "storage"
        self.cosmos = self.folder / "cosmos"
        self.pods = self.folder / "pods"
        self.logs = self.folder / "logs"
        self.groups = self.folder / "groups"
        self._served = self.folder / "served.json"
        self._ports = self.folder / "ports.json"

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """It is ours while the block lasts. Raises SettingsError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise SettingsError(
                f"--state {self.folder}: it cannot be written: {problem.strerror}"
            ) from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise SettingsError(
                    f"--state {self.folder}: another `tidegate up` uses it. End that one, or give "
                    "this one a folder of its own"
                ) from None
            self._begin()
            try:
                yield
            finally:
                self._served.unlink(missing_ok=True)
        finally:
            os.close(lock)

    def _begin(self) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < _LEAST_FREE:
            raise SettingsError(
                f"--state {self.folder}: {free >> 20} MB are free on its disk, and hub and storage "
                f"want {_LEAST_FREE >> 20} at least. Make room, or choose another folder"
            )
        # Of an earlier time: their processes have ended with it.
        for folder in (self.pods, self.logs, self.groups):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)

    def ports(self) -> dict[str, int]:
        """Those that were chosen before."""
        try:
            found = json.loads(self._ports.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {str(name): int(port) for name, port in found.items()}

    def keep_port(self, name: str, port: int) -> None:
        self._ports.write_text(json.dumps({**self.ports(), name: port}), encoding="utf-8")

    def write_secret(self, name: str, text: str) -> Path:
        """A file that others may not read."""
        path = self.folder / name
        path.touch(0o600)
        path.write_text(f"{text}\n", encoding="utf-8")
        return path

    def serve(self, at: Served) -> None:
        said = {"url": at.url, "token": at.token, "pid": os.getpid()}
        self.write_secret(self._served.name, json.dumps(said))

    def served(self) -> Served:
        """Where the one that runs is asked. Raises NotRunningError."""
        try:
            found = json.loads(self._served.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise NotRunningError(
                f"no `tidegate up` runs with the state folder {self.folder}: start one, or say "
                "with --state which folder it has"
            ) from None
        return Served(str(found["url"]), str(found["token"]))
