"""Hubs behind real sockets, and peers that say exactly what a test wants said.

Rules: one server for the session that allows everything and one that checks tokens; every test has
a hub of its own on them, so that tests share nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from contract.wire.place import Place
from tidegate_hub.testing import RunningHub, running_hub


@pytest.fixture(scope="session")
def server() -> Iterator[RunningHub]:
    with running_hub() as hub:
        yield hub


@pytest.fixture(scope="session")
def checking_server() -> Iterator[RunningHub]:
    with running_hub(check_sas=True) as hub:
        yield hub


@pytest.fixture
def place(server: RunningHub) -> Iterator[Place]:
    """A fresh hub that allows everything."""
    with contextlib.ExitStack() as stack:
        yield Place(server, stack)
        server.clear_faults()


@pytest.fixture
def checked(checking_server: RunningHub) -> Iterator[Place]:
    """A fresh hub that checks tokens."""
    with contextlib.ExitStack() as stack:
        yield Place(checking_server, stack)
        checking_server.clear_faults()
