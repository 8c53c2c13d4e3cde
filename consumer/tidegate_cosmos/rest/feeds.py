"""The change feed of a range, and the list of all items. Pure.

Rules: `If-None-Match` is where to read on: the LSN that an answer gave as its ETag, or "*" for now.
Without it a feed of latest versions begins at the beginning, a feed of all versions now. An answer
always has an ETag; one without changes is 304. A page ends at so many items or at 4 MB, and never
between changes of one LSN.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from tidegate_cosmos.rest import charges
from tidegate_cosmos.rest.asked import Asked, whole
from tidegate_cosmos.rest.place import check_session, meant_by
from tidegate_cosmos.rest.replies import Refused, Reply, listed, of_range
from tidegate_cosmos.store.containers import Container
from tidegate_cosmos.store.items import Change
from tidegate_cosmos.store.ranges import Range

_PAGE_BYTES: Final = 4 * 1024 * 1024
# How Java's processor wants its items, in both modes.
_METADATA_APART: Final = "2021-09-15"


def changes(asked: Asked, container: Container, now: float) -> Reply:
    """One page of a range's feed."""
    container.advance(now)
    kind = (asked.header("a-im") or "").lower()
    is_full = kind == "full-fidelity feed"
    if not is_full and kind != "incremental feed":
        raise Refused(
            400, f"A-IM: expected Incremental Feed or Full-Fidelity Feed, found {kind[:60]!r}."
        )
    meant = meant_by(asked, container)
    if len(meant.ranges) != 1:
        raise Refused(
            400,
            "The change feed is read range by range: name one with "
            "x-ms-documentdb-partitionkeyrangeid.",
        )
    held = meant.ranges[0]
    check_session(asked, held)
    after = _after(asked, held, is_full=is_full)
    if is_full:
        if asked.modified_since() is not None:
            raise Refused(
                400, "The feed of all versions and deletes begins now or at a continuation."
            )
        page = held.versions(after, asked.page_size(), meant.span)
        paths = container.key.paths
        bodies = [change.full_body(paths) for change in page.changes]
    else:
        page = held.latest(after, asked.page_size(), meant.span, asked.modified_since())
        if asked.header("x-ms-cosmos-changefeed-wire-format-version") == _METADATA_APART:
            bodies = [change.latest_body() for change in page.changes]
        else:
            bodies = [change.current.feed_body for change in page.changes if change.current]
    count = _fitting(page.changes, bodies)
    lsn = page.lsn if count == len(bodies) else page.changes[count - 1].lsn
    bodies = bodies[:count]
    headers = {**of_range(held), "etag": f'"{lsn}"', "x-ms-item-count": str(count)}
    if not bodies:
        return Reply(304, b"", charges.fed(()), headers)
    return Reply(200, listed("Documents", container.rid, bodies), charges.fed(bodies), headers)


def _after(asked: Asked, held: Range, *, is_full: bool) -> int:
    """The LSN to read on from."""
    text = asked.header("if-none-match")
    if text is None:
        return held.lsn if is_full else 0
    if text.strip() == "*":
        return held.lsn
    after = whole(text.strip().strip('"'), "If-None-Match")
    if after > held.lsn:
        raise Refused(
            400,
            f"If-None-Match: range {held.id} of container has come to LSN {held.lsn}, and the "
            f"continuation is of LSN {after}: it is not of this container.",
        )
    return after


def _fitting(changes: Sequence[Change], bodies: Sequence[bytes]) -> int:
    """How many of the changes make a page that is not too large, or the fewest that can be."""
    total = list(accumulate(map(len, bodies)))
    if not total or total[-1] <= _PAGE_BYTES:
        return len(bodies)
    best = 0
    for index in range(len(changes)):
        is_end = index + 1 == len(changes) or changes[index + 1].lsn != changes[index].lsn
        if is_end and (best == 0 or total[index] <= _PAGE_BYTES):
            best = index + 1
    return best
