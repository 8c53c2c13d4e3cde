"""Ports of loopback for servers that begin to listen a moment later.

Rules: none of those that the kernel hands out by itself is chosen, as it may give it to anybody
who connects before the server has begun; what was chosen is kept for a while from others who
choose here, in this process and in others of this machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sys
import threading
import time
from collections import deque
from pathlib import Path

_HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
_HANDED_OUT_FROM = 32768
_HOW_MANY = 12_000
# Longer than any server of ours takes to begin.
_KEPT_S = 120.0
_ATTEMPTS = 1000

# Descriptors: what is kept to the end of the process is closed with it.
_kept: deque[tuple[float, int]] = deque()
_lock = threading.Lock()


class NoFreePortError(OSError):
    """All that were tried are listened on."""


def free_port() -> int:
    """A port of loopback that nobody listens on now. Raises NoFreePortError."""
    first = _handed_out_from()
    with _lock:
        while _kept and time.monotonic() - _kept[0][0] > _KEPT_S:
            os.close(_kept.popleft()[1])
        for _ in range(_ATTEMPTS):
            port = random.randrange(max(1024, first - _HOW_MANY), first)
            if _is_free(port) and _keep(port):
                return port
    raise NoFreePortError(
        f"no free port of loopback was found below {first}: end what listens there"
    )


def _handed_out_from() -> int:
    """The first port that the kernel gives to those who ask for any."""
    with contextlib.suppress(FileNotFoundError):  # other systems begin higher than Linux does
        first = int(_HANDED_OUT.read_text(encoding="ascii").split()[0])
        # Where nearly all are handed out there is nothing below to choose from.
        return first if first > _HOW_MANY else _HANDED_OUT_FROM
    return _HANDED_OUT_FROM


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _keep(port: int) -> bool:
    """Whether it is ours now: a name of the kernel's that is free again when the process ends."""
    if not sys.platform.startswith("linux"):
        return True
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0tidegate-port-{port}")
    except OSError:
        name.close()
        return False
    _kept.append((time.monotonic(), name.detach()))
    return True
