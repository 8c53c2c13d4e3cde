"""Why a server cannot listen, in words that tell what to do: real errors of the system."""

from __future__ import annotations

import asyncio
import errno
import socket

import pytest

from tidegate_http.listening import listening_problem

OWN_ADDRESS = "Choose 127.0.0.1, another address of this machine, or 0.0.0.0 for all of them."


async def refusal(host: str, port: int) -> Exception:
    """What the system says to a server that wants to listen there."""
    loop = asyncio.get_running_loop()
    with pytest.raises((OSError, OverflowError, ValueError)) as caught:
        await loop.create_server(asyncio.Protocol, host, port)
    return caught.value


async def test_a_port_that_is_taken_asks_for_another_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = listening_problem(await refusal("127.0.0.1", port), "127.0.0.1", port)
    assert said == (
        f"cannot listen on 127.0.0.1:{port}: address already in use. "
        "Choose another port, or 0 for any that is free."
    )


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("192.0.2.1", "this machine has no such address"),
        ("nowhere.invalid", "no host of this name is known"),
        ("a..b", "no host of this name is known"),
        ("a\0b", "no host of this name is known"),
    ],
)
async def test_a_host_that_is_not_here_asks_for_another_host(host: str, reason: str) -> None:
    said = listening_problem(await refusal(host, 0), host, 5672)
    assert said == f"cannot listen on {host}:5672: {reason}. {OWN_ADDRESS}"


async def test_a_port_that_cannot_be_names_those_that_can() -> None:
    said = listening_problem(await refusal("127.0.0.1", 70_000), "127.0.0.1", 70_000)
    assert said.endswith(
        "there is no such port. Choose one from 1 to 65535, or 0 for any that is free."
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied"),
            "not permitted: ports below 1024 need privileges. Choose another port, or 0",
        ),
        # As asyncio of Python 3.13 says it where no address of a host could be had.
        (
            OSError("could not bind on any address out of [('192.0.2.1', 80)]"),
            f"this machine has no such address. {OWN_ADDRESS}",
        ),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "Too many open files. Choose another address or port.",
        ),
    ],
    ids=["not permitted", "no number", "something else"],
)
def test_what_this_machine_may_not_refuse_is_told_too(error: OSError, words: str) -> None:
    said = listening_problem(error, "host", 80)
    assert said.startswith("cannot listen on host:80: ")
    assert words in said
