"""Who may see the console.

Rules: on a machine of one's own whoever can reach loopback sees all of it, and who asks from
another machine sees nothing, wherever this is served. Nor does a page from elsewhere that makes its
own name mean 127.0.0.1: the Host header must be that of loopback. In a cluster Kubernetes decides:
who a token is of, and in which namespaces that person may list ConsumerGroups. A group that one may
not see is the same as one that is not there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from aiohttp import web

from tidegate_http.guard import is_loopback
from tidegate_operator.kinds import (
    ACCESS_REVIEW,
    CONSUMER_GROUP,
    TOKEN_REVIEW,
    Document,
    Kind,
)
from tidegate_operator.kube_errors import KubeError
from tidegate_operator.page.sessions import Sessions

COOKIE = "tidegate-console"
REMEMBERED_S = 60.0
_REMEMBERED_MOST = 1_000
_REFUSED_MOST = 200
_REVIEWS_AT_ONCE, _REVIEWS_WAIT = 4, 100
_LONGEST_TOKEN = 16_384


class NotAdmitted(Exception):
    """Not from here, whoever it is; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks."""

    name: str
    # As Kubernetes says it: user, groups, extra.
    who: Document = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ShownCommands:
    """Commands of one group, with `{command}`, `{namespace}` and `{name}` to be filled in."""

    ask: str
    letters: str


class Admission(Protocol):
    """See the module."""

    # Whether people show a token to be let in.
    takes_tokens: bool
    # What pages name for a terminal.
    shown: ShownCommands

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Who it is; None for somebody who has to log in. Raises NotAdmitted, KubeError."""

    async def log_in(self, token: str, /) -> tuple[Viewer, str] | None:
        """Whose token this is, and what stands for it in the cookie. Raises KubeError."""

    def log_out(self, request: web.Request, /) -> None:
        """What is in the cookie stands for nobody any more."""

    async def may_see(self, viewer: Viewer, namespace: str, /) -> bool:
        """Whether this person may see the groups of a namespace. Raises KubeError."""


class Loopback:
    """Whoever is on this machine."""

    takes_tokens = False

    def __init__(self, shown: ShownCommands) -> None:
        self.shown = shown

    async def viewer(self, request: web.Request) -> Viewer | None:
        host = request.headers.get("Host", "")
        name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if not (is_loopback(name) and is_loopback(request.remote or "")):
            raise NotAdmitted(
                "This console is for this machine alone. Open it as localhost or 127.0.0.1."
            )
        return Viewer("this machine")

    async def log_in(self, _token: str, /) -> tuple[Viewer, str] | None:
        return None

    def log_out(self, _request: web.Request, /) -> None:
        """Nobody is logged in."""

    async def may_see(self, _viewer: Viewer, _namespace: str, /) -> bool:
        return True


class Reviews(Protocol):
    """What is asked of the Kubernetes API: kube.Kube."""

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document: ...


class ByKubernetes:
    """Whoever Kubernetes says. What it said is remembered for a minute, by digests of tokens.

    Anybody can make it ask: a few questions at a time, and few wait. What it refused is remembered
    apart from those whom it knows, so that junk makes it forget nobody.
    """

    takes_tokens = True
    shown = ShownCommands(
        "kubectl consumergroup {command} {name} -n {namespace}",
        "kubectl consumergroup deadletters list {name} -n {namespace}",
    )

    def __init__(self, kube: Reviews, now: Callable[[], float] = time.monotonic) -> None:
        self._kube = kube
        self._now = now
        self._viewers: dict[bytes, tuple[float, Viewer]] = {}
        self._refused: dict[bytes, tuple[float, None]] = {}
        self._allowed: dict[tuple[str, str], tuple[float, bool]] = {}
        self._sessions = Sessions(now)
        self._turns = asyncio.Semaphore(_REVIEWS_AT_ONCE)
        self._waiting = 0

    async def viewer(self, request: web.Request) -> Viewer | None:
        if shown := _shown_token(request):
            return await self._of_token(shown)
        word = request.cookies.get(COOKIE, "")
        token = self._sessions.token_of(word)
        viewer = await self._of_token(token) if token else None
        if viewer is None:
            self._sessions.end(word)
        return viewer

    async def log_in(self, token: str) -> tuple[Viewer, str] | None:
        viewer = await self._of_token(token)
        return None if viewer is None else (viewer, self._sessions.begin(token))

    def log_out(self, request: web.Request) -> None:
        self._sessions.end(request.cookies.get(COOKIE, ""))

    async def _of_token(self, token: str) -> Viewer | None:
        """Whose it is; None where it is nobody's. Raises KubeError."""
        if not token.isascii() or len(token) > _LONGEST_TOKEN:
            return None
        digest = sha256(token.encode()).digest()
        known = self._known(digest)
        if known is not None:
            return known[1]
        if self._waiting >= _REVIEWS_WAIT:
            raise KubeError(f"{_REVIEWS_WAIT} tokens wait already for Kubernetes to review them")
        self._waiting += 1
        try:
            async with self._turns:
                known = self._known(digest)
                return known[1] if known is not None else await self._reviewed(token, digest)
        finally:
            self._waiting -= 1

    def _known(self, digest: bytes) -> tuple[float, Viewer | None] | None:
        known = self._viewers.get(digest) or self._refused.get(digest)
        return known if known is not None and known[0] > self._now() else None

    async def _reviewed(self, token: str, digest: bytes) -> Viewer | None:
        status = await self._kube.review(TOKEN_REVIEW, {"token": token})
        user = status.get("user") or {}
        self._viewers.pop(digest, None)
        if status.get("authenticated") is not True or not user.get("username"):
            _remember(self._refused, digest, (self._now() + REMEMBERED_S, None), _REFUSED_MOST)
            return None
        who = {"user": user["username"]}
        who |= {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
        viewer = Viewer(user["username"], who)
        self._refused.pop(digest, None)
        _remember(self._viewers, digest, (self._now() + REMEMBERED_S, viewer), _REMEMBERED_MOST)
        return viewer

    async def may_see(self, viewer: Viewer, namespace: str) -> bool:
        return await self._may(viewer, "") or await self._may(viewer, namespace)

    async def _may(self, viewer: Viewer, namespace: str) -> bool:
        """`namespace` '': all of them."""
        place = (repr(sorted(viewer.who.items())), namespace)
        known = self._allowed.get(place)
        if known is not None and known[0] > self._now():
            return known[1]
        asked = {"verb": "list", "group": CONSUMER_GROUP.group, "resource": CONSUMER_GROUP.plural}
        if namespace:
            asked["namespace"] = namespace
        status = await self._kube.review(ACCESS_REVIEW, {**viewer.who, "resourceAttributes": asked})
        is_allowed = status.get("allowed") is True and status.get("denied") is not True
        _remember(self._allowed, place, (self._now() + REMEMBERED_S, is_allowed), _REMEMBERED_MOST)
        return is_allowed


def _shown_token(request: web.Request) -> str:
    """The token in the header of a request, as programs show it."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _remember(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    known.pop(key, None)
    while len(known) >= most:
        del known[next(iter(known))]
    known[key] = value
