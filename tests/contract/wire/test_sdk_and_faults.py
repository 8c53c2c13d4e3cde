"""What the official SDK makes of each fault: it retries, resumes, or says what went wrong.

The SDK sleeps more than it works, so scenarios of one kind run side by side, each on a hub of its
own, and a test tells which of them ended how.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from azure.eventhub.exceptions import EventDataSendError

from contract.wire.place import Place
from contract.wire.sdk import producer, publish, reading, send
from support.wait import wait_until_async

# A connection that is cut leaves sockets of the SDK unclosed; they are swept up after each test.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _swept() -> Iterator[None]:
    yield
    gc.collect()


ONE_BY_ONE = [str(number) for number in range(10)]
Fault = tuple[str, dict[str, Any]]
Told = tuple[str, dict[str, Any], str]


def stored(place: Place) -> int:
    return place.server.range_of(place.hub, "0")[1]


async def side_by_side(
    new_place: Callable[[], Place],
    scenario: Callable[..., Awaitable[object]],
    *cases: tuple[Any, ...],
) -> list[object]:
    """What became of each case, on a hub of its own; an error counts as that."""
    running = [scenario(new_place(), *case) for case in cases]
    return await asyncio.gather(*running, return_exceptions=True)


RETRIED: list[Fault] = [
    ("server_busy", {"on": "attach"}),
    ("detach_link", {"on": "attach"}),
    ("drop_connection", {"on": "send"}),
    ("drop_connection", {"on": "attach"}),
    ("drop_connection", {"on": "token"}),
    ("refuse_token", {}),
]


async def test_a_sender_tries_again_and_stores_each_event_once(
    new_place: Callable[[], Place],
) -> None:
    async def scenario(place: Place, kind: str, parameters: dict[str, Any]) -> int:
        place.server.inject(kind, hub=place.hub, times=2, **parameters)
        await send(place, "1", "2")
        return stored(place)

    assert await side_by_side(new_place, scenario, *RETRIED) == [2] * len(RETRIED)


async def test_a_sender_that_is_dropped_when_it_connects_tries_again(place: Place) -> None:
    place.server.inject("drop_connection", times=2, on="connect")
    await send(place, "1")
    assert stored(place) == 1


TOLD: list[Told] = [
    ("server_busy", {"on": "send", "wait_seconds": 7}, "50002. Please wait 7 seconds"),
    ("detach_link", {"on": "send"}, "unknown-error"),
    ("throttle", {"events_per_second": 0.01}, "the entity is being throttled"),
]


async def test_a_sender_is_told_of_an_event_that_is_refused_and_may_send_it_again(
    new_place: Callable[[], Place],
) -> None:
    async def scenario(place: Place, kind: str, parameters: dict[str, Any], words: str) -> int:
        async with producer(place) as client:
            await send(place, "1", client=client)
            # The SDK may try again by itself, so the fault stays until it has given up.
            fault = place.server.inject(kind, hub=place.hub, for_seconds=600, **parameters)
            if kind == "throttle":
                await send(place, "allowed", client=client)
            before = stored(place)
            with pytest.raises(EventDataSendError, match=words):
                await send(place, "2", client=client)
            assert stored(place) == before
            place.server.end_fault(fault)
            await send(place, "2", client=client)
        return stored(place) - before

    assert await side_by_side(new_place, scenario, *TOLD) == [1] * len(TOLD)


async def test_a_delay_holds_a_sender_up_and_no_more(new_place: Callable[[], Place]) -> None:
    async def scenario(place: Place, operation: str) -> int:
        place.server.inject("delay", hub=place.hub, times=1, seconds=1.5, on=operation)
        started = time.monotonic()
        await send(place, "1", "2")
        assert 1.5 < time.monotonic() - started < 40
        return stored(place)

    assert await side_by_side(new_place, scenario, ("send",), ("attach",), ("token",)) == [2] * 3


async def test_a_delay_at_connecting_holds_a_sender_up(place: Place) -> None:
    place.server.inject("delay", times=1, seconds=1.5, on="connect")
    started = time.monotonic()
    await send(place, "1")
    assert 1.5 < time.monotonic() - started < 40
    assert stored(place) == 1


async def test_a_hub_that_stops_accepting_takes_clients_again_later(place: Place) -> None:
    async with producer(place) as connected:
        await send(place, "1", client=connected)
        started = time.monotonic()
        place.server.inject("stop_accepting", for_seconds=1.0)
        await send(place, "2", client=connected)
        await send(place, "3")
        assert time.monotonic() - started >= 1.0
    assert stored(place) == 3


ASKED: list[Fault] = [
    ("server_busy", {}),
    ("drop_connection", {}),
    ("delay", {"seconds": 1.0}),
]


async def test_a_management_request_is_tried_again(new_place: Callable[[], Place]) -> None:
    async def scenario(place: Place, kind: str, parameters: dict[str, Any]) -> bool:
        place.server.inject(kind, hub=place.hub, times=1, on="management", **parameters)
        async with producer(place) as client:
            return bool((await client.get_partition_properties("0"))["is_empty"])

    assert await side_by_side(new_place, scenario, *ASKED) == [True] * len(ASKED)


RESUMED: list[Fault] = [
    ("detach_link", {"on": "receive"}),
    ("detach_link", {"on": "attach"}),
    ("drop_connection", {"on": "receive"}),
    ("drop_connection", {"on": "attach"}),
    ("server_busy", {"on": "receive"}),
    ("delay", {"on": "receive", "seconds": 1.0}),
    ("delay", {"on": "attach", "seconds": 1.0}),
]


async def test_a_reader_resumes_without_loss_or_repetition(new_place: Callable[[], Place]) -> None:
    async def scenario(place: Place, kind: str, parameters: dict[str, Any]) -> object:
        publish(place, *ONE_BY_ONE)
        async with reading(place) as reader:
            await reader.until(*ONE_BY_ONE)
            place.server.inject(kind, hub=place.hub, group="$Default", times=1, **parameters)
            if parameters["on"] == "attach":
                place.server.inject("detach_link", hub=place.hub)
            publish(place, "next")
            await reader.until(*ONE_BY_ONE, "next")
        return reader.sequences, reader.errors

    found = await side_by_side(new_place, scenario, *RESUMED)
    assert found == [([*range(11)], [])] * len(RESUMED)


async def test_a_reader_that_is_hit_before_its_first_event_gets_all_of_them(place: Place) -> None:
    publish(place, *ONE_BY_ONE)
    place.server.inject("detach_link", hub=place.hub, times=2, on="receive")
    async with reading(place) as reader:
        await reader.until(*ONE_BY_ONE)


async def test_a_reader_survives_being_cut_off_again_and_again(
    new_place: Callable[[], Place],
) -> None:
    async def scenario(place: Place, kind: str) -> int:
        async with reading(place) as reader:
            for count in range(1, 4):
                publish(place, str(count))
                await reader.until(*(str(number) for number in range(1, count + 1)))
                place.server.inject(kind, hub=place.hub)
        return len(reader.bodies)

    cases = [("drop_connection",), ("detach_link",)]
    assert await side_by_side(new_place, scenario, *cases) == [3, 3]


async def test_a_reader_goes_on_with_what_retention_has_left(place: Place) -> None:
    publish(place, *ONE_BY_ONE)
    place.server.inject("expire_retention", hub=place.hub, before_sequence=7)
    async with reading(place) as reader:
        await reader.until("7", "8", "9")
        place.server.inject("expire_retention", hub=place.hub)
        publish(place, "10")
        await reader.until("7", "8", "9", "10")


async def test_a_reader_that_may_not_retry_is_told_by_on_error(place: Place) -> None:
    publish(place, "1")
    async with reading(place, retry_total=0) as reader:
        await reader.until("1")
        place.server.inject("detach_link", hub=place.hub, condition="amqp:link:stolen")
        await wait_until_async(lambda: reader.errors, 20, "an error")
    assert "amqp:link:stolen" in str(reader.errors[0]).replace(
        "ErrorCondition.LinkStolen", "amqp:link:stolen"
    )
