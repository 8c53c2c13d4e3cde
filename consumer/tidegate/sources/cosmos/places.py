"""Where reading stands in a partition: the text that the ledger keeps as the offset. Pure.

Rules:
- A place is one feed or several: a range, behind which token of the service to read, and up to
  which LSN of what comes then is handled already. Several where the partition spans more than one
  range of the service, or where it was made of ranges that had come differently far.
- A token is the service's ETag and is never looked into. There is none before the first page; a
  time stands for it where reading begins at a time.
- The LSN of a place is the least of its feeds: it never goes back.
- A place names its container's own id. A container that was deleted and made again has another one,
  and its tokens mean other things: such a place is refused and never read from.
- The last place of a partition that has ended says what it goes on as.

    1 RID LOW-HIGH@TOKEN@LSN[;...] [=] [>ID,ID]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import quote, unquote

from tidegate.model import NO_OFFSET, NO_SEQUENCE, PartitionId, Position
from tidegate.sources.cosmos.ranges import FeedRange, range_of

_VERSION = "1"
_KEPT = "="
_ENDED = ">"
# The last second that a date can say.
_LATEST = 253_402_300_800.0
_FEED = re.compile(r"([0-9a-f]*-[0-9a-f]+)@([et][^@]*|)@(-?[0-9]{1,19})")


class PlaceError(ValueError):
    """An offset is none of this source's; the message says what it is and what to do."""


@dataclass(frozen=True, slots=True)
class Feed:
    """How far one range of keys is handled."""

    range: FeedRange
    # The service's ETag; None before there is one.
    token: str | None = None
    # What comes behind the token is handled up to here.
    lsn: int = NO_SEQUENCE
    # Where reading begins without a token, in seconds; None is the beginning.
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """See the module. The feeds are in the order of their keys."""

    rid: str
    feeds: tuple[Feed, ...]
    # The partition stays as it is, whatever becomes of the ranges of the service.
    is_kept: bool = False
    # What the partition goes on as, where it has ended.
    into: tuple[PartitionId, ...] = ()

    @property
    def lsn(self) -> int:
        return min(feed.lsn for feed in self.feeds)

    @property
    def position(self) -> Position:
        return Position(_text(self), self.lsn)

    def within(self, wanted: FeedRange) -> tuple[Feed, ...]:
        """Its feeds as far as they are of a range."""
        return tuple(
            replace(feed, range=feed.range.common(wanted))
            for feed in self.feeds
            if feed.range.meets(wanted)
        )


def beginning(rid: str, range: FeedRange, since: float | None = None) -> Place:
    """Before the first change, or where a time begins."""
    return Place(rid, (Feed(range, since=since),))


def place_of(position: Position, partition: PartitionId, rid: str = "") -> Place:
    """What an offset says. Raises PlaceError.

    `rid` is that of the container; without one any will do.
    """
    of = range_of(partition)
    if of is None:
        raise PlaceError(f"'{partition}' is no feed range: it has no name such as '00-3f'")
    if position.offset == NO_OFFSET and position.sequence == NO_SEQUENCE:
        return beginning(rid, of)
    place = parsed(position.offset)
    if place is None:
        raise PlaceError(
            f"the offset {position.offset[:60]!r} of partition {partition} is none of a change "
            "feed. Rewind the partition to earliest, latest or a time."
        )
    if rid and place.rid and place.rid != rid:
        raise PlaceError(of_another(f"partition {partition}", place.rid, rid))
    return place


def of_another(of: str, was: str, now: str) -> str:
    """Words for a position of a container that was deleted and made again."""
    return (
        f"the position of {of} is of another container of this name, which was deleted since (its "
        f"id was {was}, this one's is {now}). Nothing was read or overwritten. Rewind the group to "
        "earliest, or give it a new name."
    )


@lru_cache(maxsize=8192)
def parsed(offset: str) -> Place | None:
    """What an offset says; None where it is none of ours."""
    parts = offset.split(" ")
    if len(parts) < 3 or parts[0] != _VERSION or not offset.isascii():
        return None
    feeds: list[Feed] = []
    for text in parts[2].split(";"):
        found = _FEED.fullmatch(text)
        range = range_of(found.group(1)) if found is not None else None
        if found is None or range is None:
            return None
        kind, said = found.group(2)[:1], found.group(2)[1:]
        try:
            since = float(said) if kind == "t" else None
        except ValueError:
            return None
        if since is not None and not 0 <= since < _LATEST:
            return None
        token = unquote(said) if kind == "e" else None
        feeds.append(Feed(range, token, int(found.group(3)), since))
    into = tuple(parts[-1][1:].split(",")) if parts[-1].startswith(_ENDED) else ()
    return Place(unquote(parts[1]), tuple(feeds), _KEPT in parts[3:], into)


def _text(place: Place) -> str:
    feeds = ";".join(f"{feed.range.id}@{_token(feed)}@{feed.lsn}" for feed in place.feeds)
    text = f"{_VERSION} {quote(place.rid, safe='=')} {feeds}"
    if place.is_kept:
        text += f" {_KEPT}"
    return f"{text} {_ENDED}{','.join(place.into)}" if place.into else text


def _token(feed: Feed) -> str:
    if feed.token is not None:
        return "e" + quote(feed.token, safe="")
    return "" if feed.since is None else f"t{feed.since!r}"


def gathered(rid: str, whole: FeedRange, feeds: Iterable[Feed]) -> Place:
    """The place of a partition from how far its parts have come."""
    ordered = sorted(feeds, key=lambda feed: feed.range)
    return Place(rid, joined(ordered) or (Feed(whole),))


def joined(feeds: Sequence[Feed]) -> tuple[Feed, ...]:
    """The same with neighbours made one that have come equally far: they say the same but for
    their range."""
    found: list[Feed] = []
    for feed in feeds:
        last = found[-1] if found else None
        if last is not None and last.range.high == feed.range.low:
            if replace(feed, range=last.range) == last:
                found[-1] = replace(last, range=FeedRange(last.range.low, feed.range.high))
                continue
        found.append(feed)
    return tuple(found)
