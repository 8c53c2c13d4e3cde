"""The console as a server: its routes, logging in, and what is refused.

Rules: nothing here changes anything. A page that asks for something else than reading must be our
own: logging in by another site's form is refused. Where the API server cannot be asked, nobody is
let in, and it is said why.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass

from aiohttp import web

from tidegate.ops.pages import Files, secure
from tidegate.ops.serving import Address, Endpoints, listen
from tidegate.ops.streams import stream
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.model import GroupKey
from tidegate_operator.page.admission import COOKIE, Admission, NotAdmitted, Viewer
from tidegate_operator.page.console import Console, Groups, TooManyPages

_log = logging.getLogger("tidegate.console")

_FORM_BYTES = 32 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_NOBODY_TO_ASK = "Kubernetes cannot be asked who you are, and what you may see. Try again.\n"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ViewersHandler = Callable[[web.Request, Viewer], Awaitable[web.StreamResponse]]


class ConsolePage:
    """See the module."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._admission: Admission = console.admission
        self._files = Files("tidegate_operator.page")

    def app(self) -> web.Application:
        """What to listen with."""
        app = web.Application(client_max_size=_FORM_BYTES)
        app.on_response_prepare.append(secure)
        app.on_shutdown.append(self._end)
        group, admitted = "/groups/{namespace}/{name}", self._admitted
        app.add_routes(
            [
                web.get("/", admitted(self._groups)),
                web.get(group, admitted(self._group)),
                web.get("/live", admitted(self._live)),
                web.get(f"{group}/live", admitted(self._live)),
                web.get("/assets/{name}", self._files.asset),
                web.get("/login", self._login_form),
                web.post("/login", self._log_in),
                web.post("/logout", self._log_out),
                web.get("/who", admitted(self._who)),
            ]
        )
        return app

    async def _groups(self, _request: web.Request, _viewer: Viewer) -> web.StreamResponse:
        return self._files.html("groups.html")

    async def _group(self, _request: web.Request, _viewer: Viewer) -> web.StreamResponse:
        return self._files.html("group.html")

    async def _live(self, request: web.Request, viewer: Viewer) -> web.StreamResponse:
        found = request.match_info
        key = GroupKey(found["namespace"], found["name"]) if "name" in found else None
        try:
            page = await self._console.open(viewer, key, lambda: self._admission.viewer(request))
        except TooManyPages:
            text = "Too many pages are open at once. This one tries again by itself.\n"
            return web.Response(status=503, text=text, headers={"Retry-After": "30"})
        try:
            if not self._console.shows(page):
                return web.Response(
                    status=404, text="There is no such group, or you may not see it.\n"
                )
            return await stream(request, page.mailbox, self._console.beat)
        finally:
            self._console.close(page)

    async def _who(self, _request: web.Request, viewer: Viewer) -> web.StreamResponse:
        """Who one is: for the page's head, and for a page whose stream was refused."""
        is_local = not self._admission.takes_tokens
        told = {"name": viewer.name, "canLogOut": not is_local, "isLocal": is_local}
        told["commands"] = asdict(self._admission.shown)
        return web.json_response(told)

    # --- who is let in

    def _admitted(self, handler: ViewersHandler) -> Handler:
        """For those alone whom the admission lets in."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                viewer = await self._admission.viewer(request)
                if viewer is not None:
                    return await handler(request, viewer)
            except NotAdmitted as problem:
                return web.Response(status=403, text=f"{problem}\n")
            except KubeError as problem:
                _log.warning("nobody can be let in to the console: %s", problem)
                return web.Response(status=503, text=_NOBODY_TO_ASK)
            if "text/html" in request.headers.get("Accept", ""):
                return _elsewhere("/login")
            return web.Response(
                status=401,
                text="Show a token of Kubernetes: Authorization: Bearer TOKEN\n",
                headers={"WWW-Authenticate": "Bearer"},
            )

        return handle

    async def _login_form(self, _request: web.Request) -> web.StreamResponse:
        if not self._admission.takes_tokens:
            return _elsewhere("/")
        return self._files.html("login.html")

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        _check_own(request)
        token = str((await request.post()).get("token", "")).strip()
        found = None
        if _TOKEN.fullmatch(token):
            try:
                found = await self._admission.log_in(token)
            except KubeError as problem:
                _log.warning("nobody can log in to the console: %s", problem)
                return web.Response(status=503, text=_NOBODY_TO_ASK)
        if found is None:
            return self._files.html("login-again.html", status=401)
        viewer, word = found
        _log.info("%s looks at the console", viewer.name)
        answer = _elsewhere("/")
        answer.set_cookie(
            COOKIE, word, httponly=True, samesite="Strict", secure=_is_https(request), path="/"
        )
        return answer

    async def _log_out(self, request: web.Request) -> web.StreamResponse:
        _check_own(request)
        self._admission.log_out(request)
        answer = _elsewhere("/login")
        answer.del_cookie(
            COOKIE, httponly=True, samesite="Strict", secure=_is_https(request), path="/"
        )
        return answer

    async def _end(self, _app: web.Application) -> None:
        self._console.close_all()


def _elsewhere(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path})


def _is_https(request: web.Request) -> bool:
    """Also where something in front of us ends TLS."""
    return request.secure or request.headers.get("X-Forwarded-Proto", "").lower() == "https"


def _check_own(request: web.Request) -> None:
    """A form of another site must not log anybody in or out."""
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    is_own = site in (None, "same-origin", "none")
    if origin is not None:
        is_own &= origin.partition("://")[2].lower() == request.headers.get("Host", "").lower()
    if not is_own:
        raise web.HTTPForbidden(text="Log in from the console's own page.\n")


@dataclass(frozen=True, slots=True)
class RunningConsole:
    """A console that is served. `url` is where."""

    endpoints: Endpoints
    looking: asyncio.Task[None]

    @property
    def url(self) -> str:
        return self.endpoints.url

    async def close(self) -> None:
        await self.endpoints.close()
        self.looking.cancel()
        await asyncio.wait({self.looking})


async def serve_console(
    address: Address,
    groups: Groups,
    admission: Admission,
    wall: Callable[[], float],
    is_led: Callable[[], bool],
) -> RunningConsole:
    """Listens. Raises ServingError."""
    console = Console(groups, admission, wall, is_led)
    endpoints = await listen(ConsolePage(console).app(), address, "the console")
    return RunningConsole(endpoints, asyncio.create_task(console.run(), name="console"))
