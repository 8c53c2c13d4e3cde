"""The homes whose pages are open: what is known of each, and what its pages are told. Pure.

Rules:
- The last hour is kept by minutes, what is before it by quarters of an hour: so a home takes some
  kilobytes, whatever it does.
- A page is told what has changed, and of each minute or quarter only the newest waits.
- A home stays known for a while after its last page was closed: the page comes back mostly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from residents.telling import MINUTES_S, QUARTER_S, Told, quarter_of, summed, text_of
from tidegate.ops.streams import Mailbox, event_text
from tidegate.slices.shelf import DAY_S

KEPT_S = 60.0
PAGES_MOST = 5_000
PAGES_OF_A_HOME = 25


class TooManyPages(Exception):
    """No more pages can be open at once."""


def minutes_from(now: float) -> int:
    """From when on minutes are told one by one."""
    return quarter_of(now - MINUTES_S)


class Home:
    """What is known of one home."""

    def __init__(self, name: str, now: float) -> None:
        self.name = name
        # Which partition has its readings; '' until they were found.
        self.partition = ""
        # The partitions of which all that there is has been read.
        self.searched: set[str] = set()
        self.pages: set[Mailbox] = set()
        self.left_at = now
        self.is_whole = False
        self._minutes_from = minutes_from(now)
        self._minutes: dict[int, str] = {}
        self._quarters: dict[int, str] = {}

    @property
    def minutes_from(self) -> int:
        return self._minutes_from

    def put_minute(self, start: int, rows: Told) -> None:
        self._put("minute", self._minutes, start, rows)

    def put_quarter(self, start: int, rows: Told) -> None:
        self._put("quarter", self._quarters, start, rows)

    def put_whole(self) -> None:
        """All of the day that there is has been told."""
        if not self.is_whole:
            self.is_whole = True
            self._tell("whole", event_text("whole", {}))

    def _put(self, kind: str, known: dict[int, str], start: int, rows: Told) -> None:
        text = text_of(rows)
        if known.get(start) != text:
            known[start] = text
            event = f'event: {kind}\ndata: {{"start":{start},"rows":{text}}}\n\n'
            self._tell((kind, start), event.encode())

    def _tell(self, key: object, event: bytes) -> None:
        for page in self.pages:
            page.put(key, event)

    def snapshot(self, now: float) -> bytes:
        """All that is known: what a page begins with."""
        front = json.dumps(
            {"home": self.name, "now": round(now, 3), "whole": self.is_whole}, separators=(",", ":")
        )
        parts = ",".join(
            f'"{name}":{{{",".join(f"{chr(34)}{start}{chr(34)}:{text}" for start, text in known)}}}'
            for name, known in (
                ("minutes", sorted(self._minutes.items())),
                ("quarters", sorted(self._quarters.items())),
            )
        )
        return f"event: home\ndata: {front[:-1]},{parts}}}\n\n".encode()

    def tidy(self, now: float) -> None:
        """Minutes that are an hour old become quarters, and those of yesterday are forgotten."""
        oldest = minutes_from(now) - QUARTER_S
        old = sorted(start for start in self._minutes if start < oldest)
        for quarter in sorted({quarter_of(start) for start in old}):
            starts = [start for start in old if quarter_of(start) == quarter]
            rows = summed(json.loads(self._minutes.pop(start)) for start in starts)
            self._quarters[quarter] = text_of(rows)
        self._minutes_from = max(self._minutes_from, oldest)
        for quarter in [each for each in self._quarters if each < now - DAY_S - QUARTER_S]:
            del self._quarters[quarter]


class Homes:
    """All of them."""

    def __init__(self) -> None:
        self._known: dict[str, Home] = {}
        self._pages = 0

    @property
    def pages(self) -> int:
        return self._pages

    def get(self, name: str) -> Home | None:
        return self._known.get(name)

    def open(self, name: str, now: float) -> tuple[Home, Mailbox, bool]:
        """A page of a home is opened: whether it is one that was not known. Raises TooManyPages."""
        home = self._known.get(name)
        if self._pages >= PAGES_MOST or (home and len(home.pages) >= PAGES_OF_A_HOME):
            raise TooManyPages
        is_new = home is None
        if home is None:
            home = self._known[name] = Home(name, now)
        page = Mailbox()
        page.put("home", home.snapshot(now))
        home.pages.add(page)
        self._pages += 1
        return home, page, is_new

    def close(self, home: Home, page: Mailbox, now: float) -> None:
        home.pages.discard(page)
        home.left_at = now
        self._pages -= 1

    def close_all(self) -> None:
        """The server ends: every page is to come back later."""
        for home in self._known.values():
            for page in home.pages:
                page.close()

    def of(self, partition: str) -> Iterator[Home]:
        """The homes that have their readings in a partition, or may have."""
        return (each for each in self._known.values() if each.partition in ("", partition))

    def tidy(self, now: float) -> None:
        for home in list(self._known.values()):
            if not home.pages and now - home.left_at > KEPT_S:
                del self._known[home.name]
            else:
                home.tidy(now)
