"""A hub of a test's own on a running server, and peers that end with the test."""

from __future__ import annotations

import contextlib
import itertools

from support.amqp_peer import Peer, SocketLine
from tidegate_amqp import ConnectionSettings
from tidegate_hub.testing import RunningHub

_numbers = itertools.count(1)


class Place:
    """A hub of a test's own, and peers that are cut off when the test ends."""

    def __init__(self, server: RunningHub, stack: contextlib.ExitStack) -> None:
        self.server = server
        self.hub = f"wire-{next(_numbers)}"
        self._stack = stack
        server.add_hub(self.hub, 2, ["analytics"])

    def connect(self, settings: ConnectionSettings | None = None) -> Peer:
        """A peer whose connection has yet to be opened."""
        peer = Peer(SocketLine(self.server.port), settings)
        self._stack.callback(peer.line.cut)
        return peer

    def open(self, settings: ConnectionSettings | None = None) -> Peer:
        return self.connect(settings).open()

    def feed(self, partition: str = "0", group: str = "$Default") -> str:
        """The address of a receiver."""
        return f"{self.hub}/ConsumerGroups/{group}/Partitions/{partition}"

    def input(self, partition: str = "0") -> str:
        """The address of a sender to a partition."""
        return f"{self.hub}/Partitions/{partition}"
