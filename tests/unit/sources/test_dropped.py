"""Drops of a connection that mean that this transport is not understood, in virtual time."""

from __future__ import annotations

import asyncio
import gc
from itertools import pairwise
from uuid import UUID

import pytest

from support.virtual_time import now, run
from tidegate.ports import NotUnderstoodError, SourceError
from tidegate.sources.native.dropped import DroppedExchanges
from tidegate.sources.native.refusals import DroppedError
from tidegate.sources.native.requests import put_token, read_hub, read_partition
from tidegate.sources.native.sas import signed_token
from tidegate_amqp.sections import DATA, SEQUENCE, VALUE, sections

EVERY_S = 2.0
LIMIT_S = 60.0
ATTACH = "the attach to partition 3"


class Service:
    """A service that answers the SDK or does not, and counts its questions."""

    def __init__(self, *, answers: bool) -> None:
        self.answers = answers
        self.asked = 0

    async def reads(self) -> None:
        self.asked += 1
        await asyncio.sleep(1)
        if not self.answers:
            raise SourceError("nobody is there")


async def drop(exchanges: DroppedExchanges, name: str = ATTACH) -> None:
    """One try that the service ends."""
    with exchanges.exchange(name):
        await asyncio.sleep(0.1)
        raise DroppedError("the connection was lost")


async def drops_until(exchanges: DroppedExchanges, seconds: float) -> float | None:
    """The seconds until drops meant that this transport is not understood; None if never."""
    begun = now()
    while now() - begun < seconds:
        try:
            await drop(exchanges)
        except NotUnderstoodError:
            return now() - begun
        except DroppedError:
            await asyncio.sleep(EVERY_S)
    return None


def test_an_sdk_that_fails_in_any_way_is_asked_with_a_pause_and_its_error_is_told() -> None:
    async def play() -> None:
        asked_at: list[float] = []
        told: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: told.append(context.get("exception")))

        async def fails() -> None:
            asked_at.append(now())
            raise ValueError("no such certificate")

        exchanges = DroppedExchanges(fails)
        assert await drops_until(exchanges, LIMIT_S) is None
        await exchanges.close()
        gc.collect()
        assert asked_at
        assert all(after - before >= 5.0 for before, after in pairwise(asked_at))
        assert told and all(isinstance(each, ValueError) for each in told)

    run(play())


def test_drops_while_the_sdk_gets_answers_are_not_understood_in_time() -> None:
    async def play() -> None:
        service = Service(answers=True)
        found_s = await drops_until(DroppedExchanges(service.reads), LIMIT_S)
        assert found_s is not None
        assert 10 <= found_s <= 20

    run(play())


def test_drops_while_the_sdk_gets_no_answer_may_pass() -> None:
    async def play() -> None:
        service = Service(answers=False)
        assert await drops_until(DroppedExchanges(service.reads), LIMIT_S) is None
        assert 5 <= service.asked <= 12

    run(play())


def test_an_answer_that_the_sdk_got_before_the_service_went_away_counts_no_more() -> None:
    async def play() -> None:
        service = Service(answers=True)
        exchanges = DroppedExchanges(service.reads)
        assert await drops_until(exchanges, 8) is None
        service.answers = False
        await asyncio.sleep(10)
        with pytest.raises(DroppedError):
            await drop(exchanges, "another exchange")
        with pytest.raises(DroppedError):
            await drop(exchanges, "another exchange")
        await asyncio.sleep(2)
        assert await drops_until(exchanges, LIMIT_S) is None

    run(play())


def test_an_exchange_that_succeeds_now_and_then_is_never_in_doubt_for_long() -> None:
    async def play() -> None:
        exchanges = DroppedExchanges(Service(answers=True).reads)
        for _ in range(10):
            assert await drops_until(exchanges, 8) is None
            with exchanges.exchange(ATTACH):
                pass

    run(play())


def test_without_the_sdk_a_drop_may_always_pass() -> None:
    async def play() -> None:
        assert await drops_until(DroppedExchanges(), LIMIT_S) is None

    run(play())


def test_who_closes_waits_for_no_answer() -> None:
    async def play() -> None:
        service = Service(answers=True)
        exchanges = DroppedExchanges(service.reads)
        for _ in range(2):
            with pytest.raises(DroppedError):
                await drop(exchanges)
        await asyncio.sleep(0.5)
        assert service.asked == 1
        await exchanges.close()
        assert len(asyncio.all_tasks()) == 1

    run(play())


def test_every_request_has_one_body_section() -> None:
    token = signed_token("sb://ns/hub", "name", "key", 0.0)
    for request in (
        put_token(UUID(int=1), "me", "sb://ns/hub", token),
        read_hub(UUID(int=1), "me", "hub", token),
        read_partition(UUID(int=1), "me", "hub", "0", token),
    ):
        found = [section.code for section in sections(request)]
        assert sum(code in (DATA, SEQUENCE, VALUE) for code in found) == 1
