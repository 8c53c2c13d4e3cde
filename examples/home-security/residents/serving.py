"""The residents' page as a server: its routes, and who may see what.

Rules:
- A home is named by a signed link alone; nothing that a browser sends besides is believed.
- Every link that opens nothing gets the same answer, word for word: on the page, on its stream and
  on its clock.
- A stream ends when its link does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from aiohttp import web

from residents.following import Follower
from residents.homes import TooManyPages
from residents.links import Link, LinkError, link_of
from tidegate.ops.pages import Files, secure
from tidegate.ops.streams import BEAT_S, event_text, stream

PATH = "/h/{token}"
_COME_BACK_S = "30"


class ResidentsPage:
    """See the module."""

    def __init__(
        self,
        follower: Follower,
        keys: Sequence[bytes],
        wall: Callable[[], float],
        beat_s: float = BEAT_S,
    ) -> None:
        self._follower = follower
        self._keys = keys
        self._wall = wall
        self._beat_s = beat_s
        self._files = Files("residents")

    def app(self) -> web.Application:
        """What to listen with."""
        app = web.Application(client_max_size=0)
        app.on_response_prepare.append(secure)
        app.on_shutdown.append(self._end)
        app.add_routes(
            [
                web.get(PATH, self._page),
                web.get(f"{PATH}/live", self._live),
                web.get(f"{PATH}/clock", self._clock),
                web.get("/assets/{name}", self._files.asset),
                web.get("/healthz", self._health),
                web.get("/{tail:.*}", self._nothing),
            ]
        )
        return app

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if self._link(request) is None:
            return self._refused()
        return self._files.html("home.html")

    async def _clock(self, request: web.Request) -> web.StreamResponse:
        """What time it is here: a page measures delays by it, whatever its own clock says."""
        if self._link(request) is None:
            return self._refused()
        return web.json_response(round(self._wall(), 3))

    async def _live(self, request: web.Request) -> web.StreamResponse:
        link = self._link(request)
        if link is None:
            return self._refused()
        try:
            home, page = self._follower.open(link.home)
        except TooManyPages:
            text = "Too many pages are open at once. This one tries again by itself.\n"
            return web.Response(status=503, text=text, headers={"Retry-After": _COME_BACK_S})
        try:
            return await stream(request, page, lambda: self._beat(link), self._beat_s)
        finally:
            self._follower.close(home, page)

    async def _health(self, _request: web.Request) -> web.StreamResponse:
        silent = self._follower.silent_since
        state = {"reads": silent is None, "looks": self._follower.looks}
        state |= {"pages": self._follower.homes.pages}
        return web.Response(status=200, text=json.dumps(state), content_type="application/json")

    async def _nothing(self, _request: web.Request) -> web.StreamResponse:
        return self._refused()

    async def _end(self, _app: web.Application) -> None:
        self._follower.homes.close_all()

    def _beat(self, link: Link) -> bytes:
        """How it is here; nothing once the link has ended."""
        now = self._wall()
        if now >= link.until:
            return b""
        state = {"now": round(now, 3), "silentSince": self._follower.silent_since}
        return event_text("beat", state)

    def _link(self, request: web.Request) -> Link | None:
        try:
            return link_of(self._keys, request.match_info["token"], self._wall())
        except LinkError:
            return None

    def _refused(self) -> web.Response:
        return self._files.html("refused.html", status=404)
