"""Changes of one transaction share a place: what is told of them never splits them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tidegate.delivery.policy import Batch, Cadence, OnFailure
from tidegate.handlers.context import Context
from tidegate.sources.cosmos.change import Change
from tidegate.sources.cosmos.feeds import Feeds
from tidegate.sources.cosmos.places import Feed, Place
from tidegate.sources.cosmos.ranges import WHOLE
from unit.handlers.delivering import QUICK, Delivery

LSNS = (2, 3, 3, 3, 4)


def changes() -> Sequence[Change]:
    feeds = Feeds(Place("R=", (Feed(WHOLE, '"1"', 1),)))
    page = [Change({"id": str(n), "_rid": f"r{n}", "_lsn": at}) for n, at in enumerate(LSNS)]
    found = feeds.take(feeds.current, page, {WHOLE: '"4"'}, 4)
    assert found is not None
    return found


def counted(delivery: Delivery) -> list[tuple[int, int]]:
    """What each outcome said: up to which LSN, and how many its state had seen."""
    return [
        (outcome.position.sequence, json.loads(outcome.state or b"{}").get("seen", 0))
        for outcome in delivery.outcomes
    ]


async def test_a_state_is_never_told_with_a_part_of_a_transaction() -> None:
    """Batches of one change each, and a checkpoint is due after every one."""

    async def handle(events: list[Change], context: Context) -> None:
        context.state["seen"] = context.state.get("seen", 0) + len(events)
        context.checkpoint()

    delivery = Delivery(handle, replace(QUICK, batch=Batch(max_events=1)))
    await delivery.partition.handle(changes())
    await delivery.close()
    assert counted(delivery) == [(2, 1), (3, 4), (4, 5)]


async def test_a_handler_of_single_changes_that_fails_within_a_transaction_is_told_before_it() -> (
    None
):
    async def handle(event: Change, context: Context) -> None:
        if event["id"] == "2":
            raise ValueError("poison")
        context.state["seen"] = context.state.get("seen", 0) + 1

    policy = replace(QUICK, on_failure=OnFailure.DEAD_LETTER, attempts=1)
    delivery = Delivery(handle, policy)
    await delivery.partition.handle(changes())
    await delivery.close()
    assert {lsn for lsn, _ in counted(delivery)} <= {2, 3, 4}
    assert counted(delivery)[-1] == (4, 4)
    (letter,) = delivery.letters.kept
    assert json.loads(letter.body)["id"] == "2"


@pytest.mark.parametrize("budget", [1, 2, 3])
async def test_a_transaction_of_more_than_the_budget_of_duplicates_is_handled_all_the_same(
    budget: int,
) -> None:
    async def handle(events: list[Change], context: Context) -> None:
        context.state["seen"] = context.state.get("seen", 0) + len(events)

    policy = replace(QUICK, checkpoint=Cadence(duplicate_budget=budget))
    delivery = Delivery(handle, policy, stands=True)
    await asyncio.wait_for(delivery.partition.handle(changes()), 10)
    await delivery.close()
    assert set(counted(delivery)) <= {(2, 1), (3, 4), (4, 5)}
    assert counted(delivery)[-1] == (4, 5)


@pytest.mark.parametrize(("marked", "told"), [("1", []), ("2", []), ("3", [3]), ("0", [2])])
async def test_only_the_last_of_a_transaction_can_be_marked_by_hand(
    marked: str, told: list[int]
) -> None:
    async def handle(events: list[Change], context: Context) -> None:
        context.checkpoint(next(each for each in events if each["id"] == marked))

    delivery = Delivery(handle, replace(QUICK, checkpoint=Cadence(by_hand=True)))
    await delivery.partition.handle(changes())
    assert [outcome.position.sequence for outcome in delivery.outcomes] == told


async def test_what_is_no_change_of_the_call_cannot_be_marked() -> None:
    seen: list[Any] = []

    async def handle(events: list[Change], context: Context) -> None:
        stranger = Change({"id": "x", "_lsn": 99})
        stranger.put_at(Place("R=", (Feed(WHOLE, '"99"', 99),)))
        with pytest.raises(ValueError, match="not one of the events of this call"):
            context.checkpoint(stranger)
        seen.extend(events)

    delivery = Delivery(handle)
    await delivery.partition.handle(changes())
    assert len(seen) == len(LSNS)
