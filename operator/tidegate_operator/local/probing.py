"""Asks a container's endpoints as its pod says, until it is cancelled.

Rules: what an answer means is for whoever is told of it. Nobody asks on a container that has not
started yet whether it is ready or alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp

from tidegate_operator.local.pod_life import Probe

# What is awaited is looked for more often than what stands.
_LOOK_S = 0.25

# Is told of each answer; True where enough was heard.
Heard = Callable[[Probe], bool]


@dataclass(frozen=True, slots=True)
class Asker:
    """Where a container answers, and by what clock."""

    session: aiohttp.ClientSession
    url: str
    now: Callable[[], float]

    async def once(self, probe: Probe) -> Probe:
        timeout = aiohttp.ClientTimeout(total=probe.timeout_s)
        try:
            async with self.session.get(self.url + probe.path, timeout=timeout) as answer:
                is_good = answer.status < 400
        except (aiohttp.ClientError, TimeoutError, OSError):
            is_good = False
        return probe.heard(self.now(), is_good=is_good)

    async def on(self, probe: Probe, heard: Heard) -> None:
        """Until enough was heard."""
        while True:
            probe = await self.once(probe)
            if heard(probe):
                return
            await asyncio.sleep(probe.every_s if probe.is_good else min(probe.every_s, _LOOK_S))


async def ask(
    container: Mapping[str, Any],
    asker: Asker,
    *,
    started: Heard,
    ready: Heard,
    is_dead: Heard,
) -> None:
    """Whether it has started, and then again and again whether it is ready, and alive."""
    startup = Probe.of(container, "startupProbe")
    if startup is not None:
        await asker.on(startup, started)
    async with asyncio.TaskGroup() as tasks:
        for name, heard in (("readinessProbe", ready), ("livenessProbe", is_dead)):
            probe = Probe.of(container, name)
            if probe is not None:
                tasks.create_task(asker.on(probe, heard))
