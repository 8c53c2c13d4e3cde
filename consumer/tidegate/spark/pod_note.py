"""Keeps an annotation of the driver's own pod, in which the operator reads how the driver stands.

Rules: written at once when something changes that people wait for, else every 10 s at most, and
only where it says something else than before. That it cannot be written is said once, and ends
nothing: the operator does without.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import aiohttp

from tidegate.spark.standing import ANNOTATION, Standing

# What Kubernetes gives every pod.
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
API = "https://kubernetes.default.svc"
_LOOK_S = 0.5
_EVERY_S = 10.0
_PATIENCE_S = 10.0

_log = logging.getLogger("tidegate.spark")


class PodNote:
    """See the module."""

    def __init__(
        self,
        namespace: str,
        pod: str,
        standing: Standing,
        *,
        account: Path = ACCOUNT,
        api: str = API,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = f"{api}/api/v1/namespaces/{namespace}/pods/{pod}"
        self._standing = standing
        self._account = account
        self._clock = clock
        self._written: str | None = None
        self._seen = -1
        self._written_at = float("-inf")
        self._said = ""

    async def keep(self) -> None:
        """For ever."""
        timeout = aiohttp.ClientTimeout(total=_PATIENCE_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                try:
                    await self.look(session)
                # Whatever it is: nobody would notice a note that stands still.
                except Exception as error:
                    self._complain(error)
                await asyncio.sleep(_LOOK_S)

    async def look(self, session: aiohttp.ClientSession) -> None:
        """Writes the note where that is due."""
        changes = self._standing.changes
        if changes == self._seen and self._clock() - self._written_at < _EVERY_S:
            return
        self._seen = changes
        text = json.dumps(self._standing.as_json(), ensure_ascii=False)
        if text == self._written:
            return
        self._written_at = self._clock()
        try:
            await self._write(session, text)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            self._complain(error)
        else:
            self._written, self._said = text, ""

    def _complain(self, error: Exception) -> None:
        said = f"{type(error).__name__}: {error}"
        if said != self._said:
            _log.warning("the pod's annotation %s cannot be written: %s", ANNOTATION, said)
        self._said = said

    async def _write(self, session: aiohttp.ClientSession, text: str) -> None:
        # Kubernetes puts a new token there long before the old one ends.
        token = (self._account / "token").read_text(encoding="utf-8").strip()
        trusted: ssl.SSLContext | bool = True
        if self._url.startswith("https:"):
            trusted = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        async with session.patch(
            self._url,
            data=json.dumps({"metadata": {"annotations": {ANNOTATION: text}}}),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/merge-patch+json",
            },
            ssl=trusted,
        ) as answer:
            answer.raise_for_status()
