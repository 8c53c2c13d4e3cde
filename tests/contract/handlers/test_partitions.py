"""Partitions that are added to a hub while a group runs."""

from __future__ import annotations

import time

import pytest

from contract.handlers.conftest import NewGroup
from tidegate_hub.testing import RunningHub

pytestmark = pytest.mark.slow


def test_partitions_that_are_added_are_noticed_within_15_s(
    new_group: NewGroup, hub_server: RunningHub
) -> None:
    group = new_group(
        "from seen import see\n"
        "def handle(events, context):\n"
        "    for event in events:\n"
        "        see(context.partition, event.body_as_json()['n'])\n"
    )
    group.send("0", 0, 10)
    group.start("a")
    group.wait_until_seen(10, 30)
    hub_server.grow_hub(group.hub_name, 4)
    added = time.monotonic()
    group.send("3", 0, 10)
    group.wait_until_seen(20, 60)
    # What is noticed is claimed and opened at once; a busy machine takes some seconds for that.
    assert time.monotonic() - added < 30
    group.stop("a")
    assert set(group.counts().values()) == {1}
