"""Groups of real processes on a container whose ranges split and merge, and that are killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.container_group import ContainerGroup
from support.wait import wait_until

pytestmark = pytest.mark.slow

NewGroup = Callable[..., ContainerGroup]


def test_members_share_the_ranges_evenly_and_every_item_is_given_once(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=4)
    group.write(200)
    group.start("a", "b")
    group.wait_until_owned_by({"a", "b"}, 60)
    with group.writing():
        wait_until(lambda: group.written > 400, 60, "items to be written")
    group.wait_until_all_seen(60)
    group.stop("a", "b")
    assert group.repeats() == 0, "a clean group gives nothing twice"


def test_a_split_and_a_merge_under_write_lose_nothing_and_double_nothing(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=2)
    group.write(100)
    group.start("a", "b")
    group.wait_until_owned_by({"a", "b"}, 60)
    with group.writing():
        group.split(0)
        split = group.wait_until_owned_by({"a", "b"}, 90)
        group.split(2)
        group.wait_until_owned_by({"a", "b"}, 90)
        group.merge(0)
        merged = group.wait_until_owned_by({"a", "b"}, 90)
    assert (len(split), len(merged)) == (3, 3)
    group.wait_until_all_seen(60)
    group.stop("a", "b")
    assert group.repeats() == 0, "nobody was killed"
    said = group.output("a") + group.output("b")
    assert "its range was split: goes on as" in said
    assert "its range was merged: goes on as" in said


def test_members_that_are_killed_through_splits_lose_nothing(new_group: NewGroup) -> None:
    group = new_group(ranges=2, delivery="{checkpoint: {everySeconds: 1}}")
    group.start("a", "b")
    group.wait_until_owned_by({"a", "b"}, 60)
    with group.writing():
        group.split(0)
        group.kill("a")
        group.start("c")
        group.wait_until_owned_by({"b", "c"}, 120)
        group.split(1)
        group.kill("b")
        group.start("d")
        group.wait_until_owned_by({"c", "d"}, 120)
        group.merge(0)
        group.kill("c")
        group.wait_until_owned_by({"d"}, 120)
    group.wait_until_all_seen(90)
    group.stop("d")
    # Three kills, each with a second of items behind the last checkpoint, at the most.
    assert group.repeats() <= 3 * 100 * 3


def test_a_group_that_was_away_while_ranges_split_goes_on_where_it_stood(
    new_group: NewGroup,
) -> None:
    group = new_group(ranges=1)
    group.write(100)
    group.start("a")
    group.wait_until_all_seen(60)
    group.stop("a")
    group.split(0)
    group.write(100)
    group.split(1)
    group.write(100)
    group.start("b", "c")
    group.wait_until_owned_by({"b", "c"}, 90)
    group.wait_until_all_seen(60)
    group.stop("b", "c")
    assert group.repeats() == 0


COUNTING = """
from seen import see
async def handle(changes, context):
    for change in changes:
        home = context.state.get(change["home"], 0) + 1
        context.state[change["home"]] = home
        see("h", context.member, context.partition, context.epoch, change["n"], change.lsn)
        see("c", change["home"], home)
"""


def test_a_partition_with_a_state_stays_whole_where_the_user_says_nothing(
    new_group: NewGroup,
) -> None:
    group = new_group(COUNTING, ranges=1)
    group.write(64)
    group.start("a")
    group.wait_until_all_seen(60)
    group.split(0)
    said = "its state cannot be divided: it stays one partition"
    wait_until(lambda: said in group.output("a"), 60, "the refusal", group.outputs)
    group.write(64)
    group.wait_until_all_seen(60)
    group.stop("a")
    assert group.tiling().partitions == ("-ff",)
    assert set(counts(group).values()) == {2}
    assert group.repeats() == 0


def test_a_copied_state_goes_on_counting_in_each_part(new_group: NewGroup) -> None:
    source = "pollSeconds: 0.2\n      stateOnSplit: copy"
    group = new_group(COUNTING, ranges=1, source=source)
    group.write(64)
    group.start("a", "b")
    group.wait_until_all_seen(60)
    group.split(0)
    group.wait_until_owned_by({"a", "b"}, 90)
    group.write(64)
    group.wait_until_all_seen(60)
    group.stop("a", "b")
    assert len(group.tiling().partitions) == 2
    assert set(counts(group).values()) == {2}
    assert group.repeats() == 0


def counts(group: ContainerGroup) -> dict[str, int]:
    """How often each home was counted, as the state said last."""
    return {line[1]: int(line[2]) for line in group.lines() if line[0] == "c"}
