"""`tidegate run` against the real service: leases, epochs, checkpoints and state there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from azure.storage.blob import BlobServiceClient

from contract.service.place import STORAGE, ServicePlace, wanted
from support.command_group import CommandGroup, a_command_group

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SUMS = """
from seen import see
async def handle(events, context):
    for event in events:
        number = event.body_as_json()["n"]
        context.state["sum"] = context.state.get("sum", 0) + number
        see(context.partition, number)
    see("sum", context.partition, context.state["sum"])
"""
NewGroup = Callable[[str], CommandGroup]


class ServiceHub:
    """The hub of the environment, for a group; it is there already."""

    def __init__(self, place: ServicePlace) -> None:
        self.connection_string = place.connection_string

    def add_hub(self, name: str, partitions: int = 0) -> None:
        raise NotImplementedError("the hub of a real service is not made here")


@pytest.fixture
def new_group(tmp_path: Path) -> Iterator[NewGroup]:
    """Makes a group, by a transport, that reads what is sent from now on."""
    with ExitStack() as stack:

        def make(transport: str) -> CommandGroup:
            place, storage = ServicePlace(transport), wanted(STORAGE)
            group = a_command_group(
                ServiceHub(place),
                storage,
                tmp_path,
                SUMS,
                partitions=len(place.partition_ids()),
                delivery="{checkpoint: {everySeconds: 1}, batch: {maxEvents: 50}}",
                source=f"consumerGroup: {place.group}, transport: {transport}",
                hub_name=place.hub,
                start="latest",
            )
            made = stack.enter_context(group)
            service = stack.enter_context(BlobServiceClient.from_connection_string(storage))
            stack.callback(service.delete_container, made.name)
            return made

        yield make


@pytest.mark.parametrize("transport", ["native", "sdk"])
def test_clean_stops_repeat_nothing_and_what_the_state_holds_is_exact_after_a_kill(
    new_group: NewGroup, transport: str
) -> None:
    group = new_group(transport)
    group.start("a")
    for partition in range(group.partitions):
        group.wait_for_output("a", f"partition={partition} ", 60)
    group.send("0", 0, 1000)
    group.wait_until_seen(1000, 60)
    group.stop("a")
    group.send("0", 1000, 2000)
    group.start("b")
    group.wait_until_seen(2000, 60)
    assert set(group.counts().values()) == {1}
    group.kill("b")
    group.send("0", 2000, 3000)
    group.start("c")
    group.wait_until_seen(3000, 90)
    group.stop("c")
    assert "transport-sdk" not in "".join(group.output(name) for name in ("a", "b", "c"))
    sums = {words[1]: int(words[2]) for words in group.seen() if words[0] == "sum"}
    assert sums["0"] == sum(range(3000))
