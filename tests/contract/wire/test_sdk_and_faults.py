"""What the official SDK makes of each fault: it retries, resumes, or says what went wrong."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest
from azure.eventhub.exceptions import EventDataSendError

from contract.wire.place import Place
from contract.wire.sdk import producer, reading, send
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


def stored(place: Place) -> int:
    return place.server.range_of(place.hub, "0")[1]


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("server_busy", {"on": "attach"}),
        ("detach_link", {"on": "attach"}),
        ("drop_connection", {"on": "send"}),
        ("drop_connection", {"on": "attach"}),
        ("drop_connection", {"on": "token"}),
        ("drop_connection", {"on": "connect"}),
        ("refuse_token", {}),
    ],
)
async def test_a_sender_tries_again_and_stores_each_event_once(
    place: Place, kind: str, parameters: dict[str, Any]
) -> None:
    hub = None if parameters.get("on") == "connect" or kind == "refuse_token" else place.hub
    place.server.inject(kind, hub=hub, times=2, **parameters)
    await send(place, "1", "2")
    assert stored(place) == 2


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("server_busy", {"on": "send", "wait_seconds": 7}, "50002. Please wait 7 seconds"),
        ("detach_link", {"on": "send"}, "unknown-error"),
        ("throttle", {"events_per_second": 0.01}, "the entity is being throttled"),
    ],
)
async def test_a_sender_is_told_of_an_event_that_is_refused_and_may_send_it_again(
    place: Place, kind: str, parameters: dict[str, Any], words: str
) -> None:
    async with producer(place) as client:
        if kind == "throttle":
            place.server.inject(kind, hub=place.hub, times=2, **parameters)
            await send(place, "1", client=client)
        else:
            place.server.inject(kind, hub=place.hub, times=1, **parameters)
        before = stored(place)
        with pytest.raises(EventDataSendError, match=words):
            await send(place, "2", client=client)
        assert stored(place) == before
        await send(place, "2", client=client)
    assert stored(place) == before + 1


@pytest.mark.parametrize("operation", ["send", "attach", "token", "connect"])
async def test_a_delay_holds_a_sender_up_and_no_more(place: Place, operation: str) -> None:
    hub = None if operation == "connect" else place.hub
    place.server.inject("delay", hub=hub, times=1, seconds=1.5, on=operation)
    started = time.monotonic()
    await send(place, "1", "2")
    assert 1.5 < time.monotonic() - started < 10
    assert stored(place) == 2


async def test_a_hub_that_stops_accepting_takes_clients_again_later(place: Place) -> None:
    async with producer(place) as connected:
        await send(place, "1", client=connected)
        place.server.inject("stop_accepting", for_seconds=1.0)
        await send(place, "2", client=connected)
        started = time.monotonic()
        await send(place, "3")
        assert time.monotonic() - started > 0.5
    assert stored(place) == 3


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("server_busy", {}),
        ("drop_connection", {}),
        ("delay", {"seconds": 1.0}),
    ],
)
async def test_a_management_request_is_tried_again(
    place: Place, kind: str, parameters: dict[str, Any]
) -> None:
    place.server.inject(kind, hub=place.hub, times=1, on="management", **parameters)
    async with producer(place) as client:
        assert (await client.get_partition_properties("0"))["is_empty"]


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("detach_link", {"on": "receive"}),
        ("detach_link", {"on": "attach"}),
        ("drop_connection", {"on": "receive"}),
        ("drop_connection", {"on": "attach"}),
        ("server_busy", {"on": "receive"}),
        ("delay", {"on": "receive", "seconds": 1.0}),
        ("delay", {"on": "attach", "seconds": 1.0}),
    ],
)
async def test_a_reader_resumes_without_loss_or_repetition(
    place: Place, kind: str, parameters: dict[str, Any]
) -> None:
    await send(place, *ONE_BY_ONE)
    async with reading(place) as reader:
        await reader.until(*ONE_BY_ONE)
        place.server.inject(kind, hub=place.hub, times=1, **parameters)
        if parameters["on"] == "attach":
            place.server.inject("detach_link", hub=place.hub)
        await send(place, "next")
        await reader.until(*ONE_BY_ONE, "next")
    assert reader.sequences == [*range(11)]
    assert not reader.errors


async def test_a_reader_that_is_hit_before_its_first_event_gets_all_of_them(place: Place) -> None:
    await send(place, *ONE_BY_ONE)
    place.server.inject("detach_link", hub=place.hub, times=2, on="receive")
    async with reading(place) as reader:
        await reader.until(*ONE_BY_ONE)


@pytest.mark.parametrize("kind", ["drop_connection", "detach_link"])
async def test_a_reader_survives_being_cut_off_again_and_again(place: Place, kind: str) -> None:
    async with reading(place) as reader:
        for count in range(1, 4):
            await send(place, str(count))
            await reader.until(*(str(number) for number in range(1, count + 1)))
            place.server.inject(kind, hub=place.hub)


async def test_a_reader_goes_on_with_what_retention_has_left(place: Place) -> None:
    await send(place, *ONE_BY_ONE)
    place.server.inject("expire_retention", hub=place.hub, before_sequence=7)
    async with reading(place) as reader:
        await reader.until("7", "8", "9")
        place.server.inject("expire_retention", hub=place.hub)
        await send(place, "10")
        await reader.until("7", "8", "9", "10")


async def test_a_reader_that_may_not_retry_is_told_by_on_error(place: Place) -> None:
    await send(place, "1")
    async with reading(place, retry_total=0) as reader:
        await reader.until("1")
        place.server.inject("detach_link", hub=place.hub, condition="amqp:link:stolen")
        await wait_until_async(lambda: reader.errors, 20, "an error")
    assert "amqp:link:stolen" in str(reader.errors[0]).replace(
        "ErrorCondition.LinkStolen", "amqp:link:stolen"
    )
