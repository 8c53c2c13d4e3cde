"""What the residents' pages of some homes show, as a browser hears it: by their signed links.

Rules: a page is listened to until it shows what is expected, or for WAIT_S; what it shows then is
what counts. Minutes stand where these are told, as on the page; else quarters of an hour.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Collection
from typing import Any

import aiohttp

from homes.checking import Totals
from residents.links import Link, token_of
from residents.telling import FIELDS, quarter_of

WAIT_S = 30.0
_LINK_S = 3_600
_KIND, _COUNT, _ALARMS = (FIELDS.index(name) for name in ("kind", "count", "alarms"))


class PageError(Exception):
    """A page cannot be had; the message says which and why."""


class Page:
    """What one page has been told."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._parts: dict[str, dict[int, Any]] = {"minutes": {}, "quarters": {}}
        self.is_whole = False

    def hear(self, name: str, told: Any) -> None:
        if name == "home":
            for each in self._parts:
                self._parts[each] = {int(start): rows for start, rows in told[each].items()}
            self.is_whole = told["whole"]
        elif name == "whole":
            self.is_whole = True
        elif name == "minute":
            self._parts["minutes"][told["start"]] = told["rows"]
        elif name == "quarter":
            self._parts["quarters"][told["start"]] = told["rows"]
            minutes = self._parts["minutes"]
            for start in [each for each in minutes if quarter_of(each) == told["start"]]:
                del minutes[start]

    def totals(self) -> Totals:
        minutes, quarters = self._parts["minutes"], self._parts["quarters"]
        by_minute = {quarter_of(start) for start in minutes}
        shown = [rows for start, rows in quarters.items() if start not in by_minute]
        counts: Counter[str] = Counter()
        alarms: Counter[str] = Counter()
        for row in [row for rows in (*shown, *minutes.values()) for row in rows]:
            counts[row[_KIND]] += row[_COUNT]
            alarms[row[_KIND]] += row[_ALARMS]
        return {(self._home, kind): (counts[kind], alarms[kind]) for kind in counts}


async def shown_to(base: str, key: bytes, names: Collection[str], expected: Totals) -> Totals:
    """What the pages of these homes show. Raises PageError."""
    async with aiohttp.ClientSession(base, timeout=aiohttp.ClientTimeout(None)) as session:
        asked = (_shown(session, key, name, _of(expected, name)) for name in names)
        found: Totals = {}
        for totals in await asyncio.gather(*asked):
            found |= totals
        return found


def _of(totals: Totals, name: str) -> Totals:
    return {place: each for place, each in totals.items() if place[0] == name}


async def _shown(session: aiohttp.ClientSession, key: bytes, name: str, expected: Totals) -> Totals:
    token = token_of(key, Link(name, int(time.time()) + _LINK_S))
    page = Page(name)
    try:
        async with asyncio.timeout(WAIT_S), session.get(f"/h/{token}/live") as answer:
            if answer.status != 200:
                raise PageError(f"the page of {name} answers {answer.status}")
            said = ""
            async for line in answer.content:
                word, _, value = line.decode().rstrip("\n").partition(": ")
                if word == "event":
                    said = value
                elif word == "data":
                    page.hear(said, json.loads(value))
                    if page.is_whole and page.totals() == expected:
                        break
    except TimeoutError:
        if not page.is_whole:
            raise PageError(f"the page of {name} is not whole after {WAIT_S:.0f} s") from None
    except aiohttp.ClientError as problem:
        raise PageError(f"the page of {name} cannot be had: {problem}") from None
    return page.totals()
