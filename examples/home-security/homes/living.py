"""The homes live: they send what they have to say, and hear what the demo's keys ask of them.

Rules: a line on standard input is a word: `carbon-monoxide`, `burst`, `alarm HOME`, `end FILE`. A
line on standard output is JSON: how it stands, every second, and an answer to each word. Nothing
counts as sent that the hub has not taken: at the end the truth is written to FILE when it has all.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from homes.world import Plan, World
from tidegate.sending.native import NativeSender

TICK_S, TOLD_EVERY_S = 0.1, 1.0


class Living:
    """See the module."""

    def __init__(self, plan: Plan, connection: str, hub: str) -> None:
        self._world = World(plan, time.time())
        self._sender = NativeSender(connection, hub)
        self._ended = asyncio.Event()
        self._truth_to: Path | None = None

    async def run(self) -> None:
        """Until it is told to end. Raises SendError."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._ended.set)
        words: asyncio.Queue[str] = asyncio.Queue()
        lines = await _lines()
        hearing = asyncio.create_task(_hear(lines, words))
        told_at, sent_then = time.monotonic(), 0
        try:
            while not self._ended.is_set():
                said = self._world.say(time.time())
                if said:
                    await self._sender.send(said)
                while not words.empty():
                    await self._obey(words.get_nowait())
                now = time.monotonic()
                if now - told_at >= TOLD_EVERY_S:
                    sent = self._world.truth.readings
                    self._tell(rate=round((sent - sent_then) / (now - told_at)))
                    told_at, sent_then = now, sent
                await asyncio.sleep(TICK_S)
            await self._sender.flush()
            if self._truth_to is not None:
                await asyncio.to_thread(
                    self._truth_to.write_text, self._world.truth.as_json(), "utf-8"
                )
            self._tell(ended=True)
        finally:
            hearing.cancel()
            await self._sender.close()

    async def _obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        world = self._world
        if word == "carbon-monoxide":
            self._tell(answer="carbon-monoxide", new=world.add_carbon_monoxide())
        elif word == "burst":
            world.burst(time.time())
            self._tell(answer="burst")
        elif word == "alarm" and rest.isdecimal() and int(rest) < world.plan.homes:
            world.raise_alarm(int(rest))
            self._tell(answer="alarm")
        elif word == "end":
            self._truth_to = Path(rest) if rest else None
            self._ended.set()
        else:
            self._tell(answer="unknown", word=word)

    def _tell(self, **more: Any) -> None:
        world, now = self._world, time.time()
        hour = world.hour(now)
        state = {
            "sent": world.truth.readings,
            "alarms": world.truth.alarms,
            "homes": world.plan.homes,
            "kinds": len(world.kinds),
            "clock": f"{int(hour):02}:{int(hour % 1 * 60):02}",
        }
        print(json.dumps(state | more), flush=True)


async def _lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader


async def _hear(lines: asyncio.StreamReader, words: asyncio.Queue[str]) -> None:
    while line := await lines.readline():
        words.put_nowait(line.decode().strip())
