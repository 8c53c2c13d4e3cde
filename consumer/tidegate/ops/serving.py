"""The small HTTP server of a consumer or an operator: `/metrics`, `/healthz`, `/readyz`, and pages.

Rules: it only reads. It runs on the process's own loop, so that a loop that hangs does not answer
and is found by the one who asks. Anything else is 404, and a request that fails ends nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from tidegate.ops.health import Verdict
from tidegate.settings import SettingsError, is_plain
from tidegate_http.stopping import stop_listening

ANYWHERE = "0.0.0.0"
DEFAULT_PORT = 9464
_STOP_S = 1.0


class ServingError(SettingsError):
    """The address cannot be had; the message says which and what to write."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the endpoints are: `host:port`. Port 0 takes a free one."""

    host: str = ANYWHERE
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Address:
        """'9464', '127.0.0.1:9464' or '[::1]:9464'. Raises SettingsError."""
        host, _, port = text.rpartition(":")
        is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and int(port) <= 65_535
        if not is_port or not is_plain(host):
            raise SettingsError(f"address {text!r}: write a port, or host:port, such as :9464")
        return cls(host.strip("[]") or ANYWHERE, int(port))


class Endpoints:
    """The server. `url` is where it answers."""

    def __init__(self, runner: web.AppRunner, server: asyncio.Server, host: str) -> None:
        self._runner, self._server = runner, server
        self.port = port = int(server.sockets[0].getsockname()[1])
        shown = "localhost" if host in (ANYWHERE, "::") else host
        self.url = f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"

    async def close(self) -> None:
        """Ends every connection, also one that was taken just now."""
        await stop_listening(self._server)
        await self._runner.cleanup()


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to one request."""

    text: str
    status: int = 200
    content_type: str = "text/plain"


# From the parts of its path that are named in braces.
Paged = Callable[[Mapping[str, str]], Page]


class Text(Protocol):
    """Metrics, as they are written down."""

    def write(self, accept: str = "") -> tuple[bytes, str]:
        """For who accepts this: the text and its content type."""


class Healthy(Protocol):
    """What says how a process is."""

    def alive(self, now: float) -> Verdict: ...

    def ready(self, now: float, /) -> Verdict: ...


async def serve(
    address: Address,
    text: Text,
    health: Healthy,
    clock: Callable[[], float],
    pages: Mapping[str, Paged] | None = None,
) -> Endpoints:
    """Listens. `pages`: others, by their paths, such as `/groups/{name}`. Raises ServingError."""

    async def metrics(request: web.Request) -> web.Response:
        body, content_type = text.write(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def healthz(_request: web.Request) -> web.Response:
        return _answer(health.alive(clock()))

    async def readyz(_request: web.Request) -> web.Response:
        return _answer(health.ready(clock()))

    app = web.Application()
    app.add_routes(
        [web.get("/metrics", metrics), web.get("/healthz", healthz), web.get("/readyz", readyz)]
    )
    app.add_routes([web.get(path, _shown(page)) for path, page in (pages or {}).items()])
    return await listen(app, address, "/metrics")


async def listen(app: web.Application, address: Address, what: str) -> Endpoints:
    """Serves an application; `what` it is, for messages. Raises ServingError."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_STOP_S)
    await runner.setup()
    assert runner.server is not None, "it was set up"
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(runner.server, address.host, address.port)
    except OSError as error:
        await runner.cleanup()
        raise ServingError(
            f"cannot serve {what} at {address.host}:{address.port}: {error.strerror or error}. "
            "Another program has the port, or the address is not of this machine: choose another, "
            "or 0 for any free one."
        ) from error
    return Endpoints(runner, server, address.host)


def _answer(verdict: Verdict) -> web.Response:
    return web.Response(status=200 if verdict.is_good else 503, text=f"{verdict.reason}\n")


def _shown(page: Paged) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def show(request: web.Request) -> web.Response:
        found = page(request.match_info)
        return web.Response(text=found.text, status=found.status, content_type=found.content_type)

    return show
