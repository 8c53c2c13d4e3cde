"""A hub that does not answer is named, with what to look at."""

from __future__ import annotations

import socket

import pytest

from tidegate.ports import SourceError
from tidegate.sources.native.connection import HubConnection
from tidegate.sources.native.endpoint import Endpoint


async def test_where_nobody_listens_the_address_is_said_and_what_to_do() -> None:
    with socket.socket() as held:
        # It is bound and does not listen, so that nobody else can.
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        connection = HubConnection(Endpoint("127.0.0.1", port, is_tls=False))
        with pytest.raises(SourceError) as raised:
            await connection.open(None)
    said = str(raised.value)
    assert said.startswith(f"127.0.0.1:{port}: could not connect: ")
    assert "Check the host and the port" in said
