"""`tidegate up` and the console: on loopback alone, for nobody logs in there."""

from __future__ import annotations

import pytest

from tidegate.ops.serving import Address
from tidegate.settings import SettingsError
from tidegate_operator.local.command import console_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8081", Address("127.0.0.1", 8081)),
        (":8081", Address("127.0.0.1", 8081)),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("localhost:8081", Address("localhost", 8081)),
        ("[::1]:8081", Address("::1", 8081)),
    ],
)
def test_a_port_alone_is_one_of_loopback(text: str, expected: Address) -> None:
    assert console_address(text) == expected


@pytest.mark.parametrize("text", ["0.0.0.0:8081", "[::]:8081", "192.0.2.7:8081", "here.test:8081"])
def test_the_console_of_a_machine_is_never_opened_to_the_network(text: str) -> None:
    with pytest.raises(SettingsError, match=r"served on loopback alone.*127\.0\.0\.1:8081"):
        console_address(text)
