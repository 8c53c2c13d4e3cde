"""One range of a container: the items of its span, and their changes in the order of writing. Pure.

Rules:

- Every write takes the next log sequence number (LSN) of its range, which also orders its feed. A
  child of a split goes on above its parent's, a merged range above both parents'; so a place in a
  parent's feed is a place in the child's as well.
- The log keeps every change, in order; after a merge two may share a number, and a page of the feed
  never ends between them. Changes that have a later version are dropped beyond the newest
  VERSIONS_KEPT: the feed of latest versions never misses one by that, and the feed of all versions
  says when a place is older than what is kept.
- `latest` is for the feed of latest versions: a change counts only while its item is the newest.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tidegate_cosmos.store.items import Change, Item, ItemKey
from tidegate_cosmos.store.keys import Span
from tidegate_cosmos.store.problems import Malformed

VERSIONS_KEPT: Final = 50_000


@dataclass(frozen=True, slots=True)
class FeedPage:
    """Some changes, the place in the feed behind them, and whether there are more."""

    changes: tuple[Change, ...]
    lsn: int
    has_more: bool


@dataclass(slots=True)
class Range:
    """A range that is read and written. `number` is its id as a number."""

    number: int
    span: Span
    parents: tuple[str, ...] = ()
    lsn: int = 1
    items: dict[ItemKey, Item] = field(default_factory=dict)
    log: list[Change] = field(default_factory=list)
    versions_from: int = 0  # the feed of all versions is whole from above this LSN

    @property
    def id(self) -> str:
        return str(self.number)

    def next_lsn(self) -> int:
        self.lsn += 1
        return self.lsn

    def write(self, change: Change) -> None:
        """Takes a change in. Its LSN is one that `next_lsn` gave last."""
        place = change.item.place
        if change.current is None:
            self.items.pop(place, None)
        else:
            self.items[place] = change.current
        self.log.append(change)
        if len(self.log) > 2 * (VERSIONS_KEPT + len(self.items)):
            self._drop_old_versions()

    def latest(
        self, after: int, limit: int, span: Span | None = None, since: float | None = None
    ) -> FeedPage:
        """The newest versions of the items that changed after a place."""
        return self._page(
            (
                change
                for change in self._from(after)
                if change.current is not None
                and self.items.get(change.item.place) is change.current
                and (since is None or change.at > since)
                and (span is None or span.holds(change.item.place[0]))
            ),
            limit,
        )

    def versions(self, after: int, limit: int, span: Span | None = None) -> FeedPage:
        """All changes after a place. Raises Malformed where not all of them are kept."""
        if after < self.versions_from:
            raise Malformed(
                f"The changes after LSN {after} of range {self.id} are no longer kept. "
                "Read on from now."
            )
        return self._page(
            (
                change
                for change in self._from(after)
                if span is None or span.holds(change.item.place[0])
            ),
            limit,
        )

    def _from(self, after: int) -> Iterator[Change]:
        start = bisect_right(self.log, after, key=lambda change: change.lsn)
        return (self.log[index] for index in range(start, len(self.log)))

    def _page(self, changes: Iterator[Change], limit: int) -> FeedPage:
        page: list[Change] = []
        for change in changes:
            if len(page) >= limit and change.lsn != page[-1].lsn:
                return FeedPage(tuple(page), page[-1].lsn, has_more=True)
            page.append(change)
        return FeedPage(tuple(page), self.lsn, has_more=False)

    def _drop_old_versions(self) -> None:
        kept_from = len(self.log) - VERSIONS_KEPT
        self.versions_from = self.log[kept_from - 1].lsn
        kept = [
            change
            for change in self.log[:kept_from]
            if change.current is not None and self.items.get(change.item.place) is change.current
        ]
        self.log = kept + self.log[kept_from:]


def split(parent: Range, at: str, numbers: tuple[int, int]) -> tuple[Range, Range]:
    """The two ranges that a range becomes, divided at an effective key."""
    spans = (Span(parent.span.least, at), Span(at, parent.span.beyond))
    first, second = (
        Range(
            number=number,
            span=span,
            parents=(*parent.parents, parent.id),
            lsn=parent.lsn + 1,
            items={place: item for place, item in parent.items.items() if span.holds(place[0])},
            log=[change for change in parent.log if span.holds(change.item.place[0])],
            versions_from=parent.versions_from,
        )
        for number, span in zip(numbers, spans, strict=True)
    )
    return first, second


def merge(first: Range, second: Range, number: int) -> Range:
    """The range that two neighbours become."""
    items = sorted((*first.items.values(), *second.items.values()), key=lambda item: item.number)
    return Range(
        number=number,
        span=Span(first.span.least, second.span.beyond),
        parents=(*first.parents, first.id, *second.parents, second.id),
        lsn=max(first.lsn, second.lsn) + 1,
        items={item.place: item for item in items},
        log=sorted((*first.log, *second.log), key=lambda change: change.lsn),
        versions_from=max(first.versions_from, second.versions_from),
    )
