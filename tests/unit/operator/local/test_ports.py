"""A port that was chosen is still free when its server begins."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from tidegate_operator.local.ports import free_port

HANDED_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
CHOOSE = (
    "from tidegate_operator.local.ports import free_port\n"
    "print(*(free_port() for _ in range(2000)), flush=True)\n"
    "input()\n"
)


def test_a_chosen_port_is_none_that_the_kernel_hands_out() -> None:
    first = int(HANDED_OUT.read_text().split()[0]) if HANDED_OUT.exists() else 32768
    assert all(1024 <= free_port() < first for _ in range(200))


def test_a_chosen_port_can_be_listened_on() -> None:
    with socket.create_server(("127.0.0.1", free_port())):
        pass


def test_nobody_else_is_given_a_chosen_port() -> None:
    command = [sys.executable, "-c", CHOOSE]
    with (
        subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as one,
        subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other,
    ):
        assert one.stdout is not None and other.stdout is not None
        chosen = one.stdout.readline().split() + other.stdout.readline().split()
        one.communicate("\n")
        other.communicate("\n")
    assert len(chosen) == len(set(chosen)) == 4000
