"""/metrics, /healthz and /readyz by a real client, and an address that cannot be had."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from support.late_client import is_closed_too
from support.ops_facts import handled, listing
from tidegate.member.messages import Answered
from tidegate.ops import observer as facts
from tidegate.ops.around import Ops, OpsSettings, around
from tidegate.ops.serving import Address, ServingError, listen
from tidegate.ports import List
from tidegate.settings import SettingsError

LOOPBACK = Address("127.0.0.1", 0)


@pytest.fixture
async def ops() -> AsyncIterator[Ops]:
    """What runs around a member, on a free port."""
    settings = OpsSettings(address=LOOPBACK, has_view=False)
    async with around(
        settings, member="pod-1", group="home", hub="telemetry", secrets=(), environment={}
    ) as ops:
        yield ops


async def get(ops: Ops, path: str, **headers: str) -> tuple[int, str, str]:
    """Status, content type and text."""
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{ops.url}{path}", headers=headers) as answer,
    ):
        return answer.status, answer.headers["Content-Type"], await answer.text()


def join(ops: Ops) -> None:
    """The ledger shows us."""
    now = time.monotonic()
    ops.watch(Answered(now, now - 0.01, None, List(), listing({"0": "pod-1"}, ("pod-1",))))


async def test_metrics_are_served_in_the_form_that_is_asked_for(ops: Ops) -> None:
    ops.observer.hear(handled("0", 99, at=time.monotonic()))
    status, kind, text = await get(ops, "/metrics")
    assert (status, kind.partition(";")[0]) == (200, "text/plain")
    names = {family.name for family in text_string_to_metric_families(text)}
    assert "tidegate_events_handled" in names
    assert "process_cpu_seconds" in names
    accept = "application/openmetrics-text; version=1.0.0"
    status, kind, text = await get(ops, "/metrics", Accept=accept)
    assert kind.startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


async def test_readiness_begins_with_joining_and_ends_with_stopping(ops: Ops) -> None:
    status, _, text = await get(ops, "/readyz")
    assert (status, text) == (503, "the ledger has not been read yet\n")
    join(ops)
    status, _, text = await get(ops, "/readyz")
    assert status == 200
    ops.observer.hear(facts.Stopping(time.monotonic()))
    status, _, text = await get(ops, "/readyz")
    assert (status, text) == (503, "stopping: partitions are being handed over\n")


async def test_a_member_that_has_just_started_is_alive(ops: Ops) -> None:
    assert await get(ops, "/healthz") == (200, "text/plain; charset=utf-8", "alive\n")


async def test_anything_else_is_not_there_and_nothing_can_be_changed(ops: Ops) -> None:
    status, _, _ = await get(ops, "/")
    assert status == 404
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{ops.url}/metrics", data=b"x") as answer,
    ):
        assert answer.status == 405


async def test_a_port_that_is_taken_is_said_with_what_to_do(ops: Ops) -> None:
    assert ops.url is not None
    port = int(ops.url.rpartition(":")[2])
    settings = OpsSettings(address=Address("127.0.0.1", port), has_view=False)
    with pytest.raises(ServingError) as caught:
        async with around(
            settings, member="pod-2", group="home", hub="telemetry", secrets=(), environment={}
        ):
            pass
    assert str(caught.value).startswith(f"cannot serve /metrics at 127.0.0.1:{port}: ")
    assert "choose another" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (":9464", Address()),
        ("9464", Address()),
        ("127.0.0.1:0", Address("127.0.0.1", 0)),
        ("[::1]:80", Address("::1", 80)),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.filterwarnings("error")
async def test_who_connects_as_it_ends_is_closed_too(turns: int) -> None:
    endpoints = await listen(web.Application(), LOOPBACK, "/metrics")
    assert await is_closed_too(endpoints.port, turns, endpoints.close)
    gc.collect()


@pytest.mark.parametrize("text", ["", "localhost", "host:", "host:port", ":70000", ":-1"])
def test_what_is_no_address_is_said_with_an_example(text: str) -> None:
    with pytest.raises(SettingsError, match="such as :9464"):
        Address.parse(text)


def test_settings_that_cannot_work_are_named() -> None:
    with pytest.raises(SettingsError, match="log level 'LOUD': write one of DEBUG"):
        OpsSettings(log_level="LOUD").checked()
    with pytest.raises(SettingsError, match="log format 'xml'"):
        OpsSettings(log_format="xml").checked()
