"""The kubectl plugin at a group's ledger, with the Secrets of the group: rewinds, dead letters."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.handlers.conftest import NewGroup
from support.command_group import CommandGroup
from support.plugin_api import PluginApi, plugin_api
from support.wait import wait_until
from tidegate_hub.testing import RunningHub
from tidegate_operator.plugin.cli import carried_out

NAMESPACE = "homes"
HANDLER = """
from seen import see
def handle_event(event, context):
    number = event.body_as_json()["n"]
    if number == 3 and context.member != "replay":
        raise ValueError("3 is poison")
    see(context.partition, number)
"""
DELIVERY = "{onFailure: deadLetter, attempts: 2, backoff: {firstSeconds: 0.01}}"


@pytest.fixture
def api() -> Iterator[PluginApi]:
    with plugin_api() as kept:
        yield kept


@pytest.fixture
def group(
    new_group: NewGroup, api: PluginApi, hub_server: RunningHub, azurite: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> CommandGroup:  # fmt: skip
    """A group that runs as processes, and whose resource, Secret and ConfigMap an API has."""
    found = new_group(HANDLER, delivery=DELIVERY)
    text = found.file.read_text("utf-8").replace("handler.py:handle", "handler.py:handle_event")
    found.file.write_text(text, encoding="utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    document["metadata"] |= {"namespace": NAMESPACE, "generation": 1, "uid": "u-1"}
    spec = document["spec"]
    spec["source"]["eventHubs"]["connectionString"] = {"secret": "servers", "key": "events"}
    spec["ledger"]["connectionString"] = {"secret": "servers", "key": "storage"}
    spec["handler"]["configMap"] = "code"
    api.put_group(document)
    servers = {"events": hub_server.connection_string, "storage": azurite}
    put(api, "secrets", "servers", {
        key: base64.b64encode(value.encode()).decode() for key, value in servers.items()
    })  # fmt: skip
    files = {name: (found.folder / name).read_text("utf-8") for name in ("handler.py", "seen.py")}
    put(api, "configmaps", "code", files)
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path, NAMESPACE)))
    return found


def put(api: PluginApi, plural: str, name: str, data: dict[str, str]) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/{plural}/{name}"
    api.put(path, {"metadata": {"name": name, "namespace": NAMESPACE}, "data": data})


def _owners(group: CommandGroup) -> dict[str, str]:
    rows = group.listing().ownerships.values()
    return {row.partition: row.owner.name for row in rows if row.owner and row.lease.is_held}


@pytest.mark.slow
def test_partitions_dead_letters_and_rewinds_are_those_of_the_groups_own_ledger(
    group: CommandGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    name = group.name
    group.send("1", 0, 20)
    group.start("a")
    group.wait_until_seen(19, 60)
    wait_until(lambda: _owners(group) == {"0": "a", "1": "a"}, 30, "both to be owned")

    assert carried_out(["partitions", name, "--from-ledger", "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["partitionStates"]
    assert [(row["partition"], row["owner"]) for row in rows] == [("0", "a"), ("1", "a")]

    assert carried_out(["deadletters", "list", name, "-o", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["error"]) == ("1/3", "ValueError: 3 is poison")
    assert carried_out(["deadletters", "show", name, "1/3"]) == 0
    assert json.loads(capsys.readouterr().out)["member"] == "a"
    replay = ["deadletters", "replay", name, "1/3"]
    assert carried_out([*replay, "--keep", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"id": "1/3", "done": True}
    assert carried_out(replay) == 0
    assert capsys.readouterr().out == "1/3: done\n"

    rewind = ["rewind", name, "--to", "earliest"]
    assert carried_out([*rewind, "--partition", "0", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "partitions": [{"partition": "0", "afterSequenceNumber": -1, "done": True}]
    }
    assert carried_out([*rewind, "--partition", "1"]) == 0
    assert "partition 1: done" in capsys.readouterr().out
    wait_until(
        lambda: group.counts()["1", 19] == 2, 30, "the last event to be read again",
        lambda: group.output("a"),
    )  # fmt: skip
    group.stop("a")
