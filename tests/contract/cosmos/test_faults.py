"""Faults by the official Python SDK: a client sees what is injected, and then it is over."""

from __future__ import annotations

import contextlib
import time

import pytest
from azure.core.exceptions import AzureError
from azure.cosmos.exceptions import CosmosHttpResponseError

from contract.cosmos.clients import Container
from tidegate_cosmos.fault_json import FaultError
from tidegate_cosmos.testing import RunningCosmos


async def test_a_throttled_client_tries_again_and_succeeds(
    cosmos: RunningCosmos, events: Container
) -> None:
    fault = cosmos.inject("throttle", container="events", times=3, retry_after_ms=5)
    await events.create({"id": "a", "home": "h1"})
    assert not cosmos.fault_stands(fault)
    assert cosmos.requests()["create 429"] == 3
    assert (await events.read("a", "h1"))["id"] == "a"


async def test_a_client_that_is_throttled_for_long_gives_up_with_429(
    cosmos: RunningCosmos, events: Container
) -> None:
    cosmos.inject("throttle", container="events", retry_after_ms=1)
    with pytest.raises(CosmosHttpResponseError) as refused:
        await events.create({"id": "a", "home": "h1"})
    assert (refused.value.status_code, refused.value.sub_status) == (429, 3200)
    assert cosmos.items("home", "events") == []
    cosmos.clear_faults()
    await events.create({"id": "a", "home": "h1"})


async def test_a_budget_of_request_units_throttles_what_goes_beyond_it(
    cosmos: RunningCosmos, events: Container
) -> None:
    cosmos.inject("throttle", container="events", request_units_per_second=20)
    begun = time.monotonic()
    for number in range(8):
        await events.create({"id": str(number), "home": "h1"})
    # 8 writes cost 53.6 units: 20 are there at once, the others come in within 1.6 s.
    assert time.monotonic() - begun > 1
    assert cosmos.requests()["create 429"] > 0
    assert cosmos.charge("home", "events") == pytest.approx(8 * 6.7, rel=0.05)


async def test_a_range_that_is_gone_for_a_moment_loses_nothing(
    cosmos: RunningCosmos, events: Container
) -> None:
    await events.create({"id": "a", "home": "h1"})
    cosmos.inject("refuse", operations=["feed"], times=2, status=410, substatus=1007)
    assert (await events.feed(start_time="Beginning")).ids == ["a"]


async def test_a_lost_reply_was_carried_out(cosmos: RunningCosmos, events: Container) -> None:
    cosmos.inject("lose_reply", operations=["upsert"], times=1)
    with contextlib.suppress(AzureError):  # the SDK may try again by itself, or not
        await events.upsert({"id": "a", "home": "h1"})
    assert [item["id"] for item in cosmos.items("home", "events")] == ["a"]


async def test_a_reset_request_was_not_carried_out(
    cosmos: RunningCosmos, events: Container
) -> None:
    fault = cosmos.inject("reset", operations=["create"])
    with pytest.raises(AzureError):
        await events.create({"id": "a", "home": "h1"})
    assert cosmos.items("home", "events") == []
    assert cosmos.end_fault(fault)


async def test_a_cut_reply_is_read_again(cosmos: RunningCosmos, events: Container) -> None:
    await events.create({"id": "a", "home": "h1", "text": "x" * 2_000})
    cosmos.inject("cut_reply", operations=["read"], times=1, bytes=600)
    try:
        item = await events.read("a", "h1")
    except AzureError:
        item = await events.read("a", "h1")
    assert len(item["text"]) == 2_000


async def test_a_delay_holds_an_answer_up_and_nothing_else(
    cosmos: RunningCosmos, events: Container
) -> None:
    await events.create({"id": "a", "home": "h1"})
    fault = cosmos.inject("delay", item="a", operations=["read"], times=1, seconds=0.4)
    begun = time.monotonic()
    await events.read("a", "h1")
    assert time.monotonic() - begun >= 0.4
    assert not cosmos.fault_stands(fault), "it hits once"
    assert (await events.read("a", "h1"))["id"] == "a"


async def test_a_fault_hits_only_what_it_names(cosmos: RunningCosmos, events: Container) -> None:
    cosmos.add_container("home", "leases", "/id")
    cosmos.inject("refuse", container="leases", status=403)
    cosmos.inject("refuse", item="poison", status=403)
    cosmos.inject("refuse", client="somebody-else", status=403)
    await events.create({"id": "a", "home": "h1"})
    for container, item in ((events, "poison-1"), (events._sdk.container("home", "leases"), "a")):
        with pytest.raises(CosmosHttpResponseError) as refused:
            await container.create({"id": item, "home": "h1"})
        assert refused.value.status_code == 403


@pytest.mark.parametrize(
    ("kind", "described", "said"),
    [
        ("explode", {}, "kind: expected one of throttle"),
        ("throttle", {"container": "event"}, "container: expected one of events"),
        ("delay", {}, "parameters.seconds"),
        ("refuse", {"status": 200}, "from 400 to 599"),
        ("reset", {"operations": ["look"]}, "operations: expected some of"),
        ("reset", {"times": 0}, "times"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(
    cosmos: RunningCosmos, kind: str, described: dict[str, object], said: str
) -> None:
    cosmos.add_container("home", "events", "/home")
    with pytest.raises(FaultError, match=said.replace(".", r"\.")):
        cosmos.inject(kind, **described)  # type: ignore[arg-type]
