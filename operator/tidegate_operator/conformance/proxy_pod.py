"""Fault proxies as a process of a pod, with an HTTP port that says what goes wrong:

    python -m tidegate_operator.conformance.proxy_pod --control 0.0.0.0:9400 \\
        --tcp hub=0.0.0.0:5672=tidegate-hub:5672 --http storage=0.0.0.0:10000=tidegate-azurite:10000

    POST /storage/faults  {"kind": "answer", "status": 503, "method": "PUT", "times": 3}
    DELETE /storage/faults          none from now on
    POST /hub/cut                   every connection ends, now
    POST /hub/freeze                every connection stays open, and passes nothing any more
    GET /                           its proxies, and how many requests each has seen

Rules: each way is NAME=HOST:PORT=TARGET:PORT. What cannot be understood is 400 with the reason.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from tidegate.commands.dumps import no_core_dumps
from tidegate_operator.conformance.faults import FaultError, fault_in
from tidegate_operator.conformance.proxy import FaultProxy


@dataclass(frozen=True, slots=True)
class Way:
    """One proxy: what it is called, where it listens, and what is behind it."""

    name: str
    host: str
    port: int
    target_host: str
    target_port: int

    @classmethod
    def parse(cls, text: str) -> Way:
        """Raises argparse.ArgumentTypeError."""
        try:
            name, here, there = text.split("=")
            (host, port), (target, target_port) = (
                (place.rpartition(":")[0], int(place.rpartition(":")[2])) for place in (here, there)
            )
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r}: write NAME=HOST:PORT=TARGET:PORT"
            ) from None
        return cls(name, host, port, target, target_port)


def control(proxies: dict[str, FaultProxy]) -> web.Application:
    """What is asked of them, over HTTP."""

    def asked(request: web.Request) -> FaultProxy:
        name = request.match_info["name"]
        if name not in proxies:
            raise web.HTTPNotFound(text=f"there is no {name}; there are: {', '.join(proxies)}")
        return proxies[name]

    async def add(request: web.Request) -> web.Response:
        proxy = asked(request)
        try:
            said = json.loads(await request.text())
            proxy.add(fault_in(said))
        except (FaultError, json.JSONDecodeError) as problem:
            raise web.HTTPBadRequest(text=str(problem)) from problem
        return web.json_response({})

    async def clear(request: web.Request) -> web.Response:
        asked(request).clear()
        return web.json_response({})

    async def cut(request: web.Request) -> web.Response:
        asked(request).cut()
        return web.json_response({})

    async def freeze(request: web.Request) -> web.Response:
        asked(request).freeze()
        return web.json_response({})

    async def show(_request: web.Request) -> web.Response:
        return web.json_response({name: {"passed": each.passed} for name, each in proxies.items()})

    made = web.Application()
    made.add_routes(
        [
            web.get("/", show),
            web.post("/{name}/faults", add),
            web.delete("/{name}/faults", clear),
            web.post("/{name}/cut", cut),
            web.post("/{name}/freeze", freeze),
        ]
    )
    return made


async def run(http: Sequence[Way], tcp: Sequence[Way], host: str, port: int) -> None:
    """Until SIGTERM."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    proxies: dict[str, FaultProxy] = {}
    for way, is_http in [(each, True) for each in http] + [(each, False) for each in tcp]:
        proxy = FaultProxy(way.target_host, way.target_port, is_http=is_http)
        await proxy.start(way.host, way.port)
        proxies[way.name] = proxy
        print(f"{way.name}: {way.host}:{proxy.port} to {way.target_host}:{way.target_port}")
    runner = web.AppRunner(control(proxies), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    print(f"what goes wrong is said at {host}:{port}", flush=True)
    await stop.wait()
    await runner.cleanup()
    for proxy in proxies.values():
        await proxy.stop()


def main(words: Sequence[str] | None = None) -> None:
    no_core_dumps(os.environ)
    parser = argparse.ArgumentParser(description="Makes a network bad on purpose.")
    parser.add_argument("--control", default="127.0.0.1:9400", metavar="HOST:PORT")
    parser.add_argument("--http", type=Way.parse, action="append", default=[], metavar="WAY")
    parser.add_argument("--tcp", type=Way.parse, action="append", default=[], metavar="WAY")
    arguments = parser.parse_args(words)
    host, _, port = arguments.control.rpartition(":")
    asyncio.run(run(arguments.http, arguments.tcp, host, int(port)))


if __name__ == "__main__":
    main()
