"""What goes wrong in a proxy is said over HTTP, and what cannot be understood is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web

from tidegate_operator.conformance.faults import Answer, Delay, FaultError, Request, fault_in
from tidegate_operator.conformance.proxy import FaultProxy
from tidegate_operator.conformance.proxy_pod import Way, control


@pytest.fixture
async def ways() -> AsyncIterator[tuple[str, str]]:
    """Through a proxy to a server that answers, and where the proxy is told what to do."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=await request.text())

    behind = web.Application()
    behind.router.add_route("*", "/{rest:.*}", answer)
    runners = [web.AppRunner(behind, access_log=None)]
    await runners[0].setup()
    site = web.TCPSite(runners[0], "127.0.0.1", 0)
    await site.start()
    proxy = FaultProxy("127.0.0.1", runners[0].addresses[0][1], is_http=True)
    await proxy.start("127.0.0.1", 0)
    runners.append(web.AppRunner(control({"storage": proxy}), access_log=None))
    await runners[1].setup()
    await web.TCPSite(runners[1], "127.0.0.1", 0).start()
    through = f"http://127.0.0.1:{proxy.port}"
    yield through, f"http://127.0.0.1:{runners[1].addresses[0][1]}"
    await proxy.stop()
    for runner in runners:
        await runner.cleanup()


async def test_a_fault_that_is_asked_for_over_http_happens_as_often_as_was_asked(
    ways: tuple[str, str],
) -> None:
    through, told = ways
    async with aiohttp.ClientSession() as session:
        fault = {"kind": "answer", "status": 503, "method": "PUT", "times": 2}
        async with session.post(f"{told}/storage/faults", json=fault) as said:
            assert said.status == 200
        seen = []
        for verb in ("GET", "PUT", "PUT", "PUT"):
            async with session.request(verb, f"{through}/a", data=b"x") as reply:
                seen.append(reply.status)
        async with session.get(f"{told}/") as said:
            assert await said.json() == {"storage": {"passed": 4}}
    assert seen == [200, 503, 503, 200]


async def test_a_fault_stands_until_it_is_cleared_and_a_cut_ends_what_is_under_way(
    ways: tuple[str, str],
) -> None:
    through, told = ways
    async with aiohttp.ClientSession() as session:
        await session.post(f"{told}/storage/faults", json={"kind": "hold"})
        # No GET: aiohttp asks again by itself where that is safe.
        waiting = asyncio.create_task(session.post(f"{through}/a"))
        while True:
            async with session.get(f"{told}/") as said:
                if (await said.json())["storage"]["passed"]:
                    break
        await session.post(f"{told}/storage/cut")
        await session.delete(f"{told}/storage/faults")
        with pytest.raises(aiohttp.ClientError):
            await waiting
        async with session.get(f"{through}/a") as reply:
            assert reply.status == 200


async def test_what_cannot_be_understood_is_refused_with_what_to_write(
    ways: tuple[str, str],
) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{ways[1]}/storage/faults", json={"kind": "flood"}) as said:
            assert said.status == 400
            assert "write one of delay, answer" in await said.text()
        async with session.post(f"{ways[1]}/hub/cut") as said:
            assert said.status == 404 and "there are: storage" in await said.text()


def test_a_fault_in_json_is_the_same_fault() -> None:
    found = fault_in({"kind": "delay", "seconds": 0.2, "for_s": 3, "query": "comp=lease"})
    assert isinstance(found, Delay) and found.seconds == 0.2
    found.begin(10.0)
    assert not found.is_over(12.9) and found.is_over(13.0)
    assert found.match(Request("PUT", "/c/b?comp=lease", {}))
    assert not found.match(Request("PUT", "/c/b", {}))
    assert isinstance(fault_in({"kind": "answer", "status": 429}), Answer)


@pytest.mark.parametrize(
    "said",
    [{}, {"kind": "answer", "seconds": 1}, {"kind": "delay", "seconds": "1"},
     {"kind": "swallow", "direction": "up"}],
)  # fmt: skip
def test_a_fault_with_what_it_has_not_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(FaultError):
        fault_in(said)


def test_a_way_says_its_name_where_it_listens_and_what_is_behind() -> None:
    assert Way.parse("hub=0.0.0.0:5672=tidegate-hub:5672") == Way(
        "hub", "0.0.0.0", 5672, "tidegate-hub", 5672
    )
