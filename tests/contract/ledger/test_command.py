"""`tidegate ledger show|check` as a person uses it, against Azurite and a hub.

Each finding is brought about for real: by members, by an official processor, by a hand, by the hub.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from azure.eventhub import EventData, EventHubProducerClient

from contract.ledger.worlds import CONTAINER, BlobWorld, new_id, new_names, open_world
from tidegate.cli import parser
from tidegate.ledger.command import LEDGER_SECRET, run
from tidegate.ledger.layout import GroupNames, Kind, Place
from tidegate.model import Owner, Position
from tidegate.ports import Acquire, CreateOwnership, Join, WriteCheckpoint, WriteOwnership
from tidegate.settings import EVENTS_SECRET
from tidegate_hub.testing import RunningHub

PARTITIONS = 2
EVENTS = 20
HALF = Position("10", EVENTS // 2 - 1)


def send(hub: RunningHub, name: str, partition: str) -> None:
    client = EventHubProducerClient.from_connection_string(
        hub.connection_string, eventhub_name=name
    )
    with client:
        client.send_batch([EventData("x") for _ in range(EVENTS)], partition_id=partition)


@dataclass
class Desk:
    """A group with a living member `a` that owns all partitions, and the command."""

    world: BlobWorld
    hub: RunningHub
    environment: dict[str, str]
    capsys: pytest.CaptureFixture[str]

    async def do(self, action: str, *more: str, group: str = "") -> tuple[int, str, str]:
        names = self.world.names
        words = ["ledger", action, "--ledger", CONTAINER, "--group"]
        words += [group or f"{names.host}/{names.hub}/{names.group}", *more]
        self.capsys.readouterr()
        code = await asyncio.to_thread(run, parser().parse_args(words), self.environment)
        said = self.capsys.readouterr()
        return code, said.out, said.err

    async def finds(self) -> dict[str, str]:
        """What is found: where, by kind."""
        code, out, _ = await self.do("check", "--json")
        found = {finding["kind"]: finding["where"] for finding in json.loads(out)["findings"]}
        assert code == (1 if found else 0)
        return found

    async def own(self, partition: str, position: Position, state: bytes | None = None) -> None:
        """Takes a partition as member `a` does, with a checkpoint."""
        perform = self.world.ledger.perform
        etag, lease_id = str(await perform(CreateOwnership(partition))), new_id()
        await perform(Acquire(partition, lease_id, etag))
        await perform(WriteOwnership(partition, lease_id, etag, Owner("a", "1"), 1, "n"))
        await perform(WriteCheckpoint(partition, None, position, 1, "n", state=state))


@pytest.fixture
async def desk(
    azurite: str, hub_server: RunningHub, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Desk]:
    plain = new_names()
    # An event hub has no percent sign in its name.
    names = GroupNames(plain.host, plain.hub.replace("%", ""), plain.group)
    async with open_world("blob", azurite, names) as world:
        assert isinstance(world, BlobWorld)
        hub_server.add_hub(world.names.hub.lower(), PARTITIONS)
        environment = {LEDGER_SECRET: azurite, EVENTS_SECRET: hub_server.connection_string}
        yield Desk(world, hub_server, environment, capsys)


@pytest.fixture
async def group(desk: Desk) -> Desk:
    """A group in order: each partition has events, half of them handled."""
    for partition in range(PARTITIONS):
        hub = desk.world.names.hub.lower()
        await asyncio.to_thread(send, desk.hub, hub, str(partition))
        await desk.own(str(partition), HALF, b"state" if partition == 0 else None)
    await desk.world.ledger.perform(Join("a", new_id()))
    return desk


async def test_a_group_in_order_is_shown_with_owners_epochs_positions_and_lag(group: Desk) -> None:
    code, out, err = await group.do("check")
    assert (code, err) == (0, "")
    row = out.splitlines()[1].split()
    assert (row[:4], row[5:]) == (["0", "a", "leased", "1"], ["9", "10"])
    assert out.endswith("\n\nnothing is wrong\n")


async def test_without_the_hub_all_but_the_lag_is_shown_and_why(group: Desk) -> None:
    del group.environment[EVENTS_SECRET]
    code, out, err = await group.do("show")
    assert code == 0
    assert out.splitlines()[1].split()[-2:] == ["9", "unknown"]
    assert EVENTS_SECRET in err
    group.environment[EVENTS_SECRET] = "Endpoint=sb://x/;SharedAccessKey=hush"
    code, out, err = await group.do("check")
    assert code == 0
    assert "lag is unknown" in err
    assert "hush" not in err


async def test_a_group_that_is_not_there_is_an_error_and_not_an_empty_table(desk: Desk) -> None:
    code, out, err = await desk.do("show", group="nowhere/hub/$Default")
    assert (code, out) == (2, "")
    assert "is of the group nowhere/hub/$Default" in err


async def test_a_group_that_was_left_alone_is_found(group: Desk) -> None:
    for partition in range(PARTITIONS):
        await group.world.break_by_hand(str(partition), 0)
    await group.world.delete(Kind.MEMBER, "a")
    assert await group.finds() == {"nobody": "the group"}


async def test_an_ownership_that_nobody_holds_is_found(group: Desk) -> None:
    await group.world.break_by_hand("1", 0)
    assert await group.finds() == {"unheld": "ownership/1"}


async def test_an_official_processors_ownership_is_found(group: Desk) -> None:
    await group.world.break_by_hand("1", 0)
    assert await group.world.claim_by_other("1", "official-1")
    assert await group.finds() == {"foreign": "ownership/1"}


async def test_a_checkpoint_that_retention_has_passed_is_found(group: Desk) -> None:
    hub = group.world.names.hub.lower()
    group.hub.inject("expire_retention", hub=hub, partition="0", before_sequence=15)
    assert await group.finds() == {"behind-retention": "checkpoint/0"}
    _, out, _ = await group.do("check")
    assert "events 10 to 14 are gone" in out
    assert out.splitlines()[1].split()[-1] == "5", "what is left"


async def test_a_checkpoint_of_another_hub_is_found(desk: Desk) -> None:
    await desk.own("0", Position("900", 99))
    await desk.own("7", Position("-1", -1))
    await desk.world.ledger.perform(Join("a", new_id()))
    assert await desk.finds() == {
        "ahead": "checkpoint/0",
        "never-owned": "ownership/1",
        "not-in-hub": "ownership/7",
    }


async def test_a_state_that_was_left_behind_is_found_and_a_listing_would_not_show_it(
    group: Desk,
) -> None:
    await group.world.checkpoint_by_other("0", Position("12", 11))
    assert await group.finds() == {"state-behind": "checkpoint/0"}


@pytest.mark.parametrize("kind", [Kind.OWNERSHIP, Kind.CHECKPOINT, Kind.MEMBER, Kind.ROSTER])
async def test_a_corrupt_blob_is_named_wherever_it_is_and_the_rest_is_shown(
    group: Desk, kind: Kind
) -> None:
    if kind is Kind.OWNERSHIP:
        await group.world.break_by_hand("1", 0)
    await group.world.spoil(kind, {Kind.MEMBER: "b", Kind.ROSTER: ""}.get(kind, "1"))
    code, out, _ = await group.do("check", "--json")
    document: dict[str, Any] = json.loads(out)
    assert code == 1
    assert [finding["kind"] for finding in document["findings"]] == ["unreadable"]
    assert document["findings"][0]["where"].startswith(group.world.names.prefix + kind)
    assert [row["partition"] for row in document["partitions"]] == ["0", "1"]


async def test_a_corrupt_state_is_named(group: Desk) -> None:
    name = group.world.names.of(Place(Kind.CHECKPOINT, "0"))
    metadata = {"offset": "10", "sequencenumber": "9"}
    await group.world.container.get_blob_client(name).upload_blob(
        b"not ours", overwrite=True, metadata=metadata
    )
    assert await group.finds() == {"unreadable": "checkpoint/0"}
