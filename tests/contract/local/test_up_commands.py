"""Every command that a real `tidegate up` names does its work when it is typed exactly so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from azure.eventhub import EventData, EventHubProducerClient

from support.unread_pipe import unread_pipe
from support.up_process import UpProcess, up_process
from tidegate_operator.kinds import CONSUMER_GROUP
from tidegate_operator.local.commands import LocalCommands
from tidegate_operator.local.state import State
from tidegate_operator.model import GroupKey

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

HANDLER = """
import os
def crash(events, context):
    print("a last line of the handler", flush=True)
    os._exit(3)
def fail(events, context):
    raise ValueError("it never works")
def poison(events, context):
    if any(event.body_as_str() == "poison" for event in events) and context.member != "replay":
        raise ValueError("poison")
"""
DELIVERY = {"onFailure": "deadLetter", "attempts": 1, "backoff": {"firstSeconds": 0.01}}
GROUPS: dict[str, dict[str, Any]] = {
    "crash": {"backoff": {"firstSeconds": 0.01}},
    "fail": {"backoff": {"firstSeconds": 0.01, "mostSeconds": 0.1}},
    "poison": DELIVERY,
}


def group(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "tidegate.dev/v1alpha1",
        "kind": "ConsumerGroup",
        "metadata": {"name": name, **({"namespace": "homes"} if name == "poison" else {})},
        "spec": {
            "source": {
                "eventHubs": {
                    "hub": name,
                    "connectionString": {"secret": "ours", "key": "events"},
                    "start": "earliest",
                }
            },
            "ledger": {
                "container": "ledger",
                "connectionString": {"secret": "ours", "key": "storage"},
            },
            "handler": {"code": f"handler.py:{name}"},
            "delivery": GROUPS[name],
            "replicas": 1,
        },
    }


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    # What has a space in its name must be quoted.
    folder = tmp_path_factory.mktemp("up") / "my files"
    folder.mkdir()
    (folder / "handler.py").write_text(HANDLER, encoding="utf-8")
    file = folder / "groups.yaml"
    file.write_text(yaml.safe_dump_all([group(name) for name in GROUPS]), encoding="utf-8")
    with up_process(folder, file, Path("--console"), Path("0")) as up:
        up.until("the hub", lambda: "the console is at" in up.said)
        for name in GROUPS:
            send(up, name)
        up.until("the troubles", lambda: "CrashLoop" in up.said and "HandlerFails" in up.said)
        yield up


def send(up: UpProcess, hub: str) -> None:
    connection = (up.state / "events.txt").read_text().strip()
    client = EventHubProducerClient.from_connection_string(connection, eventhub_name=hub)
    with client:
        client.send_batch([EventData("poison")], partition_id="0")


def typed(up: UpProcess, line: str) -> subprocess.CompletedProcess[str]:
    """A line, as somebody types it in another terminal."""
    path = f"{Path(sys.executable).parent}:{up.environment['PATH']}"
    return subprocess.run(
        ["bash", "-c", line], env={**up.environment, "PATH": path},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_each_command_that_it_prints_does_its_work(up: UpProcess) -> None:
    groups = json.loads(up.ask("get", "-o", "json").stdout)["items"]
    messages = [c["message"] for each in groups for c in each["status"]["conditions"]]
    told = "\n".join([up.said, *messages])
    commands = set(re.findall(r"`((?:tail|tidegate|kubectl) [^`]*)`", told))
    assert any(each.startswith("tail") for each in commands), told
    for each in commands:
        assert not each.startswith("kubectl"), each
        done = typed(up, each)
        assert (done.returncode, done.stderr) == (0, ""), each
    logs = [typed(up, each).stdout for each in commands if each.startswith("tail")]
    assert any("a last line of the handler" in log for log in logs)
    assert any("it never works" in log for log in logs)


def test_each_command_that_a_message_can_have_does_its_work(up: UpProcess) -> None:
    commands = LocalCommands(State(up.state), up.environment)
    crash, poison = GroupKey("default", "crash"), GroupKey("homes", "poison")
    for line, shown in (
        (commands.logs(crash, ()), "a last line of the handler"),
        (commands.describe(crash, "deployment", "crash"), "kind: ConsumerGroup"),
        (commands.describe(poison, "pod", "poison-1"), "namespace: homes"),
        (commands.rewind(poison), "partition 0: done"),
    ):
        done = typed(up, line.strip("`"))
        assert (done.returncode, done.stderr) == (0, ""), line
        assert shown in done.stdout, line


def test_the_commands_of_the_console_do_their_work(up: UpProcess) -> None:
    found = re.search(r"the console is at (\S+)", up.said)
    assert found is not None
    with urlopen(f"{found[1]}/who", timeout=10) as answer:
        shown = json.load(answer)["commands"]
    names = {"namespace": "homes", "name": "poison"}
    up.until(
        "the dead letter",
        lambda: "ValueError: poison" in typed(up, shown["letters"].format(**names)).stdout,
    )
    asked = typed(up, shown["ask"].format(command="partitions --from-ledger", **names))
    assert (asked.returncode, asked.stderr) == (0, "")
    assert "homes/poison" in asked.stdout
    replay = shown["letters"].format(**names).replace(" list ", " replay --all ")
    done = typed(up, replay)
    assert (done.returncode, done.stderr) == (0, ""), "the handler is found from there too"


def test_only_their_owner_reads_what_the_commands_need(up: UpProcess) -> None:
    files = [each for each in (up.state / "groups").rglob("*") if each.is_file()]
    assert len(files) == 3 * len(GROUPS)
    assert {each.stat().st_mode & 0o077 for each in files} == {0}
    assert {each.parent.name for each in files} == set(GROUPS)
    assert CONSUMER_GROUP.name in (up.state / "groups/homes/poison/group.yaml").read_text()


def test_it_stops_cleanly_when_nobody_reads_what_it_prints(tmp_path: Path) -> None:
    (tmp_path / "handler.py").write_text(HANDLER, encoding="utf-8")
    file = tmp_path / "group.yaml"
    file.write_text(yaml.safe_dump(group("fail")), encoding="utf-8")
    with unread_pipe() as pipe:
        result = subprocess.run(
            [sys.executable, "-m", "tidegate", "up", file, "--state", tmp_path / "state"],
            stdin=subprocess.DEVNULL, stdout=pipe, stderr=subprocess.PIPE, text=True,
            check=False, timeout=120,
        )  # fmt: skip
    assert result.returncode == 141
    assert result.stderr.count("standard output cannot be written: Broken pipe") == 1
    assert "Traceback" not in result.stderr
