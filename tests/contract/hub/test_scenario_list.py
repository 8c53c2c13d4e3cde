"""The list of scenarios is whole: every client implements all of it, and nothing else."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

from azure.eventhub._buffered_producer._partition_resolver import generate_hash_code

from contract.hub.javascript import RUNNER, installed_environment
from contract.hub.python.implemented import IMPLEMENTED
from contract.hub.scenarios import KEY_HUB_PARTITIONS, KEY_PARTITIONS, SCENARIOS
from support.azurite import node_program

_hash_of: Callable[[str], int] = generate_hash_code

NAMES = [scenario.name for scenario in SCENARIOS]


def test_each_scenario_is_named_once_and_promises_something() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(scenario.promise.endswith(".") for scenario in SCENARIOS)


def test_the_python_clients_implement_every_scenario() -> None:
    assert sorted(IMPLEMENTED) == sorted(NAMES)


def test_the_javascript_client_implements_every_scenario() -> None:
    listed = subprocess.run(
        [node_program(), str(RUNNER), "--list"],
        env=installed_environment(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert sorted(json.loads(listed.stdout)) == sorted(NAMES)


def test_the_keys_are_where_the_hash_of_the_sdk_puts_them() -> None:
    """For plain ASCII keys; the sign of the hash is dropped before the remainder."""
    ascii_keys = {key: at for key, at in KEY_PARTITIONS.items() if key.isascii()}
    hashes = {key: _hash_of(key) for key in ascii_keys}
    assert any(value < 0 for value in hashes.values())
    placed = {key: str(abs(value) % KEY_HUB_PARTITIONS) for key, value in hashes.items()}
    assert placed == ascii_keys
