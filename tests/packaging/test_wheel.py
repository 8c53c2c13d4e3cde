"""The wheel, as a user has it: installed with the locked packages alone, and it serves.

Rules: nothing of this tree is reachable but the wheel (no PYTHONPATH, another folder); pip needs
the network; all that is made is in one temporary folder that is removed at the end.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import tidegate
from support.tree import ROOT
from support.up_process import tools
from support.wait import wait_until

STEP_SECONDS = 300
READY_SECONDS = 60.0
STOP_SECONDS = 30.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(STEP_SECONDS)]

SEND_AND_COUNT = """
import sys
from azure.eventhub import EventData, EventHubProducerClient

client = EventHubProducerClient.from_connection_string(sys.argv[1], eventhub_name="telemetry")
with client:
    client.send_event(EventData("hello"), partition_id="3")
    print(client.get_partition_properties("3")["last_enqueued_sequence_number"])
"""
WRITE_AND_READ = """
import sys
from azure.cosmos import CosmosClient

with CosmosClient.from_connection_string(sys.argv[1]) as client:
    events = client.get_database_client("sensors").get_container_client("events")
    events.create_item({"id": "1", "home": "h1"})
    print(*(item["id"] for item in events.query_items_change_feed(start_time="Beginning")))
"""
ENTRY_POINTS = """
from importlib.metadata import entry_points, version

for point in sorted(entry_points(group="pytest11")):
    print(point.name, point.value)
print("version", version("tidegate"))
"""
CONSOLE_FILES = """
from importlib.resources import files

print(*(each.name for each in files("tidegate_operator.page").joinpath("static").iterdir()))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the wheel in it, and an empty folder to start from."""

    programs: Path
    folder: Path

    def environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def output_of(self, *command: str) -> str:
        return subprocess.run(
            [str(self.programs / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            timeout=STEP_SECONDS,
            check=True,
            text=True,
        ).stdout


def done(command: Sequence[str | Path]) -> None:
    """Run a step of the installation; fail with all that it printed."""
    ended = subprocess.run(
        [sys.executable, "-m", *(str(part) for part in command)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=STEP_SECONDS,
        check=False,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    """The wheel, built and installed as a user would."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        place = Path(name)
        environment = place / "environment"
        python = environment / "bin" / "python"
        folder = place / "empty"
        folder.mkdir()
        done(["hatchling", "build", "--target", "wheel", "--directory", place / "dist"])
        (wheel,) = (place / "dist").iterdir()
        done(["venv", "--without-pip", environment])
        install = ("pip", "--python", python, "install", "--no-input", "--no-deps", "--quiet")
        lock = ROOT / "requirements" / "core.lock"
        done([*install, "--require-hashes", "--only-binary=:all:", "--requirement", lock])
        done([*install, "--no-index", wheel])
        yield Installed(environment / "bin", folder)


@pytest.fixture
def hub_output(installed: Installed) -> Iterator[str]:
    yield from served(installed, "tidegate-hub")


@pytest.fixture
def cosmos_output(installed: Installed) -> Iterator[str]:
    yield from served(installed, "tidegate-cosmos", "--container", "sensors/events:/home:2")


def served(installed: Installed, program: str, *options: str) -> Iterator[str]:
    """What an installed server says once it is ready; it is asked to end afterwards, and does."""
    log = installed.folder.with_name(f"{program}.log")
    ports = ("--port", "0", "--admin-port", "0")
    with log.open("w") as sink:
        server = subprocess.Popen(
            [installed.programs / program, "serve", *ports, *options],
            cwd=installed.folder,
            env=installed.environment(),
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(
            lambda: "ready" in log.read_text() or server.poll() is not None,
            READY_SECONDS,
            f"the installed {program} to be ready",
            detail=log.read_text,
        )
        assert server.poll() is None, log.read_text()
        yield log.read_text()
        server.send_signal(signal.SIGTERM)
        assert server.wait(STOP_SECONDS) == 0, log.read_text()
    finally:
        server.kill()
        server.wait()


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, text
    return match[1]


def test_the_installed_wheel_serves_the_sdk_and_the_admin_page(
    installed: Installed, hub_output: str
) -> None:
    connection_string = found(r"^connection string: (.*)$", hub_output)
    page = found(r"^admin: (\S+)$", hub_output)
    with urllib.request.urlopen(page, timeout=READY_SECONDS) as answer:
        assert answer.status == 200
        assert b"tidegate-hub" in answer.read()
    sent = installed.output_of("python", "-c", SEND_AND_COUNT, connection_string)
    assert sent == "0\n"
    assert list(installed.folder.iterdir()) == []


def test_the_installed_cosmos_serves_the_sdk_and_the_admin_api(
    installed: Installed, cosmos_output: str
) -> None:
    connection_string = found(r"^connection string: (.*)$", cosmos_output)
    admin = found(r"^admin: (\S+)$", cosmos_output)
    with urllib.request.urlopen(f"{admin}openapi.json", timeout=READY_SECONDS) as answer:
        assert b"tidegate-cosmos" in answer.read()
    read = installed.output_of("python", "-c", WRITE_AND_READ, connection_string)
    assert read == "1\n"


def test_the_installed_wheel_has_the_consoles_files(installed: Installed) -> None:
    """They are looked at without the operator's own packages, which are not among the core's."""
    names = installed.output_of("python", "-c", CONSOLE_FILES).split()
    assert {"console.css", "group.html", "group.js", "groups.html", "login.html"} <= set(names)


def test_the_installed_wheel_names_its_pytest_plugins_and_its_version(installed: Installed) -> None:
    """The plugins' modules are named, not loaded: pytest is not among the core's packages."""
    assert installed.output_of("python", "-c", ENTRY_POINTS).splitlines() == [
        "tidegate_cosmos tidegate_cosmos.testing",
        "tidegate_hub tidegate_hub.testing",
        f"version {tidegate.__version__}",
    ]


def test_the_installed_wheel_runs_a_group_without_kubernetes_packages(installed: Installed) -> None:
    """kopf and the client of Kubernetes are an extra, which this environment does not have."""
    file, log = installed.folder.with_name("group.yaml"), installed.folder.with_name("up.log")
    shutil.copy(ROOT / "examples" / "consumergroup.yaml", file)
    state = ("--state", str(installed.folder.with_name("state")))
    with log.open("w") as sink:
        up = subprocess.Popen(
            [installed.programs / "tidegate", "up", str(file), *state],
            cwd=installed.folder,
            env={**installed.environment(), **tools()},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(
            lambda: "Balanced: " in log.read_text() or up.poll() is not None,
            READY_SECONDS,
            "the group to be balanced",
            detail=log.read_text,
        )
        assert "home-activity" in installed.output_of("tidegate", "get", *state), log.read_text()
        up.send_signal(signal.SIGINT)
        assert up.wait(STOP_SECONDS) == 0, log.read_text()
    finally:
        up.kill()
        up.wait()
