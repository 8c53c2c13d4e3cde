"""What the environment says of the demo, and the ports that it gets.

Rules: standard library only. What is wrong is a DemoError that says what to write. A port that is
asked for and taken is an error; of the usual ones another one is taken, and that is said.
"""

from __future__ import annotations

import os
import secrets
import socket
from dataclasses import dataclass

from demo_programs import DemoError, show

READY_S = 120.0
# How much the desk of `alarms` takes from one consumer, in the readings of a calm hour.
DESK, DESK_TIMES = "DESK_READINGS_PER_S", 2.0
CALM_READINGS = 5 / 60


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
    seconds: float | None
    kills_s: float | None

    @classmethod
    def read(cls) -> Settings:
        """Raises DemoError."""
        engine = os.environ.get("ENGINE") or "spark"
        if engine not in ("python", "spark"):
            raise DemoError(f"ENGINE={engine}: write python or spark")
        homes, seconds, kills = (_number(name) for name in ("HOMES", "DEMO_SECONDS", "DEMO_KILLS"))
        seed = _number("SEED")
        return cls(
            None if homes is None else int(homes),
            secrets.randbelow(1 << 32) if seed is None else int(seed),
            engine,
            _port("PAGE_PORT", 8090),
            _port("CONSOLE_PORT", 8081),
            seconds,
            kills,
        )


def _number(name: str) -> float | None:
    text = os.environ.get(name, "")
    try:
        found = float(text) if text else None
    except ValueError:
        found = -1.0
    if found is not None and found < 0:
        raise DemoError(f"{name}={text}: write a number")
    return found


def _port(name: str, usual: int) -> int:
    """The one that is asked for, else the usual one, else any. Raises DemoError."""
    asked = os.environ.get(name, "")
    if asked and not asked.isdecimal():
        raise DemoError(f"{name}={asked}: write a port")
    port = int(asked or usual)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            if asked:
                raise DemoError(
                    f"{name}={port} is taken by another program: `ss -ltnp 'sport = :{port}'` says "
                    "which. Name another one, or leave it out."
                ) from None
            with socket.socket() as other:
                other.bind(("127.0.0.1", 0))
                port = int(other.getsockname()[1])
            show(f"demo: port {usual} is taken, so that {name} is {port} this time")
    return port
