"""What kopf watches for us: ConsumerGroups, and the Deployments and pods that carry our label.

Rules:
- Handlers only hand on what was told; they never fail, and they write nothing. kopf keeps no notes
  on anybody's objects: it has nothing to remember between two events.
- No CRD and no namespace is watched, so that no right to do so is needed.
- A watch that breaks is opened again, for as long as it takes. Streams end by themselves now and
  then, so that one that hangs without a word is not believed for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import kopf

from tidegate_operator.cache import WATCHED
from tidegate_operator.engines.inputs import GROUP_LABEL
from tidegate_operator.kinds import CONSUMER_GROUP, Kind
from tidegate_operator.objects import Heard, Watch
from tidegate_operator.settings import OperatorSettings

_CONNECT_S = 10.0
# What kopf has told of last is kept by it for so long, whole, with who wrote which field.
_IDLE_S = 0.1
# The API takes whole seconds.
_STREAM_S = 290
_REQUEST_S = 30.0


class _Pauses:
    """Pauses between tries, without an end: a watch is never given up."""

    def __iter__(self) -> Iterator[float]:
        yield from (0.5, 1.0, 2.0, 3.0)
        while True:
            yield 5.0


class _NothingHandled(kopf.DiffBaseStorage):
    """kopf's notes of what it has handled: none, and no time is spent on making them."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> Any:
        return None

    def store(self, **_: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    """kopf's notes of its handlers' tries: none."""

    def fetch(self, **_: Any) -> Any:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any) -> Any:
        return essence


def registry_of(heard: Heard) -> kopf.OperatorRegistry:
    """kopf's list of our handlers."""
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry, id="login")(kopf.login_via_client)
    for kind in WATCHED:
        on_event = kopf.on.event(*_selector(kind), registry=registry, id=f"hear-{kind.plural}")
        on_event(_handler(kind, heard))
    return registry


def _selector(kind: Kind) -> tuple[str, str, str]:
    return kind.group, kind.api_version.rpartition("/")[2], kind.plural


def _handler(kind: Kind, heard: Heard) -> Callable[..., Any]:
    async def hear(event: Mapping[str, Any], **_: Any) -> None:
        heard(kind, event["object"], event["type"] == "DELETED")

    return hear


def kopf_settings() -> kopf.OperatorSettings:
    """How kopf watches."""
    settings = kopf.OperatorSettings()
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = _NothingHandled()
    settings.persistence.progress_storage = _NoProgress()
    for kind in WATCHED:
        if kind != CONSUMER_GROUP:
            settings.watching.label_selectors[_selector(kind)] = GROUP_LABEL
    settings.queueing.idle_timeout = _IDLE_S
    settings.watching.server_timeout = _STREAM_S
    settings.watching.client_timeout = _STREAM_S + _REQUEST_S
    settings.watching.connect_timeout = _CONNECT_S
    settings.networking.connect_timeout = _CONNECT_S
    settings.networking.request_timeout = _REQUEST_S
    settings.networking.error_backoffs = _Pauses()
    settings.process.ultimate_exiting_timeout = None
    return settings


def watching(once_ready: Callable[[], None]) -> Watch:
    """Watches by kopf. kopf takes the signals for itself; `once_ready` may take them back."""

    async def watch(settings: OperatorSettings, heard: Heard) -> None:
        ready = asyncio.Event()
        running = asyncio.create_task(_run(settings, heard, ready), name="kopf")
        try:
            await asyncio.wait(
                [running, waiting := asyncio.create_task(ready.wait())],
                return_when=asyncio.FIRST_COMPLETED,
            )
            waiting.cancel()
            once_ready()
            await asyncio.wait([running])
            running.result()
        finally:
            running.cancel()
            await asyncio.wait([running])

    return watch


async def _run(settings: OperatorSettings, heard: Heard, ready: asyncio.Event) -> None:
    """Watches until it is cancelled. It ends by itself only where it cannot go on at all."""
    # Else kopf asks for the user's name, and the image's user has none. It is a type of kopf's own.
    identity: Any = settings.identity
    await kopf.operator(
        registry=registry_of(heard),
        settings=kopf_settings(),
        identity=identity,
        standalone=True,
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        ready_flag=ready,
    )
