"""Members that are stopped while their hub cannot be reached: they leave at once, and nothing is
handled twice, because checkpoints and leases are in the ledger alone."""

from __future__ import annotations

import signal
import time
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.command_group import CommandGroup, a_command_group
from support.hub_away import WAYS, HubLine, hub_line
from support.wait import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(300)]

PARTITIONS = 6
EVENTS = 50
STOP_S = 3.0
HANDLER = """
from seen import see
def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""
NAMES = ("a", "b", "c")


@pytest.mark.parametrize("transport", ["native", "sdk"])
@pytest.mark.parametrize("way", WAYS)
def test_a_rolling_restart_without_the_hub_stops_every_member_at_once_and_repeats_nothing(
    azurite: str, tmp_path: Path, way: str, transport: str
) -> None:
    with (
        hub_line(tmp_path / "hub", f"telemetry:{PARTITIONS}") as line,
        _group(line, azurite, tmp_path, transport) as group,
    ):
        _send(group, 0)
        for name in NAMES:
            group.start(f"{name}1")
        _wait_for_owners(group, {f"{name}1" for name in NAMES})
        group.wait_until_seen(PARTITIONS * EVENTS, 60)
        line.take_away(way)
        took: list[float] = []
        # The first were at work. Those that follow have never reached the hub.
        for life in (1, 2):
            for name in NAMES:
                took.append(_stop(group, f"{name}{life}"))
                group.start(f"{name}{life + 1}")
                _wait_for_member(group, f"{name}{life + 1}")
        line.give_back()
        _send(group, EVENTS)
        group.wait_until_seen(PARTITIONS * EVENTS * 2, 90)
        took += [_stop(group, f"{name}3") for name in NAMES]
        print(f"{way}, {transport}: stops of {', '.join(f'{s:.2f}' for s in took)} s")
        assert set(group.counts().values()) == {1}
        assert max(took) < STOP_S


@pytest.mark.parametrize("transport", ["native", "sdk"])
@pytest.mark.parametrize("way", WAYS)
def test_a_member_that_is_stopped_while_its_partitions_open_leaves_at_once(
    azurite: str, tmp_path: Path, way: str, transport: str
) -> None:
    with (
        hub_line(tmp_path / "hub", f"telemetry:{PARTITIONS}") as line,
        _group(line, azurite, tmp_path, transport) as group,
    ):
        _send(group, 0)
        group.start("a")
        group.start("b")
        _wait_for_owners(group, {"a", "b"})
        group.wait_until_seen(PARTITIONS * EVENTS, 60)
        line.take_away(way)
        took = [_stop(group, "a")]
        # It raises its epoch, and then it opens what was handed over.
        _wait_for_owners(group, {"b"})
        took.append(_stop(group, "b"))
        print(f"{way}, {transport}: stops, the last while partitions open: {took} s")
        assert not any(row.lease.is_held for row in group.listing().ownerships.values())
        assert max(took) < STOP_S
        line.give_back()
        _send(group, EVENTS)
        group.start("a")
        group.wait_until_seen(PARTITIONS * EVENTS * 2, 60)
        _stop(group, "a")
        assert set(group.counts().values()) == {1}


def _group(
    line: HubLine, azurite: str, folder: Path, transport: str
) -> AbstractContextManager[CommandGroup]:
    return a_command_group(
        line.hub,  # type: ignore[arg-type]  # it has its hubs already
        azurite,
        folder,
        HANDLER,
        partitions=PARTITIONS,
        source=f"transport: {transport}",
        hub_name="telemetry",
        events=line.connection_string,
    )


def _send(group: CommandGroup, first: int) -> None:
    for partition in range(PARTITIONS):
        group.send(str(partition), first, first + EVENTS)


def _stop(group: CommandGroup, name: str) -> float:
    """Seconds until it has ended, with a clean stop."""
    asked = time.monotonic()
    group.signal(name, signal.SIGTERM)
    code = group.ended(name)
    took_s = time.monotonic() - asked
    assert code == 0, f"{name} ended with {code}:\n{group.output(name)[-3000:]}"
    return took_s


def _wait_for_owners(group: CommandGroup, names: set[str]) -> None:
    """Until each of these has its share."""

    def owners() -> Counter[str]:
        rows = group.listing().ownerships.values()
        return Counter(
            row.owner.name for row in rows if row.owner is not None and row.lease.is_held
        )

    share = PARTITIONS // len(names)
    wait_until(lambda: owners() == dict.fromkeys(names, share), 60, "even shares", owners)


def _wait_for_member(group: CommandGroup, name: str) -> None:
    """Until it takes part in the group: then its source has been asked, and does not answer."""
    wait_until(lambda: name in group.listing().members, 60, f"{name} to join", group.listing)
