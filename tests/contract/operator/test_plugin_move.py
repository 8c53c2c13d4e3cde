"""`kubectl consumergroup move` in groups whose status has no room for all that they own.

The owner is read from a ledger in Azurite; the API server is one on loopback.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.fault_proxy import Answer, fault_proxy
from support.plugin_api import PluginApi, group_path, plugin_api
from tidegate.commands.wiring import Setup, new_ledger
from tidegate.ledger.access import BlobSettings
from tidegate.model import Owner, Ownership
from tidegate.ports import Acquire, Change, CreateOwnership, Ledger, ReadOwnership, WriteOwnership
from tidegate_operator.plugin.cli import carried_out
from tidegate_operator.secrets import Sight
from tidegate_operator.spec import read_spec
from unit.operator.plugin_groups import NAME, NAMESPACE, group, member

Document = dict[str, Any]
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/servers"
EVENTS = "Endpoint=sb://hub.example/;SharedAccessKeyName=k;SharedAccessKey=aGVsbG8="
PARTITIONS = 200
MOVED = "150"


def large(members: list[str]) -> Document:
    """A group of which the status tells no partition, and only so many members."""
    found = group(spec={"ledger": {**group()["spec"]["ledger"], "create": True}})
    found["status"].update(partitions=PARTITIONS, members=[member(name) for name in members])
    del found["status"]["partitionStates"]
    return found


@dataclass
class Place:
    """The group, its API server and its ledger."""

    api: PluginApi
    setup: Setup

    def move(self, *words: str) -> int:
        return carried_out(["move", NAME, MOVED, *words])

    @property
    def pins(self) -> Document:
        found: Document = self.api.objects[group_path(NAMESPACE, NAME)]["spec"].get("pins", {})
        return found

    def put_secret(self, storage: str) -> None:
        values = {"events": EVENTS, "storage": storage}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in values.items()}
        meta = {"name": "servers", "namespace": NAMESPACE}
        self.api.put(SECRET, {"metadata": meta, "data": data})

    def own(self, owner: str) -> None:
        """A member of this name owns the partition from now on."""
        asyncio.run(self._own(owner))

    async def _own(self, owner: str) -> None:
        ledger = new_ledger(self.setup)
        seen = await ledger.perform(ReadOwnership(MOVED))
        if seen is None:
            await ledger.perform(CreateOwnership(MOVED))
            seen = await ledger.perform(ReadOwnership(MOVED))
        assert isinstance(seen, Ownership)
        await self._lease(ledger, seen)
        epoch = seen.epoch + 1
        life = Owner(owner, "life")
        await ledger.perform(WriteOwnership(MOVED, LEASES[epoch], seen.etag, life, epoch, "n"))
        await ledger.close()

    async def _lease(self, ledger: Ledger, seen: Ownership) -> None:
        if seen.epoch:
            old, new = LEASES[seen.epoch], LEASES[seen.epoch + 1]
            await ledger.perform(Change(MOVED, old, new, seen.etag))
        else:
            await ledger.perform(Acquire(MOVED, LEASES[1], seen.etag))


# The lease of each epoch.
LEASES = [str(uuid4()) for _ in range(4)]


@pytest.fixture
def place(azurite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with plugin_api() as api:
        document = large(["home-a", "home-b"])
        document["spec"]["ledger"]["container"] = f"c-{uuid4().hex[:12]}"
        api.put_group(document)
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path, NAMESPACE)))
        known = {("servers", "events"): EVENTS, ("servers", "storage"): azurite}
        setup = Sight(known, {"servers": "1"}, "", ()).setup_of(NAME, read_spec(document))
        place = Place(api, setup)
        place.put_secret(azurite)
        place.own("home-a")
        yield place


def test_a_move_in_a_group_of_200_partitions_ends_when_the_member_owns_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.api.before_patch = lambda: place.own("home-b")
    assert place.move("--to", "home-b") == 0
    assert place.pins == {MOVED: "home-b"}
    assert capsys.readouterr().out.splitlines() == [
        f"{NAMESPACE}/{NAME}: partition {MOVED} pinned to home-b",
        f"partition {MOVED} is with home-b",
    ]


def test_one_that_takes_too_long_says_who_has_it_by_the_ledger(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.move("--to", "home-b", "--limit-s", "0.1") == 1
    assert "still with home-a after 0.1 s" in capsys.readouterr().err
    assert place.pins == {MOVED: "home-b"}


def test_storage_that_answers_no_more_is_said_beside_who_had_it(
    place: Place, capsys: pytest.CaptureFixture[str], azurite: str
) -> None:
    port = BlobSettings("any", connection_string=azurite).host.rpartition(":")[2]
    with fault_proxy(int(port)) as proxy:
        place.put_secret(azurite.replace(f":{port}/", f":{proxy.port}/"))

        def break_down() -> None:
            proxy.add(Answer(503))

        place.api.before_patch = break_down
        assert place.move("--to", "home-b", "--limit-s", "0.1") == 1
    said = capsys.readouterr().err
    assert "was with home-a when that was last seen, after 0.1 s: storage is busy" in said
    assert "The pin stays" in said
