"""What the environment says of the demo, and the ports that it gets.

Rules: standard library only. What is wrong is a DemoError that says what to write. A port that is
asked for and taken is an error; of the usual ones another one is taken, and that is said.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from demo_programs import ROOT, DemoError, show

READY_S = 120.0
# How much the desk of `alarms` takes from one consumer, in the readings of a calm hour.
DESK, DESK_TIMES = "DESK_READINGS_PER_S", 2.0
CALM_READINGS = 5 / 60
HOMES_MOST, SEED_MOST, SECONDS_MOST = 1_000_000, (1 << 63) - 1, 7 * 86_400
# PySpark, its Java and what these write, against hub and storage alone.
_FREE_MB = {"spark": 2_000, "python": 500}


def desk_of(homes: int) -> str:
    """What the desk takes, as its variable says it."""
    return f"{max(homes * CALM_READINGS * DESK_TIMES, 100.0):.0f}"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says."""

    homes: int | None
    seed: int
    engine: str
    page_port: int
    console_port: int
    seconds: int | None
    kills_s: int | None

    @classmethod
    def read(cls) -> Settings:
        """Raises DemoError."""
        engine = os.environ.get("ENGINE") or "spark"
        if engine not in ("python", "spark"):
            raise DemoError(f"ENGINE={engine}: write python or spark")
        homes, seed = _whole("HOMES", 1, HOMES_MOST), _whole("SEED", 0, SEED_MOST)
        seconds, kills = (_whole(name, 1, SECONDS_MOST) for name in ("DEMO_SECONDS", "DEMO_KILLS"))
        page, console = _ports(("PAGE_PORT", 8090), ("CONSOLE_PORT", 8081))
        return cls(
            homes,
            secrets.randbelow(1 << 32) if seed is None else seed,
            engine,
            page,
            console,
            seconds,
            kills,
        )

    @property
    def least_free_mb(self) -> int:
        """How much room it takes on the disk."""
        return _FREE_MB[self.engine]


def _whole(name: str, least: int, most: int) -> int | None:
    """None where it is not said. Raises DemoError."""
    text = os.environ.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and least <= int(text[:20]) <= most):
        raise DemoError(f"{name}={text}: write a whole number from {least:,} to {most:,}")
    return int(text)


def _ports(*wanted: tuple[str, int]) -> list[int]:
    """Those that are asked for, else the usual ones, else any. Raises DemoError."""
    asked = {name: _whole(name, 1, 65_535) for name, _ in wanted}
    named = [port for port in asked.values() if port is not None]
    if len(set(named)) < len(named):
        same = " and ".join(f"{name}={port}" for name, port in asked.items())
        raise DemoError(f"{same} are the same port: name two different ones")
    found: dict[str, int] = {}
    with ExitStack() as held:
        # Those that are asked for first: no other one gets them.
        for name, usual in sorted(wanted, key=lambda each: asked[each[0]] is None):
            port = asked[name]
            taken = set(found.values())
            found[name] = _taken(held, name, port) if port else _free(held, name, usual, taken)
    return [found[name] for name, _ in wanted]


def _taken(held: ExitStack, name: str, port: int) -> int:
    try:
        return _bound(held, port)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            why = (
                f"is taken by another program: `ss -ltnp 'sport = :{port}'` says which. "
                "Name another one, or leave it out."
            )
        elif problem.errno == errno.EACCES:
            why = "may not be opened by this user. Name one from 1,024 on, or leave it out."
        else:
            why = f"cannot be opened: {problem.strerror}. Name another one, or leave it out."
        raise DemoError(f"{name}={port} {why}") from None


def _free(held: ExitStack, name: str, usual: int, taken: Set[int]) -> int:
    with suppress(OSError):
        if usual not in taken:
            return _bound(held, usual)
    port = _bound(held, 0)
    show(f"demo: port {usual} is taken, so that {name} is {port} this time")
    return port


def _bound(held: ExitStack, port: int) -> int:
    """Held until the others are found as well. Raises OSError."""
    probe = held.enter_context(socket.socket())
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("127.0.0.1", port))
    return int(probe.getsockname()[1])


def new_folder(stack: ExitStack, settings: Settings) -> Path:
    """A new one, and those of demos that were killed are gone. Raises DemoError."""
    place = ROOT / ".tools" / "demo"
    place.mkdir(parents=True, exist_ok=True)
    # One at a time: a folder that is not locked yet would be nobody's.
    with _locked(place, fcntl.LOCK_EX):
        _sweep(place)
        _check_room(place, settings)
        found = Path(tempfile.mkdtemp(prefix="run-", dir=place))
        stack.enter_context(_locked(found, fcntl.LOCK_EX))
    stack.callback(shutil.rmtree, found, ignore_errors=True)
    return found


def _check_room(place: Path, settings: Settings) -> None:
    """Raises DemoError."""
    free_mb = shutil.disk_usage(place).free >> 20
    if free_mb < settings.least_free_mb:
        raise DemoError(
            f"{free_mb:,} MB are free on the disk of {place}, and the demo wants "
            f"{settings.least_free_mb:,}. Make room, then run the same command again."
        )


def _sweep(place: Path) -> None:
    """Removes what demos have left that were killed: nobody has their folders locked."""
    for left in place.glob("run-*"):
        # In use, or its demo ended in this very moment.
        with (
            suppress(BlockingIOError, FileNotFoundError),
            _locked(left, fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """The kernel lets go of it with the process, however that ends."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, how)
        yield
    finally:
        os.close(opened)
