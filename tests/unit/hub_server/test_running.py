"""The hub in a thread and its pytest fixtures: what cannot be is an error, never passed over."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidegate_hub import testing
from tidegate_hub.conditions import HubError
from tidegate_hub.config_json import ConfigError
from tidegate_hub.fault_json import FaultError
from tidegate_hub.running import RunningHub, running_hub


def test_a_hub_runs_without_pytest() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "from tidegate_hub.running import running_hub\n"
        "with running_hub() as hub:\n"
        "    hub.add_hub('telemetry', 2)\n"
        "    print(hub.connection_string, hub.range_of('telemetry', '1'))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout.startswith("Endpoint=sb://localhost:")
    assert ended.stdout.endswith("UseDevelopmentEmulator=true (0, 0)\n")


def test_the_plugin_gives_what_runs_without_it_too() -> None:
    assert testing.RunningHub is RunningHub
    assert testing.running_hub is running_hub


@pytest.mark.parametrize(("options", "status"), [(["-s"], 0), ([], 1)], ids=["-s", "a failure"])
def test_the_fixtures_print_their_connection_strings(
    tmp_path: Path, options: list[str], status: int
) -> None:
    file = tmp_path / "test_mine.py"
    file.write_text(
        "def test_mine(hub, hub_server):\n"
        "    hub.add_hub('telemetry')\n"
        "    own = [hub.connection_string, hub_server.connection_string]\n"
        "    open('own', 'w').write('\\n'.join(own))\n"
        f"    assert {status} == 0\n",
        encoding="utf-8",
    )
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, file.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == status, ended.stdout
    strings = (tmp_path / "own").read_text(encoding="utf-8").splitlines()
    assert len(set(strings)) == 2
    for string in strings:
        assert f"tidegate-hub: connection string: {string}" in ended.stdout


@pytest.fixture(scope="module")
def running() -> Any:
    with running_hub() as hub:
        hub.add_hub("telemetry", 4)
        yield hub


WRONG: list[tuple[Callable[[RunningHub], object], type[Exception], str]] = [
    (lambda hub: hub.add_hub("new", 0), ConfigError, "add_hub: partitions: expected a whole num"),
    (lambda hub: hub.add_hub("new hub", 1), ConfigError, "add_hub: name: expected a name of"),
    (lambda hub: hub.add_hub("new", 1, "group"), ConfigError, "groups: expected a list of names"),
    (lambda hub: hub.grow_hub("telemetry", 2000), ConfigError, "grow_hub: partitions: expected"),
    (lambda hub: hub.grow_hub("telemtry", 8), HubError, "telemtry"),
    (lambda hub: hub.inject("delay", hub="telemtry", seconds=1), FaultError, "one of telemetry"),
    (lambda hub: hub.inject("server_busy", partition="4"), FaultError, "id from 0 to 3"),
    (lambda hub: hub.inject("server_busy", group="nix"), FaultError, r"one of \$Default"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), WRONG, ids=[row[2] for row in WRONG])
def test_what_cannot_be_is_an_error_and_changes_nothing(
    running: RunningHub,
    wrong: Callable[[RunningHub], object],
    error: type[Exception],
    words: str,
) -> None:
    def state() -> object:
        broker = running._server.broker
        return [(hub.name, len(hub.partitions)) for hub in broker.hubs], bool(broker.faults)

    before = running.call(state)
    with pytest.raises(error, match=words):
        wrong(running)
    assert running.call(state) == before == ([("telemetry", 4)], False)
