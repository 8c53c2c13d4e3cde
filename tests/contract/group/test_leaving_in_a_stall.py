"""A member that is asked to stop while its storage hangs takes no more events: it cannot checkpoint
them. One that is not asked continues while its leases hold.

Azurite is a process of each test's own, stopped by SIGSTOP: connections stay open, and nothing is
answered.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.azurite import Azurite, own_azurite
from support.group import Group, a_group
from support.wait import wait_until
from tidegate_hub.testing import RunningHub

pytestmark = [pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(300)]

PARTITIONS, EVERY_S = 8, 0.05
CHECKPOINT_S, RENEWAL_S = 5.0, 5.0
# Until a listing is sent, and until it counts as not answered.
FAST_S, DOUBT_S = 0.5, 1.0
# For a machine that does other things as well.
SLACK_S = 1.0
# The grace period of a pod here.
GRACE_S = 30.0


@contextmanager
def two_members(hub: RunningHub, folder: Path) -> Iterator[tuple[Group, Azurite]]:
    """`a` and `b` share the partitions, and an event comes to each all the time."""
    with (
        own_azurite(folder) as azurite,
        a_group(hub, azurite.connection_string, folder, PARTITIONS, every_s=EVERY_S) as group,
    ):
        group.start("a", "b")
        group.wait_until_read_by({"a", "b"}, 60)
        yield group, azurite


@pytest.mark.parametrize("stall_s", [8.0, 25.0, 72.0])
def test_who_is_asked_to_stop_while_storage_hangs_repeats_at_most_the_checkpoint_window(
    stall_s: float, hub_server: RunningHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with two_members(hub_server, tmp_path) as (group, azurite):
        its = list(group.readers(time.time() - 1.5).values()).count("a")
        with azurite.hanging():
            hung = time.time()
            asked = group.signal("a", signal.SIGTERM)
            has_ended = stall_s > GRACE_S and group.ends_within("a", GRACE_S)
            time.sleep(max(hung + stall_s - time.time(), 0.0))
        if stall_s <= GRACE_S:
            has_ended = group.ends_within("a", asked + GRACE_S - time.time())
        went_on_s = max(batch.at for batch in group.batches() if batch.member == "a") - asked
        group.wait_until_read_by({"b"}, 90, since=time.time())
        group.stop("b")
        duplicates = group.duplicates()
        with capsys.disabled():
            how = "ended by itself" if has_ended else "was killed"
            print(
                f"\nstorage hangs for {stall_s:.0f} s: handled for {went_on_s:.1f} s more, {how}, "
                f"{duplicates} of {its} partitions' events handled twice"
            )
        assert group.missing() == []
        assert went_on_s <= FAST_S + DOUBT_S + SLACK_S
        if has_ended:
            assert duplicates == 0
        else:
            window_s = CHECKPOINT_S + FAST_S + DOUBT_S + SLACK_S
            assert duplicates <= its * window_s / EVERY_S


def test_who_is_asked_to_stop_when_storage_has_hung_for_seconds_takes_no_more_events(
    hub_server: RunningHub, tmp_path: Path
) -> None:
    with two_members(hub_server, tmp_path) as (group, azurite):
        with azurite.hanging():
            hung = time.time()
            wait_until(lambda: time.time() > hung + 6.0, 30, "storage to have hung for seconds")
            asked = group.signal("a", signal.SIGTERM)
            wait_until(lambda: time.time() > asked + 6.0, 30, "what it would handle yet")
            seen = [batch for batch in group.batches(hung) if batch.member == "a"]
            assert any(batch.at > asked - 1.0 for batch in seen), "it read until it was asked"
            assert max(batch.at for batch in seen) - asked <= DOUBT_S + SLACK_S
        assert group.ends_within("a", GRACE_S)
        group.wait_until_read_by({"b"}, 60, since=time.time())
        group.stop("b")
        assert (group.missing(), group.duplicates()) == ([], 0)


def test_storage_that_hangs_for_eight_seconds_pauses_nobody_who_stays(
    hub_server: RunningHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with two_members(hub_server, tmp_path) as (group, azurite):
        with azurite.hanging():
            hung = time.time()
            time.sleep(8.0)
        over = time.time()
        group.wait_until_read_by({"a", "b"}, 60, since=over)
        pauses: dict[str, float] = {}
        last = dict.fromkeys(map(str, range(PARTITIONS)), hung)
        for batch in group.batches(hung):
            pauses[batch.partition] = max(
                pauses.get(batch.partition, 0.0), batch.at - last[batch.partition]
            )
            last[batch.partition] = batch.at
        group.stop("a", "b")
        with capsys.disabled():
            print(f"\nlongest pause of a partition: {max(pauses.values()):.2f} s")
        # A lease that was renewed just before has 14 s left, and the oldest one 9 s.
        assert max(pauses.values()) <= SLACK_S
        assert (group.missing(), group.duplicates()) == ([], 0)
