"""A member whose disk is full reads on, loses nothing, says so, and ends as it would have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_group import CommandGroup, a_command_group
from support.small_disk import SmallDisk
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

PARTITIONS = 4
HANDLER = """
from seen import see

def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""


@pytest.fixture
def disk(tmp_path: Path) -> SmallDisk:
    return SmallDisk(tmp_path)


@pytest.fixture
def group(hub_server: RunningHub, azurite: str, tmp_path: Path) -> Iterator[CommandGroup]:
    with a_command_group(
        hub_server, azurite, tmp_path, HANDLER, partitions=PARTITIONS, start="earliest"
    ) as group:
        yield group


class Sender:
    """Events to every partition, and what is to be seen of them."""

    def __init__(self, group: CommandGroup) -> None:
        self._group = group
        self._sent = 0

    def send_more(self) -> None:
        for partition in range(PARTITIONS):
            self._group.send(str(partition), self._sent, self._sent + 50)
        self._sent += 50
        self._group.wait_until_seen(PARTITIONS * self._sent, 60)

    def assert_each_was_seen_once(self) -> None:
        counts = self._group.counts()
        assert len(counts) == PARTITIONS * self._sent and set(counts.values()) == {1}


def owned(group: CommandGroup, name: str) -> int:
    rows = group.listing().ownerships.values()
    return sum(row.owner is not None and row.owner.name == name for row in rows)


def test_a_member_whose_disk_fills_up_hands_over_and_takes_back_and_ends_cleanly(
    group: CommandGroup, disk: SmallDisk
) -> None:
    sender = Sender(group)
    group.start("a", "--scratch", str(disk.place / "leases"), within=disk.within(log=True))
    sender.send_more()
    inside = disk.seen_by(group.pid("a"))
    assert len((inside / "leases").read_text()) > 100
    with disk.full(group.pid("a")):
        before = (inside / "leases").read_text()
        group.start("b")
        wait_until(lambda: owned(group, "b") == PARTITIONS / 2, 60, "b to have its half")
        sender.send_more()
        group.stop("b")
        wait_until(lambda: owned(group, "a") == PARTITIONS, 60, "a to have all again")
        sender.send_more()
        assert (inside / "leases").read_text() == before, "it could not be written"
    log = inside / "log"
    wait_until(lambda: "the scratch file is written again" in log.read_text(), 30, "that it is")
    assert "lines of the log are lost: it could not be written" in log.read_text()
    assert (inside / "leases").read_text() != before
    disk.fill(group.pid("a"))
    group.stop("a")
    sender.assert_each_was_seen_once()


def test_a_member_begins_on_a_full_disk_and_says_what_that_means(
    group: CommandGroup, disk: SmallDisk
) -> None:
    sender = Sender(group)
    group.start("a", "--scratch", str(disk.place / "leases"), within=disk.within(is_full=True))
    sender.send_more()
    said = group.output("a")
    assert "leases cannot be written (No space left on device). Reading goes on" in said
    assert said.count("cannot be written") == 1, "once, and not at every change"
    disk.make_room(group.pid("a"))
    inside = disk.seen_by(group.pid("a"))
    wait_until((inside / "leases").exists, 30, "the file to be written")
    sender.send_more()
    group.stop("a")
    sender.assert_each_was_seen_once()
