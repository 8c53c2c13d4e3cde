"""The hub goes bad while members run: links and connections end, nobody is let in for a while.
They resume by themselves, with the partitions that they had, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from support.group import Group
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow

NewGroup = Callable[[int], Group]

# Each names the consumer group, so that who sends goes on; an outage also ends what is open.
FAULTS: tuple[tuple[dict[str, Any], ...], ...] = (
    ({"kind": "detach_link"},),
    ({"kind": "drop_connection"},),
    ({"kind": "server_busy", "on": ["attach"], "for_seconds": 3}, {"kind": "detach_link"}),
    ({"kind": "drop_connection", "on": ["attach"], "times": 3}, {"kind": "drop_connection"}),
)


def test_members_go_on_after_every_fault_of_the_hub_with_the_partitions_that_they_had(
    new_group: NewGroup, hub_server: RunningHub
) -> None:
    group = new_group(8)
    group.start("a", transport="native")
    group.start("b", transport="sdk")
    # Until here they may have moved: one of the two may have started long after the other.
    settled = group.wait_until_read_by({"a", "b"}, 60)
    for faults in FAULTS:
        for fault in faults:
            hub_server.inject(hub=group.hub_name, group="$default", **fault)
        struck = time.time()
        group.wait_until_read_by({"a", "b"}, 60, since=struck + 3)
    assert group.moves(settled) == 0
    group.stop("a", "b")
    assert group.missing() == []
    assert group.duplicates() == 0
