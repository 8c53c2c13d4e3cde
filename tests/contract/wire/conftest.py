"""Hubs behind real sockets, and peers that say exactly what a test wants said.

Rules: one server for the session that allows everything and one that checks tokens; every test has
a hub of its own on them, so that tests share nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from contract.wire.place import Place
from support.wait import wait_until
from tidegate_hub.testing import RunningHub, running_hub


@pytest.fixture(scope="session")
def server() -> Iterator[RunningHub]:
    with running_hub() as hub:
        yield hub


@pytest.fixture(scope="session")
def checking_server() -> Iterator[RunningHub]:
    with running_hub(check_sas=True) as hub:
        yield hub


@contextlib.contextmanager
def _visit(server: RunningHub) -> Iterator[contextlib.ExitStack]:
    """What a test does on a server: its faults and connections are gone before the next test."""
    with contextlib.ExitStack() as stack:
        yield stack
        server.clear_faults()
    wait_until(lambda: server.connections() == 0, 10, "all connections of the test to be gone")


@pytest.fixture
def place(server: RunningHub) -> Iterator[Place]:
    """A fresh hub that allows everything."""
    with _visit(server) as stack:
        yield Place(server, stack)


@pytest.fixture
def new_place(server: RunningHub) -> Iterator[Callable[[], Place]]:
    """Makes fresh hubs that allow everything, as many as a test wants."""
    with _visit(server) as stack:
        yield lambda: Place(server, stack)


@pytest.fixture
def checked(checking_server: RunningHub) -> Iterator[Place]:
    """A fresh hub that checks tokens."""
    with _visit(checking_server) as stack:
        yield Place(checking_server, stack)
