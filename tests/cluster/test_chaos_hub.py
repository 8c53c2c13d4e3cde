"""What the hub and its data do to a group: links that are detached, no way to it, connections that
fall silent, tokens refused, an event that cannot be handled, a hot partition, retention; with every
event counted.
"""

from __future__ import annotations

import time

import pytest

from support.cluster_api import until
from support.cluster_chaos import NAME, PODS, POISON, Chaos
from support.cluster_counting import DUPLICATES_AT_MOST
from support.handled_log import Given

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CALM_S, AWAY_S = 3.0, 20.0
# After a hub is back: the longest wait before it is tried again, and attaching.
BACK_S = 12.0
# Until a connection on which nothing comes is given up: the idle time that both have agreed on.
SILENT_S = 75.0
READERS = {"hub": NAME, "group": "$Default"}
HOT, HOT_EVENTS, PART = "2", 20_000, 500


def test_links_that_are_detached_are_attached_again_where_they_were(chaos: Chaos) -> None:
    with chaos.struck("link-detach") as seen:
        chaos.inject("detach_link", **READERS)
        chaos.until_read_on()
    assert not seen.changes and seen.longest_pause_s < CALM_S


def test_a_hub_that_cannot_be_reached_is_read_on_when_it_is_back(chaos: Chaos) -> None:
    with chaos.struck("hub-away", away_s=AWAY_S) as seen:
        chaos.on_way("hub", "refuse")
        chaos.cut("hub")
        end = time.monotonic() + AWAY_S
        until(lambda: time.monotonic() >= end, 60, "the hub to be back")
        chaos.clear("hub")
        chaos.until_settled()
    assert not seen.moves and seen.longest_pause_s < AWAY_S + BACK_S


def test_a_connection_on_which_nothing_comes_any_more_is_given_up(chaos: Chaos) -> None:
    with chaos.struck("hub-silent", duplicates=DUPLICATES_AT_MOST) as seen:
        chaos.freeze("hub")
        chaos.until_read_on(2 * SILENT_S)
        chaos.until_settled()
    assert seen.longest_pause_s < SILENT_S


def test_tokens_that_are_refused_for_a_while_are_offered_again(chaos: Chaos) -> None:
    with chaos.struck("token-refused", refused_s=AWAY_S) as seen:
        chaos.inject("refuse_token", for_seconds=AWAY_S)
        chaos.inject("drop_connection", **READERS)
        end = time.monotonic() + AWAY_S
        until(lambda: time.monotonic() >= end, 60, "tokens to be taken again")
        chaos.until_read_on()
        chaos.until_settled()
    assert not seen.moves and seen.longest_pause_s < AWAY_S + BACK_S


def test_an_event_that_cannot_be_handled_is_put_aside_and_the_partition_goes_on(
    chaos: Chaos,
) -> None:
    with chaos.struck("poison") as seen:
        chaos.send("5", POISON)
        until(lambda: letters(chaos) == 1, 60, "the letter")
        chaos.until_all_handled()
    assert not seen.changes and seen.longest_pause_s < 2 * CALM_S


def letters(chaos: Chaos) -> int:
    return len(list(chaos.container.list_blob_names(name_starts_with="deadletters/")))


def test_a_hot_partition_holds_up_no_other(chaos: Chaos) -> None:
    with chaos.struck("hot-partition", events=HOT_EVENTS) as seen:
        for _ in range(HOT_EVENTS // PART):
            chaos.send(HOT, b"hot", PART)
        chaos.until_all_handled()
        chaos.until_settled()
    assert seen.longest_pause_s < 2 * CALM_S


def test_retention_that_takes_what_was_handled_takes_nothing_from_anybody(chaos: Chaos) -> None:
    with chaos.struck("retention-behind") as seen:
        for name in chaos.ends():
            chaos.expire(name, chaos.log.through(name) + 1)
        chaos.until_read_on()
    assert not seen.changes and seen.longest_pause_s < CALM_S


def test_retention_that_takes_what_nobody_has_handled_is_said_with_its_numbers(
    chaos: Chaos,
) -> None:
    partition, gone = "7", 20
    with chaos.struck("retention-ahead", duplicates=0, gone=gone) as seen:
        chaos.group.patch(paused=True)
        chaos.group.until("nobody to read", lambda: not chaos.group.pods(), 90)
        chaos.read_on()
        through = chaos.log.through(partition)
        until(lambda: chaos.ends()[partition] > through + 2 * gone, 60, "more events")
        chaos.expire(partition, through + 1 + gone)
        chaos.group.patch(paused=False)
        chaos.group.until("the loss to be told", lambda: chaos.group.is_so("RetentionLoss"), 90)
        told = chaos.group.condition("RetentionLoss")["message"]
        until(lambda: is_gap(chaos, partition, through, gone), 30, "it to go on after the gap")
        fill(chaos, partition, through, gone)
        chaos.until_settled(PODS)
    assert partition in told, told
    assert seen.duplicates == 0


def is_gap(chaos: Chaos, partition: str, through: int, gone: int) -> bool:
    """Whether exactly what is gone was passed over."""
    chaos.read_on()
    new = [batch for batch in chaos.log.batches if batch.partition == partition]
    return new[-1].first > through and chaos.log.lost() == gone


def fill(chaos: Chaos, partition: str, through: int, gone: int) -> None:
    """What retention took is nobody's debt any more: it counts as its last owner's."""
    last = next(
        batch
        for batch in reversed(chaos.log.batches)
        if batch.partition == partition and batch.last == through
    )
    chaos.log.take(
        Given(last.at + 0.001, last.who, partition, last.epoch, through + 1, through + gone)
    )
    assert chaos.log.lost() == 0
