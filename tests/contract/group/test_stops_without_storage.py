"""A member that is stopped while its storage does not answer goes on trying for its grace period,
and no longer."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.command_group import CommandGroup, a_command_group
from support.fault_proxy import FaultProxy, Hold
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

EVENTS, MANY = 100, 100_000
GRACE_S, BEYOND_S = 4.0, 5.0
HANDLER = """
from seen import see
def handle(events, context):
    for event in events:
        see(context.partition, event.body_as_json()["n"])
"""


@contextmanager
def _group(hub: RunningHub, azurite: str, folder: Path, through: str) -> Iterator[CommandGroup]:
    with a_command_group(hub, azurite, folder, HANDLER, partitions=2, storage=through) as group:
        group.start("a", "--grace-s", str(GRACE_S))
        group.wait_for_output("a", " reading ", 60)
        for partition in ("0", "1"):
            group.send(partition, 0, EVENTS)
        group.wait_until_seen(2 * EVENTS, 60)
        yield group


def test_storage_that_does_not_answer_holds_up_a_stop_for_the_grace_period_at_most(
    hub_server: RunningHub, azurite: str, tmp_path: Path, bad_storage: FaultProxy, through: str
) -> None:
    with _group(hub_server, azurite, tmp_path, through) as group:
        bad_storage.add(Hold(for_s=600))
        asked = time.monotonic()
        group.signal("a", signal.SIGTERM)
        assert group.ended("a") == 130
        took_s = time.monotonic() - asked
        print(f"stop while storage does not answer: {took_s:.2f} s")
        assert GRACE_S - 0.1 < took_s < GRACE_S + BEYOND_S
        assert "Partitions 0, 1 were not handed over" in group.output("a")


def test_storage_that_answers_again_within_the_grace_period_saves_duplicates(
    hub_server: RunningHub, azurite: str, tmp_path: Path, bad_storage: FaultProxy, through: str
) -> None:
    with _group(hub_server, azurite, tmp_path, through) as group:
        hold = bad_storage.add(Hold(times=MANY, for_s=600))
        group.signal("a", signal.SIGTERM)
        group.wait_for_output("a", "Ask again to end at once", 30)
        wait_until(lambda: hold.times != MANY, 30, "a request to be held")
        bad_storage.clear()
        assert group.ended("a") == 0, group.output("a")
        group.start("b")
        for partition in ("0", "1"):
            group.send(partition, EVENTS, EVENTS + 10)
        group.wait_until_seen(2 * EVENTS + 20, 60)
        group.stop("b")
        assert set(group.counts().values()) == {1}
