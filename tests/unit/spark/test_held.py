"""A held partition is given away between batches, and tells nothing of what is not ours."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from tidegate.delivery.policy import Cadence, Policy
from tidegate.handling import NEVER, Close, HungError, Opening, Outcome
from tidegate.model import BEGINNING, Position
from tidegate.ops.observer import Observer
from tidegate.ports import StolenError
from tidegate.sources.eventhubs import NativeSource
from tidegate.spark.held import HeldPartition, HeldReader, HeldSource, Holder
from tidegate.spark.positions import Turn

OPENING = Opening("0", Position("x", 9), 5, b"{}")
TURN = Turn("0", 5, Position("x", 9), 20)
THERE = Position("y", 20)
_NOWHERE = "Endpoint=sb://nowhere;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0"


class Held:
    """A partition that is open, and what it told."""

    def __init__(self, policy: Policy = Policy()) -> None:  # noqa: B008  frozen
        self.told: list[Outcome] = []
        self.all: dict[str, HeldPartition] = {}
        holder = Holder("m-x1", Observer())
        self.one = HeldPartition(
            OPENING, self.told.append, holder, self.all, policy, time.monotonic
        )

    async def open(self) -> HeldPartition:
        await self.one.open()
        return self.one


async def test_it_is_held_from_its_opening_to_its_end() -> None:
    held = Held()
    assert held.all == {}
    one = await held.open()
    assert held.all == {"0": one}
    assert one.place.is_free
    assert one.wake_at == NEVER
    await one.close(Close.GIVEN)
    assert held.all == {}


async def test_asked_to_finish_it_takes_no_turn_and_waits_for_the_one_under_way() -> None:
    held = Held()
    one = await held.open()
    one.grant(TURN)
    assert one.wake_at == 0.0
    one.finish()
    assert not one.place.is_free
    handling = asyncio.create_task(one.handle(()))
    await asyncio.sleep(0)
    assert not handling.done()
    one.advance(THERE, 1.5, b"{1}")
    await handling
    assert held.told == [Outcome(THERE, 1.5, b"{1}")]
    assert (one.position, one.state, one.wake_at) == (THERE, b"{1}", NEVER)
    # The next owner takes it from here; no turn may begin any more.
    assert not one.place.is_free


async def test_a_turn_that_begins_before_the_wait_has_ended_is_waited_for_too() -> None:
    one = await Held().open()
    one.grant(TURN)
    handling = asyncio.create_task(one.handle(()))
    await asyncio.sleep(0)
    one.advance(THERE, None, None)
    one.grant(replace(TURN, after=THERE, to=30))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not handling.done()
    one.void()
    await handling


async def test_a_turn_in_which_nothing_came_tells_nothing() -> None:
    held = Held()
    one = await held.open()
    one.grant(TURN)
    one.advance(one.position, None, one.state)
    assert held.told == []
    assert one.place.is_free


@pytest.mark.parametrize("reason", [Close.DROPPED, Close.STOLEN, Close.FAILED])
async def test_what_is_not_ours_any_more_ends_its_turn(reason: Close) -> None:
    held = Held()
    one = await held.open()
    one.grant(TURN)
    await one.close(reason)
    assert one.turn is None
    assert held.all == {}
    assert held.told == []


async def test_its_end_does_not_end_the_next_opening() -> None:
    held = Held()
    one = await held.open()
    following = Held()
    following.one._held = held.all
    await following.open()
    await one.close(Close.DROPPED)
    assert held.all == {"0": following.one}


async def test_a_batch_that_takes_too_long_leaves_it_to_others_until_it_has_ended() -> None:
    one = await Held(Policy(timeout_s=0.01)).open()
    one.grant(TURN)
    with pytest.raises(HungError, match=r"did not end within 0\.01 s") as caught:
        await one.handle(())
    await one.close(Close.FAILED)
    returned = asyncio.Event()
    caught.value.on_return(returned.set)
    await asyncio.sleep(0)
    assert not returned.is_set()
    one.batch_over()
    assert returned.is_set()


async def test_a_batch_that_ends_just_then_is_told_to_have_returned_after_it_hung() -> None:
    one = await Held(Policy(timeout_s=0.01)).open()
    one.grant(TURN)
    with pytest.raises(HungError) as caught:
        await one.handle(())
    one.batch_over()
    said: list[str] = []
    caught.value.on_return(lambda: said.append("returned"))
    said.append("hung")
    await asyncio.sleep(0)
    assert said == ["hung", "returned"]


async def test_a_checkpoint_is_due_and_room_is_left_as_the_cadence_says() -> None:
    held = Held(Policy(checkpoint=Cadence(duplicate_budget=20)))
    one = await held.open()
    assert one.place.room == 20
    one.grant(TURN)
    one.advance(Position("y", 14), None, None)
    assert (held.told[-1].is_due, one.place.room) == (False, 15)
    one.grant(TURN)
    one.advance(THERE, None, None)
    assert (held.told[-1].is_due, one.place.room) == (True, 9)
    one.checkpointed(THERE)
    assert one.place.room == 20
    every = Held(Policy(checkpoint=Cadence(every_events=11)))
    one = await every.open()
    assert one.place.room is None
    one.grant(TURN)
    one.advance(THERE, None, None)
    assert every.told[-1].is_due


async def test_a_reader_ends_where_a_worker_of_its_epoch_was_refused() -> None:
    hub = NativeSource(_NOWHERE, "hub", "$default")
    source = HeldSource(hub, {})
    reader = source.reader("0", BEGINNING, 5)
    assert isinstance(reader, HeldReader)
    await reader.open()
    assert not source.steal("0", 4, 9)
    assert not source.steal("1", 5, 9)
    assert source.steal("0", 5, 9)
    with pytest.raises(StolenError) as caught:
        await reader.receive()
    assert caught.value.level == 9
    await reader.close()
    assert not source.steal("0", 5, 9)
