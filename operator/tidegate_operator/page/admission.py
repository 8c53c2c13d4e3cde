"""Who may see the console.

Rules: on a machine of one's own whoever can reach loopback sees all of it, and a page from
elsewhere that makes its own name mean 127.0.0.1 sees nothing: the Host header must be that of
loopback. In a cluster Kubernetes decides: who a token is of, and in which namespaces that person
may list ConsumerGroups. A group that one may not see is the same as one that is not there.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Protocol

from aiohttp import web

from tidegate_hub.admin.guard import is_loopback
from tidegate_operator.kinds import (
    ACCESS_REVIEW,
    CONSUMER_GROUP,
    TOKEN_REVIEW,
    Document,
    Kind,
)

COOKIE = "tidegate-console"
REMEMBERED_S = 60.0
_REMEMBERED_MOST = 1_000
_LONGEST_TOKEN = 16_384


class NotAdmitted(Exception):
    """Not from here, whoever it is; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks."""

    name: str
    # As Kubernetes says it: user, groups, extra.
    who: Document = field(default_factory=dict, repr=False, compare=False)


class Admission(Protocol):
    """See the module."""

    # Whether people show a token to be let in.
    takes_tokens: bool

    async def viewer(self, request: web.Request) -> Viewer | None:
        """Who it is; None for somebody who has to log in. Raises NotAdmitted, KubeError."""

    async def of_token(self, token: str, /) -> Viewer | None:
        """Whose token this is; None where it is nobody's. Raises KubeError."""

    async def may_see(self, viewer: Viewer, namespace: str, /) -> bool:
        """Whether this person may see the groups of a namespace. Raises KubeError."""


class Loopback:
    """Whoever is on this machine."""

    takes_tokens = False

    async def viewer(self, request: web.Request) -> Viewer | None:
        host = request.headers.get("Host", "")
        name = host.rpartition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if not is_loopback(name):
            raise NotAdmitted(
                "This console is for this machine alone. Open it as localhost or 127.0.0.1."
            )
        return Viewer("this machine")

    async def of_token(self, _token: str, /) -> Viewer | None:
        return None

    async def may_see(self, _viewer: Viewer, _namespace: str, /) -> bool:
        return True


class Reviews(Protocol):
    """What is asked of the Kubernetes API: kube.Kube."""

    async def review(self, kind: Kind, spec: Mapping[str, Any]) -> Document: ...


class ByKubernetes:
    """Whoever Kubernetes says. What it said is remembered for a minute, by digests of tokens."""

    takes_tokens = True

    def __init__(self, kube: Reviews, now: Any = time.monotonic) -> None:
        self._kube = kube
        self._now = now
        self._viewers: dict[bytes, tuple[float, Viewer | None]] = {}
        self._allowed: dict[tuple[str, str], tuple[float, bool]] = {}

    async def viewer(self, request: web.Request) -> Viewer | None:
        token = token_in(request)
        return await self.of_token(token) if token else None

    async def of_token(self, token: str) -> Viewer | None:
        if not token.isascii() or len(token) > _LONGEST_TOKEN:
            return None
        digest = sha256(token.encode()).digest()
        known = self._viewers.get(digest)
        if known is not None and known[0] > self._now():
            return known[1]
        status = await self._kube.review(TOKEN_REVIEW, {"token": token})
        user = status.get("user") or {}
        viewer = None
        if status.get("authenticated") is True and user.get("username"):
            who = {"user": user["username"]}
            who |= {name: user[name] for name in ("uid", "groups", "extra") if user.get(name)}
            viewer = Viewer(user["username"], who)
        _remember(self._viewers, digest, (self._now() + REMEMBERED_S, viewer))
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
        _remember(self._allowed, place, (self._now() + REMEMBERED_S, is_allowed))
        return is_allowed


def token_in(request: web.Request) -> str:
    """The token that a request shows: in its header, as programs do, or in our cookie."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return request.cookies.get(COOKIE, "")


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    known.pop(key, None)
    while len(known) >= _REMEMBERED_MOST:
        del known[next(iter(known))]
    known[key] = value
